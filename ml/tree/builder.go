package tree

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cancha/ml"
)

// Builder grows trees on one table, one after the other. It is not safe for concurrent use; give each goroutine its
// own, they may share the Bins. What a tree looks like depends on Sample and seed only, not on the trees before it.
type Builder struct {
	data      *ml.Dataset
	config    Config
	criterion criterion
	splitter  *splitter
	classes   int       // 0: regression
	samples   []sample  // of the tree being grown
	weight    float64   // of all samples
	stats     []float64 // scratch: of the node being looked at
	stack     []pending
	rng       *rand.Rand
	source    *rand.PCG
}

// pending is a node still to be grown: its rows, its depth, the origin that their targets are counted from, and which
// link of the parent leads to it.
type pending struct {
	start, end int
	depth      int
	origin     float64
	parent     int32
	right      bool
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
	}
	return newBuilder(d, b, c, 0)
}

func newBuilder(d *ml.Dataset, b *Bins, c Config, classes int) (*Builder, error) {
	c, err := c.normalize(classes > 0)
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
	crit := newCriterion(c.Criterion, classes)
	s, err := newSplitter(b, c, crit)
	if err != nil {
		return nil, err
	}
	source := rand.NewPCG(0, 0)
	return &Builder{data: d, config: c, criterion: crit, splitter: s, classes: classes,
		stats: make([]float64, crit.width), source: source, rng: rand.New(source)}, nil
}

// streamOfColumns sets the draws of columns apart from other draws with the same seed, such as a forest's bootstrap.
const streamOfColumns = 0x636f6c756d6e73

// Grow grows a tree on the rows with a weight above 0. Weights has one entry per row of the dataset, 0 or from 1e-60 to
// 1e70, and replaces the dataset's own; nil means those. Seed decides which columns each split looks at. Growing stops when ctx is done.
func (b *Builder) Grow(ctx context.Context, weights []float64, seed uint64) (*Tree, error) {
	if err := b.sample(weights); err != nil {
		return nil, err
	}
	b.source.Seed(seed, streamOfColumns)
	b.splitter.reset()
	t := &Tree{Columns: len(b.data.Features), Outputs: max(b.classes, 1), Importance: make([]float64, len(b.data.Features))}
	b.stack = append(b.stack[:0], pending{end: len(b.samples), parent: -1})
	for n := 0; len(b.stack) > 0; n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("tree: growing stopped: %w", context.Cause(ctx))
		}
		todo := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		b.node(t, todo)
	}
	return t, nil
}

// Limits of weights: within them no square of a sum over a table overflows, or vanishes, in float64. The greatest is an
// [ml.Dataset]'s greatest for a row that was drawn over and over.
const (
	leastWeight = 1e-60
	mostWeight  = 1e70
)

// sample lists the rows to grow on.
func (b *Builder) sample(weights []float64) error {
	if weights != nil && len(weights) != b.data.Rows() {
		return fmt.Errorf("tree: %d weights for %d rows", len(weights), b.data.Rows())
	}
	b.samples, b.weight = b.samples[:0], 0
	for i := range b.data.Rows() {
		w := b.data.Weight(i)
		if weights != nil {
			w = weights[i]
		}
		if w == 0 {
			continue
		}
		if !(w >= leastWeight && w <= mostWeight) {
			return fmt.Errorf("tree: weight of row %d is %v; a weight is 0, or from %g to %g; scale all of them", i, w, leastWeight, mostWeight)
		}
		b.weight += w
		s := sample{row: int32(i), weight: w}
		if b.classes > 0 {
			s.class = int32(b.data.Labels[i])
		} else {
			s.sum = w * b.data.Targets[i]
		}
		b.samples = append(b.samples, s)
	}
	if len(b.samples) == 0 {
		return fmt.Errorf("tree: no row has a weight above 0; leave rows that weigh nothing out, or draw more rows")
	}
	return nil
}

// node adds one node to the tree, and puts its two sides on the stack unless it is a leaf. The right side goes first,
// so that the left one comes out next: nodes stand in the order of a depth-first walk, as scikit-learn's.
func (b *Builder) node(t *Tree, at pending) {
	samples := b.samples[at.start:at.end]
	clear(b.stats)
	b.criterion.add(b.stats, samples)
	id := t.link(at, b.splitter.partitioner.bins.exact)
	found, ok := split{}, false
	if b.divisible(samples, at.depth) {
		if b.classes == 0 {
			at.origin += b.criterion.center(b.stats, samples)
		}
		found, ok = b.search(samples)
	}
	if !ok {
		t.Nodes[id] = Node{Feature: leaf, Left: int32(len(t.Values))}
		t.Values = b.answer(t.Values, samples, at.origin)
		return
	}
	t.set(id, found)
	t.Importance[found.column] += found.score - b.criterion.score(b.stats)
	pos := at.start + b.splitter.partitioner.partition(samples, found.column, found.last)
	b.stack = append(b.stack,
		pending{pos, at.end, at.depth + 1, at.origin, id, true},
		pending{at.start, pos, at.depth + 1, at.origin, id, false})
}

// divisible reports whether a node may and can be split: one class, or targets that are all the same, stay a leaf.
func (b *Builder) divisible(samples []sample, depth int) bool {
	c := b.config
	if c.MaxDepth > 0 && depth >= c.MaxDepth || len(samples) < c.MinSamplesSplit || len(samples) < 2*c.MinSamplesLeaf {
		return false
	}
	if b.classes > 0 {
		return !b.criterion.pure(b.stats)
	}
	return !b.same(samples)
}

// same reports whether the targets of all rows are equal.
func (b *Builder) same(samples []sample) bool {
	first := b.data.Targets[samples[0].row]
	return !slices.ContainsFunc(samples, func(s sample) bool { return b.data.Targets[s.row] != first })
}

// answer appends what a leaf answers. The mean of equal targets is the target, with no rounding.
func (b *Builder) answer(dst []float64, samples []sample, origin float64) []float64 {
	if b.classes == 0 && b.same(samples) {
		return append(dst, b.data.Targets[samples[0].row])
	}
	return b.criterion.value(dst, b.stats, origin)
}

// search returns the split of a node, or false where the node stays a leaf.
func (b *Builder) search(samples []sample) (split, bool) {
	found := b.splitter.best(samples, b.stats, b.rng)
	if math.IsInf(found.score, -1) {
		return split{}, false
	}
	decrease := (found.score - b.criterion.score(b.stats)) / b.weight
	return found, decrease+rounding >= b.config.MinImpurityDecrease
}

// rounding is what a decrease of impurity may lack from floating-point rounding: scikit-learn's EPSILON.
const rounding = 0x1p-52
