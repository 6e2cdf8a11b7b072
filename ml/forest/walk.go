package forest

import (
	"math"
	"math/bits"
	"sync"
	"unsafe"

	"cancha/ml/tree"
)

// walker is a forest laid out for answers. A node is one number of 64 bits,
//
//	left child (the right one is behind it) | column | threshold
//
// and the walk of a row takes no branch that depends on the row: 8 rows go down a tree side by side, so that the wait of
// one for memory is the work of the others. Numbers are compared as keys: whole numbers in the order of the floats.
//
// A leaf is a node that leads to itself, whatever the row: its threshold is above every key, and tells which answer it is.
type walker struct {
	nodes   []uint64 // of all trees; the children of a node lie side by side, those of two levels in a line of the cache
	trees   []walkTree
	shift   uint // bits of a column
	columns int
	outputs int
	spare   sync.Pool // of *[]uint32: keys of rows
}

// walkTree is one tree: its nodes, numbered from its first one, its answers, and its longest way down, at least 1.
type walkTree struct {
	first, depth int
	values       []float64
}

// leafKey is a key above those of all numbers, and the first of a leaf: leafKey + n leads to answer n.
const (
	leafKey    = 0xff800000
	mostValues = math.MaxUint32 - leafKey
)

// newWalker lays out trees, or returns nil where they do not fit: exact thresholds, directions of missing numbers, more
// columns and nodes than 32 bits can name, more answers than keys are left. Such forests are walked as they are.
func newWalker(trees []*tree.Tree) *walker {
	w := &walker{columns: trees[0].Columns, outputs: trees[0].Outputs, shift: uint(bits.Len(uint(trees[0].Columns - 1)))}
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
	w.trees = append(w.trees, walkTree{first: l.first, depth: max(t.Depth(), 1), values: t.Values})
	w.nodes = append(w.nodes, 0, 0) // the root, and a place that keeps pairs together
	l.settle(0, 0)
	for len(l.open) > 0 {
		top := l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
		left := l.branch(top.node, top.at)
		for k, child := range l.children(top.node) {
			if l.settle(child, left+k); l.tree.Nodes[child].Feature < 0 {
				continue
			}
			l.open = l.open[:len(l.open)-1]
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

// settle writes a leaf, and leaves an inner node open.
func (l *layout) settle(node int32, at int) {
	if n := l.tree.Nodes[node]; n.Feature < 0 {
		l.nodes[l.first+at] = uint64(at)<<(32+l.shift) | leafKey + uint64(n.Left)
		return
	}
	l.open = append(l.open, place{node, at})
}

// branch gives the children of a node a place, writes the node, and returns the place.
func (l *layout) branch(node int32, at int) int {
	n := l.tree.Nodes[node]
	left := len(l.nodes) - l.first
	l.nodes = append(l.nodes, 0, 0)
	l.nodes[l.first+at] = (uint64(left)<<l.shift|uint64(n.Feature))<<32 | uint64(key(n.Threshold))
	return left
}

// key returns a whole number in the order of the floats; minus zero is zero.
func key(v float32) uint32 {
	b := math.Float32bits(v + 0)
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

// lanes is how many rows go down a tree together.
const lanes = 8

// add adds the answers of all trees for some rows to sums.
func (w *walker) add(sums []float64, rows []float32) {
	n := len(rows) / w.columns
	groups := (n + lanes - 1) / lanes
	keys := w.keys(groups * lanes * w.columns)
	defer w.spare.Put(keys)
	for i := range n {
		w.spread((*keys)[i/lanes*lanes*w.columns+i%lanes:], rows[i*w.columns:][:w.columns])
	}
	for t := range w.trees {
		tr := &w.trees[t]
		for g := range groups {
			var leaves [lanes]uint64
			w.down(unsafe.Pointer(&w.nodes[tr.first]), unsafe.Pointer(&(*keys)[g*lanes*w.columns]), tr.depth, &leaves)
			w.collect(sums[g*lanes*w.outputs:min((g+1)*lanes, n)*w.outputs], tr.values, &leaves)
		}
	}
}

// keys returns room for keys.
func (w *walker) keys(n int) *[]uint32 {
	keys, _ := w.spare.Get().(*[]uint32)
	if keys == nil {
		keys = new([]uint32)
	}
	if cap(*keys) < n {
		*keys = make([]uint32, n)
	}
	*keys = (*keys)[:n]
	return keys
}

// spread writes the keys of a row, lanes apart. A NaN's must not be above that of a leaf.
func (w *walker) spread(keys []uint32, row []float32) {
	for c, v := range row {
		keys[c*lanes] = min(key(v), leafKey)
	}
}

// collect adds the answers of leaves to sums, as many as there is room for.
func (w *walker) collect(sums, values []float64, leaves *[lanes]uint64) {
	for i := 0; len(sums) > 0; i, sums = i+1, sums[w.outputs:] {
		for k, v := range values[uint32(leaves[i])-leafKey:][:w.outputs] {
			sums[k] += v
		}
	}
}

// one adds the answers of all trees for a row to sums: lanes trees at once.
func (w *walker) one(sums []float64, row []float32) {
	keys := w.keys(w.columns)
	defer w.spare.Put(keys)
	for c, v := range row {
		(*keys)[c] = min(key(v), leafKey)
	}
	for t := 0; t < len(w.trees); t += lanes {
		some := w.trees[t:min(t+lanes, len(w.trees))]
		var leaves [lanes]uint64
		w.downOne(some, unsafe.Pointer(&(*keys)[0]), &leaves)
		for i := range some {
			for k, v := range some[i].values[uint32(leaves[i])-leafKey:][:w.outputs] {
				sums[k] += v
			}
		}
	}
}

// downOne walks one row down up to lanes trees and returns their leaves.
func (w *walker) downOne(trees []walkTree, keys unsafe.Pointer, leaves *[lanes]uint64) {
	shift, mask := w.shift&31, uint64(1)<<(w.shift&31)-1
	var nodes [lanes]unsafe.Pointer
	depth := 0
	for i := range nodes {
		t := &trees[min(i, len(trees)-1)]
		nodes[i] = unsafe.Pointer(&w.nodes[t.first])
		depth = max(depth, t.depth)
	}
	var a, b, c, d, e, f, g, h uint64
	for depth > 0 {
		for range min(depth, stride) {
			a = stepOne(nodes[0], keys, a, mask, shift)
			b = stepOne(nodes[1], keys, b, mask, shift)
			c = stepOne(nodes[2], keys, c, mask, shift)
			d = stepOne(nodes[3], keys, d, mask, shift)
			e = stepOne(nodes[4], keys, e, mask, shift)
			f = stepOne(nodes[5], keys, f, mask, shift)
			g = stepOne(nodes[6], keys, g, mask, shift)
			h = stepOne(nodes[7], keys, h, mask, shift)
		}
		depth -= stride
		*leaves = [lanes]uint64{nodeAt(nodes[0], a), nodeAt(nodes[1], b), nodeAt(nodes[2], c), nodeAt(nodes[3], d),
			nodeAt(nodes[4], e), nodeAt(nodes[5], f), nodeAt(nodes[6], g), nodeAt(nodes[7], h)}
		if least(leaves) >= leafKey {
			return
		}
	}
}

// down walks lanes rows down one tree and returns their leaves.
func (w *walker) down(nodes, keys unsafe.Pointer, depth int, leaves *[lanes]uint64) {
	shift, mask := w.shift&31, uint64(1)<<(w.shift&31)-1
	var a, b, c, d, e, f, g, h uint64
	for depth > 0 {
		for range min(depth, stride) {
			a = step(nodes, keys, a, mask, shift)
			b = step(nodes, unsafe.Add(keys, 4), b, mask, shift)
			c = step(nodes, unsafe.Add(keys, 8), c, mask, shift)
			d = step(nodes, unsafe.Add(keys, 12), d, mask, shift)
			e = step(nodes, unsafe.Add(keys, 16), e, mask, shift)
			f = step(nodes, unsafe.Add(keys, 20), f, mask, shift)
			g = step(nodes, unsafe.Add(keys, 24), g, mask, shift)
			h = step(nodes, unsafe.Add(keys, 28), h, mask, shift)
		}
		depth -= stride
		*leaves = [lanes]uint64{nodeAt(nodes, a), nodeAt(nodes, b), nodeAt(nodes, c), nodeAt(nodes, d), nodeAt(nodes, e), nodeAt(nodes, f), nodeAt(nodes, g), nodeAt(nodes, h)}
		if least(leaves) >= leafKey {
			return
		}
	}
}

// stride is how many levels rows go down before they look whether all are at a leaf.
const stride = 6

// nodeAt returns a node.
func nodeAt(nodes unsafe.Pointer, at uint64) uint64 { return *(*uint64)(unsafe.Add(nodes, at*8)) }

// least returns the least threshold of some nodes.
func least(nodes *[lanes]uint64) uint32 {
	out := uint32(math.MaxUint32)
	for _, n := range nodes {
		out = min(out, uint32(n))
	}
	return out
}

// step goes from a node to one of its children.
func step(nodes, keys unsafe.Pointer, at, mask uint64, shift uint) uint64 {
	n := *(*uint64)(unsafe.Add(nodes, at*8))
	next := n >> 32
	right := uint64(0)
	if *(*uint32)(unsafe.Add(keys, next&mask*(4*lanes))) > uint32(n) {
		right = 1
	}
	return next>>(shift&31) + right
}

// stepOne is step for keys of one row.
func stepOne(nodes, keys unsafe.Pointer, at, mask uint64, shift uint) uint64 {
	n := *(*uint64)(unsafe.Add(nodes, at*8))
	next := n >> 32
	right := uint64(0)
	if *(*uint32)(unsafe.Add(keys, next&mask*4)) > uint32(n) {
		right = 1
	}
	return next>>(shift&31) + right
}
