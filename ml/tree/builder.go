package tree

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cancha/ml"
)

// Builder grows trees on one table, one after the other. It is not safe for concurrent use; give each goroutine its
// own, they may share the Bins. What a tree looks like depends on the draws and the seed only, not on the trees before it.
type Builder struct {
	data      *ml.Dataset
	config    Config
	classes   int // 0: regression
	ground    *ground
	criterion criterion
	splitter  *splitter
	weigh     []float64 // weight of each row, nil: 1
	weight    float64   // of all rows of the tree being grown, as often as they were drawn
	rows      []uint32  // of that tree
	stack     []pending
	pure      []int32   // where the tree has the answers of leaves of one class
	values    []float64 // scratch: an answer
	scratch   Tree      // that is being grown
}

// pending is a node still to be grown: its rows, its depth, the origin that their targets are counted from, and which
// link of the parent leads to it.
type pending struct {
	start, end int
	depth      int
	origin     float64
	seed       uint64
	parent     int32
	right      bool
	inside     bool // its rows are those of a block
}

// NewClassifier returns a builder for trees that answer with the share of each class. The labels of the dataset are
// learned; bins were made from the same dataset.
func NewClassifier(d *ml.Dataset, b *Bins, c Config) (*Builder, error) {
	if d.Labels == nil || len(d.Classes) == 0 {
		return nil, fmt.Errorf("tree: the dataset has no labels; classes are learned from labels")
	}
	return newBuilder(d, b, c, len(d.Classes))
}

// NewRegressor returns a builder for trees that answer with a mean. The targets of the dataset are learned.
func NewRegressor(d *ml.Dataset, b *Bins, c Config) (*Builder, error) {
	if d.Targets == nil {
		return nil, fmt.Errorf("tree: the dataset has no targets; a regression is learned from targets")
	}
	if len(d.Targets) > 0 {
		low, high := slices.Min(d.Targets), slices.Max(d.Targets)
		if high > low && high-low < leastWeight {
			return nil, fmt.Errorf("tree: the targets differ by %g only, and their squares vanish; multiply them so that they differ by %g or more", high-low, leastWeight)
		}
		if c.Criterion == Poisson && low < 0 {
			return nil, fmt.Errorf("tree: a target is %g; criterion poisson is for counts and other numbers from 0", low)
		}
	}
	return newBuilder(d, b, c, 0)
}

func newBuilder(d *ml.Dataset, b *Bins, c Config, classes int) (*Builder, error) {
	c, err := c.normalize(classes)
	if err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	if b.Rows() != d.Rows() || b.Columns() != len(d.Features) {
		return nil, fmt.Errorf("tree: bins of %d x %d for a dataset of %d x %d", b.Rows(), b.Columns(), d.Rows(), len(d.Features))
	}
	if d.Rows() == 0 {
		return nil, fmt.Errorf("tree: the dataset has no rows")
	}
	out := &Builder{data: d, config: c, classes: classes, ground: newGround(b), criterion: newCriterion(d, c, classes > 0),
		weigh: c.rowWeights(d), pure: make([]int32, classes)}
	out.splitter, err = newSplitter(out.ground, c, out.criterion)
	return out, err
}

// Grow grows a tree on the rows that were drawn, each as often as draws says, one entry per row of the dataset; nil is
// once each, and up to 2147483647 in all. Weights of rows and classes multiply the draws. Seed decides which columns each split looks at. Growing stops
// when ctx is done.
func (b *Builder) Grow(ctx context.Context, draws []uint16, seed uint64) (*Tree, error) {
	root, err := b.begin(draws, seed)
	if err != nil {
		return nil, err
	}
	if b.config.MaxLeafNodes == 0 && b.config.Workers > 1 {
		return newGrowth(b, root).Finish(ctx)
	}
	t, grow := b.empty(), b.depthFirst
	if b.config.MaxLeafNodes > 0 {
		grow = b.bestFirst
	}
	if err := grow(ctx, t, root); err != nil {
		return nil, err
	}
	return t.finished(), nil
}

// begin samples the rows of a tree and returns its root.
func (b *Builder) begin(draws []uint16, seed uint64) (pending, error) {
	err := b.sample(draws)
	return pending{end: len(b.rows), parent: -1, seed: mix(next(seed))}, err
}

// empty returns a tree without nodes. It is the builder's own, and grows in the memory of the one before.
func (b *Builder) empty() *Tree {
	for k := range b.pure {
		b.pure[k] = -1
	}
	t := &b.scratch
	*t = Tree{Columns: len(b.data.Features), Outputs: max(b.classes, 1), Nodes: t.Nodes[:0], Values: t.Values[:0],
		Exact: t.Exact[:0], MissingLeft: t.MissingLeft[:0], Classes: t.Classes[:0], decrease: t.decrease[:0]}
	return t
}

// Limits of weights, those of an [ml.Dataset]: within them no square of a sum over a table overflows, or vanishes, in float64.
const (
	leastWeight = 1e-60
	mostWeight  = 1e60
)

// sample lists the rows to grow on.
func (b *Builder) sample(draws []uint16) error {
	if draws != nil && len(draws) != b.data.Rows() {
		return fmt.Errorf("tree: draws of %d rows for %d rows", len(draws), b.data.Rows())
	}
	if draws == nil {
		draws = slices.Repeat([]uint16{1}, b.data.Rows())
	}
	b.rows, b.weight = b.rows[:0], 0
	all := 0
	for i, n := range draws {
		all += int(n)
		if w := weightOf(b.weigh, i) * float64(n); w > 0 {
			b.weight += w
			b.rows = append(b.rows, uint32(i))
		}
	}
	if len(b.rows) == 0 {
		return fmt.Errorf("tree: no row has a weight above 0; leave rows that weigh nothing out, or draw more rows")
	}
	if all > math.MaxInt32 { // squares of counts, and counts of a GPU, end a little above
		return fmt.Errorf("tree: %d draws of %d rows; up to %d are counted, draw fewer", all, len(draws), math.MaxInt32)
	}
	b.criterion.load(draws)
	return nil
}

// weightOf returns the weight of row i, 1 where all weigh the same.
func weightOf(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// depthFirst grows a tree until every leaf must be one. The left side of a node comes out of the stack first: nodes stand
// in the order of a depth-first walk, as scikit-learn's.
func (b *Builder) depthFirst(ctx context.Context, t *Tree, root pending) error {
	b.stack = append(b.stack[:0], root)
	for n := 0; len(b.stack) > 0; n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return fmt.Errorf("tree: growing stopped: %w", context.Cause(ctx))
		}
		at := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		b.stand(&at)
		id := b.link(t, at)
		if found, ok := b.search(&at); ok {
			left, right := b.divide(t, id, at, found)
			b.stack = append(b.stack, right, left)
			continue
		}
		b.close(t, id, at)
	}
	return nil
}

// stand goes to where the rows of a node are, and makes a block of them once they are few enough.
func (b *Builder) stand(at *pending) {
	if b.ground.inside && !at.inside {
		b.ground.leave()
		b.criterion.leave()
	}
	if rows := b.rows[at.start:at.end]; b.ground.canBlock(len(rows)) {
		b.criterion.enter(rows)
		b.ground.enter(rows)
		at.inside = true
	}
}

// search returns the split of a node, or false where the node stays a leaf. The criterion is about the node afterwards.
func (b *Builder) search(at *pending) (split, bool) {
	rows := b.rows[at.start:at.end]
	b.criterion.sum(rows)
	if !b.divisible(at) {
		return split{}, false
	}
	at.origin = b.criterion.center(rows, at.origin)
	found := b.splitter.best(rows, at.seed)
	return found, b.worthwhile(found)
}

// divisible reports whether the node that the criterion is about may be split.
func (b *Builder) divisible(at *pending) bool {
	rows, c := b.rows[at.start:at.end], b.config
	return !(c.MaxDepth > 0 && at.depth >= c.MaxDepth) && len(rows) >= c.MinSamplesSplit && len(rows) >= 2*c.MinSamplesLeaf && !b.criterion.uniform(rows)
}

// worthwhile reports whether a split was found that lowers the impurity of the node as much as it must.
func (b *Builder) worthwhile(found split) bool {
	if math.IsInf(found.score, -1) {
		return false
	}
	decrease := (found.score - b.criterion.score()) / b.weight
	return decrease+rounding >= b.config.MinImpurityDecrease
}

// rounding is what a decrease of impurity may lack from floating-point rounding: scikit-learn's EPSILON.
const rounding = 0x1p-52

// link appends an empty node and lets its parent point at it.
func (b *Builder) link(t *Tree, at pending) int32 {
	id := t.link(at.parent, at.right)
	t.decrease = append(t.decrease, 0)
	if b.ground.bins.exact {
		t.Exact = append(t.Exact, 0)
	}
	if b.ground.bins.missing {
		t.MissingLeft = append(t.MissingLeft, false)
	}
	return id
}

// divide makes a node split and returns its two sides.
func (b *Builder) divide(t *Tree, id int32, at pending, found split) (left, right pending) {
	rows := b.rows[at.start:at.end]
	t.decrease[id] = found.score - b.criterion.score()
	n := b.ground.partition(rows, &found)
	t.set(id, found.column, b.ground.threshold(&found, rows[n:]))
	if t.MissingLeft != nil {
		t.MissingLeft[id] = b.ground.missingLeft(&found, rows, n)
	}
	left, right = at.sides(n)
	left.parent, right.parent = id, id
	return left, right
}

// sides returns the two sides of a node whose first n rows go left.
func (p pending) sides(n int) (left, right pending) {
	left = pending{start: p.start, end: p.start + n, depth: p.depth + 1, origin: p.origin, seed: seedOf(p.seed, false), inside: p.inside}
	right = pending{start: p.start + n, end: p.end, depth: p.depth + 1, origin: p.origin, seed: seedOf(p.seed, true), right: true, inside: p.inside}
	return left, right
}

// sparseClasses is from how many classes on leaves name those that they have.
const sparseClasses = 32

// close makes a node a leaf. Leaves of one class share one answer: in a tree without limits they are all that there are.
func (b *Builder) close(t *Tree, id int32, at pending) {
	start := len(t.Values)
	b.values = b.criterion.answer(b.values[:0], b.rows[at.start:at.end], at.origin)
	class := -1
	if b.classes > 0 {
		class = only(b.values)
	}
	if class >= 0 && b.pure[class] >= 0 {
		t.Nodes[id] = Node{Feature: leaf, Left: b.pure[class]}
		return
	}
	if class >= 0 {
		b.pure[class] = int32(start)
	}
	t.Nodes[id] = Node{Feature: leaf, Left: int32(start)}
	if b.classes < sparseClasses {
		t.Values = append(t.Values, b.values...)
		return
	}
	for k, v := range b.values {
		if v > 0 {
			t.Values, t.Classes = append(t.Values, v), append(t.Classes, int32(k))
		}
	}
	last := len(t.Classes) - 1
	t.Classes[last] = ^t.Classes[last]
}

// only returns which of the shares of a leaf is not 0, or -1 where several are not. A share of 1 is not enough: beside it
// another one may be less than 1 is rounded by.
func only(shares []float64) int {
	class := slices.IndexFunc(shares, func(v float64) bool { return v > 0 })
	if slices.ContainsFunc(shares[class+1:], func(v float64) bool { return v > 0 }) {
		return -1
	}
	return class
}
