package forest

import (
	"math"
	"math/bits"
	"sync"

	"cancha/ml/tree"
)

// walker is a forest laid out for answers. A node is one number of 64 bits,
//
//	left child (the right one is behind it) | column × 4 | threshold
//
// and the walk of a row takes no branch that depends on the row: 8 rows go down a tree side by side, so that the wait of
// one for memory is the work of the others. Numbers are compared as keys: whole numbers in the order of the floats.
//
// A leaf is a node that leads to itself, whatever the row: its threshold is above every key, and tells which answer it is.
type walker struct {
	nodes   []uint64 // of all trees; the children of a node lie side by side, those of two levels in a line of the cache
	trees   []walkTree
	shift   uint // bits of column × 4
	columns int
	outputs int
	spare   sync.Pool // of *scratch
}

// walkTree is one tree: its nodes, numbered from its first one, its answers, and its longest way down, at least 1.
type walkTree struct {
	first, depth int
	values       []float64
	classes      []int32 // of sparse answers, see tree.Tree.Classes; else nil
}

// leafKey is a key above those of all numbers, and the first of a leaf: leafKey + n leads to answer n.
const (
	leafKey    = 0xff800000
	mostValues = math.MaxUint32 - leafKey
)

// newWalker lays out trees, or returns nil where they do not fit: exact thresholds, directions of missing numbers, more
// columns and nodes than 32 bits can name, more answers than keys are left. Such forests are walked as they are.
func newWalker(trees []*tree.Tree) *walker {
	w := &walker{columns: trees[0].Columns, outputs: trees[0].Outputs, shift: uint(bits.Len(uint(4*trees[0].Columns - 1)))}
	total := 0
	for _, t := range trees {
		if t.Exact != nil || t.MissingLeft != nil || len(t.Nodes) >= 1<<(32-w.shift) || len(t.Values) > mostValues {
			return nil
		}
		total += len(t.Nodes)
	}
	w.nodes = make([]uint64, 0, total+len(trees))
	for _, t := range trees {
		w.lay(t)
	}
	return w
}

// lay lays out one tree: a node, the pair of its children and the two pairs of theirs lie in one line of the cache.
func (w *walker) lay(t *tree.Tree) {
	l := layout{walker: w, tree: t, first: len(w.nodes)}
	w.trees = append(w.trees, walkTree{first: l.first, depth: max(t.Depth(), 1), values: t.Values, classes: t.Classes})
	w.nodes = append(w.nodes, 0, 0) // the root, and a place that keeps pairs together
	l.settle(0, 0)
	for len(l.open) > 0 {
		top := l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
		left := l.branch(top.node, top.at)
		for k, child := range l.children(top.node) {
			if l.leaf(child, left+k) {
				continue
			}
			below := l.branch(child, left+k)
			next := l.children(child)
			l.settle(next[1], below+1)
			l.settle(next[0], below)
		}
	}
}

// layout is a tree on its way into a walker.
type layout struct {
	*walker
	tree  *tree.Tree
	first int     // of the tree's nodes
	open  []place // inner nodes whose children have no place yet
}

// place is a node of the tree and where it lies, counted from the first.
type place struct {
	node int32
	at   int
}

func (l *layout) children(node int32) [2]int32 {
	n := l.tree.Nodes[node]
	return [2]int32{n.Left, n.Right}
}

// leaf writes a node if it is a leaf, and tells whether it is one.
func (l *layout) leaf(node int32, at int) bool {
	n := l.tree.Nodes[node]
	if n.Feature >= 0 {
		return false
	}
	l.nodes[l.first+at] = uint64(at)<<(32+l.shift) | leafKey + uint64(n.Left)
	return true
}

// settle writes a leaf, and leaves an inner node open.
func (l *layout) settle(node int32, at int) {
	if !l.leaf(node, at) {
		l.open = append(l.open, place{node, at})
	}
}

// branch gives the children of a node a place, writes the node, and returns the place.
func (l *layout) branch(node int32, at int) int {
	n := l.tree.Nodes[node]
	left := len(l.nodes) - l.first
	l.nodes = append(l.nodes, 0, 0)
	l.nodes[l.first+at] = (uint64(left)<<l.shift|uint64(4*n.Feature))<<32 | uint64(key(n.Threshold))
	return left
}

// key returns a whole number in the order of the floats; minus zero is zero.
func key(v float32) uint32 {
	b := math.Float32bits(v + 0)
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

// lanes is how many rows go down a tree together, or how many trees one row.
const lanes = 8

// scratch is memory for the keys of some rows and for the leaves that they come to.
type scratch struct{ keys, leaves []uint32 }

// memory returns scratch for groups of lanes rows, or for a single row where groups is 0; give it back to spare.
func (w *walker) memory(groups int) *scratch {
	s, _ := w.spare.Get().(*scratch)
	if s == nil {
		s = new(scratch)
	}
	if keys := max(1, groups*lanes) * w.columns; cap(s.keys) < keys {
		s.keys = make([]uint32, keys)
	}
	if leaves := max(1, groups) * lanes; cap(s.leaves) < leaves {
		s.leaves = make([]uint32, leaves)
	}
	s.keys, s.leaves = s.keys[:cap(s.keys)], s.leaves[:cap(s.leaves)]
	return s
}

// add adds the answers of all trees for some rows to sums.
func (w *walker) add(sums []float64, rows []float32) {
	n := len(rows) / w.columns
	if n == 0 {
		return
	}
	groups := (n + lanes - 1) / lanes
	s := w.memory(groups)
	defer w.spare.Put(s)
	for i := range n {
		spread(s.keys[i/lanes*lanes*w.columns+i%lanes:], rows[i*w.columns:][:w.columns], lanes)
	}
	for t := range w.trees {
		tree := &w.trees[t]
		if fast {
			downRows(&w.nodes[tree.first], &s.keys[0], &s.leaves[0], groups, 4*lanes*w.columns, tree.depth, int(w.shift), 1<<w.shift-1)
		} else {
			w.downRows(tree, s, groups)
		}
		w.collect(sums, tree, s.leaves[:n])
	}
}

// one adds the answers of all trees for a row to sums.
func (w *walker) one(sums []float64, row []float32) {
	s := w.memory(0)
	defer w.spare.Put(s)
	spread(s.keys, row, 1)
	for t := 0; t < len(w.trees); t += lanes {
		some := w.trees[t:min(t+lanes, len(w.trees))]
		w.lanes(some, s)
		for i := range some {
			w.collect(sums, &some[i], s.leaves[i:i+1])
		}
	}
}

// lanes walks a row down up to lanes trees.
func (w *walker) lanes(trees []walkTree, s *scratch) {
	if !fast {
		for i := range trees {
			s.leaves[i] = w.down(&trees[i], s.keys, 1)
		}
		return
	}
	var nodes [lanes]*uint64
	depth := 0
	for i := range nodes {
		tree := &trees[min(i, len(trees)-1)]
		nodes[i] = &w.nodes[tree.first]
		depth = max(depth, tree.depth)
	}
	downTrees(&nodes[0], &s.keys[0], &s.leaves[0], depth, int(w.shift), 1<<w.shift-1)
}

// spread writes the keys of a row, some places apart. A NaN's must not be above that of a leaf.
func spread(keys []uint32, row []float32, apart int) {
	at := 0
	for _, v := range row {
		keys[at] = min(key(v), leafKey)
		at += apart
	}
}

// collect adds the answers of leaves to sums, one after the other.
func (w *walker) collect(sums []float64, tree *walkTree, leaves []uint32) {
	switch {
	case tree.classes != nil:
		w.collectSparse(sums, tree, leaves)
		return
	case w.outputs == 3:
		collect3(sums, tree.values, leaves)
		return
	}
	for i, leaf := range leaves {
		to := sums[i*w.outputs:][:w.outputs]
		for k, v := range tree.values[leaf-leafKey:][:w.outputs] {
			to[k] += v
		}
	}
}

// collectSparse is collect for answers that name their classes.
func (w *walker) collectSparse(sums []float64, tree *walkTree, leaves []uint32) {
	for i, leaf := range leaves {
		to, at := sums[i*w.outputs:][:w.outputs], leaf-leafKey
		for ; tree.classes[at] >= 0; at++ {
			to[tree.classes[at]] += tree.values[at]
		}
		to[^tree.classes[at]] += tree.values[at]
	}
}

// collect3 is collect for three classes: home, draw and away.
func collect3(sums, values []float64, leaves []uint32) {
	for i, leaf := range leaves {
		to, answer := sums[3*i:][:3], values[leaf-leafKey:][:3]
		to[0] += answer[0]
		to[1] += answer[1]
		to[2] += answer[2]
	}
}

// downRows is the function of that name for processors without its instructions.
func (w *walker) downRows(tree *walkTree, s *scratch, groups int) {
	for i := range groups * lanes {
		s.leaves[i] = w.down(tree, s.keys[i/lanes*lanes*w.columns+i%lanes:], lanes)
	}
}

// down walks one row, whose keys are some places apart, down a tree and returns the threshold of its leaf.
func (w *walker) down(tree *walkTree, keys []uint32, apart int) uint32 {
	nodes, mask := w.nodes[tree.first:], uint64(1)<<w.shift-1
	for at := uint64(0); ; {
		n := nodes[at]
		if uint32(n) >= leafKey {
			return uint32(n)
		}
		right := uint64(0)
		if keys[int(n>>32&mask)/4*apart] > uint32(n) {
			right = 1
		}
		at = n>>32>>w.shift + right
	}
}
