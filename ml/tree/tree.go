package tree

import (
	"fmt"
	"slices"
)

// Node is one node of a tree, 16 bytes. An inner node sends a row left when row[Feature] <= Threshold and right
// otherwise; see also Tree.Exact. In a leaf Feature is negative and Left is where its answer starts in the tree's Values.
type Node struct {
	Feature     int32
	Threshold   float32
	Left, Right int32 // positions in Nodes, always behind the node itself
}

// leaf is the Feature of a leaf.
const leaf = -1

// Tree is a grown tree: flat arrays, root first, in the order of a depth-first walk. It is read-only and safe for
// concurrent use.
type Tree struct {
	Nodes   []Node
	Values  []float64 // Outputs numbers for each leaf: the share of each class, or one mean; leaves may share them
	Columns int       // numbers in a row
	Outputs int
	// Exact holds the thresholds of Nodes, one each, with all their digits, and is asked instead of them. Nil in a tree
	// that learned from float32.
	Exact []float64
	// MissingLeft tells where each node sends a row that has no number in its column: left or right. Nil: the tree learned
	// from rows that had all numbers.
	MissingLeft []bool
	// Classes makes leaves sparse, in trees of many classes: the answer of a leaf is the shares in Values of the classes here,
	// from the leaf's Left to the first negative one, which stands for its complement, ^class. Classes not named have none.
	// Nil: answers are dense.
	Classes []int32
	// Importance is by how much the splits on each column lowered the weighted impurity while the tree grew. It is not
	// normalized, and is nil in a tree that was read from a file.
	Importance []float64
	decrease   []float64 // while the tree grows, by how much the split of each node lowered the weighted impurity
}

// link appends an empty node, lets its parent point at it, and returns its position.
func (t *Tree) link(parent int32, right bool) int32 {
	id := int32(len(t.Nodes))
	t.Nodes = append(t.Nodes, Node{})
	if parent >= 0 && right {
		t.Nodes[parent].Right = id
	} else if parent >= 0 {
		t.Nodes[parent].Left = id
	}
	return id
}

// set makes a node split.
func (t *Tree) set(id int32, column int, threshold float64) {
	t.Nodes[id].Feature, t.Nodes[id].Threshold = int32(column), float32(threshold)
	if t.Exact != nil {
		t.Exact[id] = threshold
	}
}

// clone returns a copy that is as long as it has to be.
func (t *Tree) clone() *Tree {
	out := *t
	out.Nodes, out.Values, out.Exact = slices.Clone(t.Nodes), slices.Clone(t.Values), slices.Clone(t.Exact)
	out.MissingLeft, out.Classes, out.decrease = slices.Clone(t.MissingLeft), slices.Clone(t.Classes), slices.Clone(t.decrease)
	return &out
}

// finished returns a copy that knows what each column did, summed up in the order of the nodes.
func (t *Tree) finished() *Tree {
	importance := make([]float64, t.Columns)
	for i, n := range t.Nodes {
		if n.Feature >= 0 {
			importance[n.Feature] += t.decrease[i]
		}
	}
	t.decrease = t.decrease[:0]
	out := t.clone()
	out.Importance, out.decrease = importance, nil
	return out
}

// Leaf returns the answer of the leaf that a row of Columns numbers falls into: a view into Values, but of sparse leaves a
// copy. A NaN goes where MissingLeft says; without it, left.
func (t *Tree) Leaf(row []float32) []float64 { return t.Answer(find(t, row)) }

// LeafExact is Leaf for a row with all its digits. A tree without Exact gets them rounded to float32, as it learned.
func (t *Tree) LeafExact(row []float64) []float64 { return t.Answer(find(t, row)) }

// Answer returns the answer of a leaf by its position in Nodes, Outputs numbers: a view into Values, but of sparse leaves
// a copy.
func (t *Tree) Answer(node int) []float64 {
	if t.Classes != nil {
		dense := make([]float64, t.Outputs)
		t.add(dense, node)
		return dense
	}
	return t.Values[t.Nodes[node].Left:][:t.Outputs]
}

// find returns the leaf that a row falls into.
func find[T float32 | float64](t *Tree, row []T) int {
	if t.Exact != nil || t.MissingLeft != nil {
		return findWith(t, row)
	}
	nodes, i := t.Nodes, int32(0)
	for {
		n := &nodes[i]
		if n.Feature < 0 {
			return int(i)
		}
		i = n.Left
		if float32(row[n.Feature]) > n.Threshold {
			i = n.Right
		}
	}
}

// findWith is find in a tree with exact thresholds, or with directions for missing numbers.
func findWith[T float32 | float64](t *Tree, row []T) int {
	i := int32(0)
	for t.Nodes[i].Feature >= 0 {
		n := &t.Nodes[i]
		v := row[n.Feature]
		right := float32(v) > n.Threshold
		if t.Exact != nil {
			right = float64(v) > t.Exact[i]
		}
		if v != v {
			right = t.MissingLeft != nil && !t.MissingLeft[i]
		}
		i = n.Left
		if right {
			i = n.Right
		}
	}
	return int(i)
}

// Add adds the answers for a block of rows, Columns numbers each, to sums, Outputs numbers each.
func (t *Tree) Add(sums []float64, rows []float32) { add(t, sums, rows) }

// AddExact is Add for rows with all their digits; see LeafExact.
func (t *Tree) AddExact(sums, rows []float64) { add(t, sums, rows) }

func add[T float32 | float64](t *Tree, sums []float64, rows []T) {
	for r, at := 0, 0; at < len(rows); r, at = r+1, at+t.Columns {
		t.add(sums[r*t.Outputs:][:t.Outputs], find(t, rows[at:at+t.Columns]))
	}
}

// add adds a leaf's answer to a row's sums.
func (t *Tree) add(sum []float64, node int) {
	start := int(t.Nodes[node].Left)
	if t.Classes == nil {
		for k, v := range t.Values[start:][:len(sum)] {
			sum[k] += v
		}
		return
	}
	for i := start; ; i++ {
		if class := t.Classes[i]; class >= 0 {
			sum[class] += t.Values[i]
		} else {
			sum[^class] += t.Values[i]
			return
		}
	}
}

// Leaves returns the number of leaves.
func (t *Tree) Leaves() int {
	n := 0
	for i := range t.Nodes {
		if t.Nodes[i].Feature < 0 {
			n++
		}
	}
	return n
}

// Depth returns the number of splits on the longest way down.
func (t *Tree) Depth() int {
	depth, deepest := make([]int, len(t.Nodes)), 0
	for i, n := range t.Nodes {
		deepest = max(deepest, depth[i])
		if n.Feature >= 0 {
			depth[n.Left], depth[n.Right] = depth[i]+1, depth[i]+1
		}
	}
	return deepest
}

// Validate checks that walking the tree stays inside its arrays and ends, that every node but the root hangs on one other,
// and that all its numbers are finite: for trees that come from a file.
func (t *Tree) Validate() error {
	if len(t.Nodes) == 0 || t.Outputs < 1 || t.Columns < 1 {
		return fmt.Errorf("tree: %d nodes, %d columns, %d outputs; each needs one or more", len(t.Nodes), t.Columns, t.Outputs)
	}
	if t.Exact != nil && len(t.Exact) != len(t.Nodes) {
		return fmt.Errorf("tree: %d exact thresholds for %d nodes", len(t.Exact), len(t.Nodes))
	}
	if t.MissingLeft != nil && len(t.MissingLeft) != len(t.Nodes) {
		return fmt.Errorf("tree: %d directions of missing numbers for %d nodes", len(t.MissingLeft), len(t.Nodes))
	}
	for i, v := range t.Values {
		if v-v != 0 {
			return fmt.Errorf("tree: answer %d of the leaves is %v", i, v)
		}
	}
	for i, v := range t.Exact {
		if v-v != 0 {
			return fmt.Errorf("tree: exact threshold of node %d is %v", i, v)
		}
	}
	if err := t.validateClasses(); err != nil {
		return err
	}
	parents := make([]bool, len(t.Nodes)) // of nodes that hang on one
	for i, n := range t.Nodes {
		if err := t.validateNode(i, n); err != nil {
			return err
		}
		if n.Feature < 0 {
			continue
		}
		for _, child := range [2]int32{n.Left, n.Right} {
			if parents[child] {
				return fmt.Errorf("tree: two ways lead to node %d, one from node %d", child, i)
			}
			parents[child] = true
		}
	}
	if i := slices.Index(parents[1:], false); i >= 0 {
		return fmt.Errorf("tree: no way leads to node %d", i+1)
	}
	return nil
}

// validateClasses checks sparse answers.
func (t *Tree) validateClasses() error {
	if t.Classes == nil {
		return nil
	}
	if len(t.Classes) != len(t.Values) {
		return fmt.Errorf("tree: %d classes of %d shares", len(t.Classes), len(t.Values))
	}
	for i, class := range t.Classes {
		if class < 0 {
			class = ^class
		}
		if int(class) >= t.Outputs {
			return fmt.Errorf("tree: share %d is of class %d of %d", i, class, t.Outputs)
		}
	}
	if n := len(t.Classes); n > 0 && t.Classes[n-1] >= 0 {
		return fmt.Errorf("tree: the answer of the last leaf does not end")
	}
	return nil
}

// begins reports whether an answer begins at a position of Values: answers do not overlap.
func (t *Tree) begins(at int) bool {
	if t.Classes != nil {
		return at == 0 || t.Classes[at-1] < 0
	}
	return at%t.Outputs == 0
}

// validateNode checks one node.
func (t *Tree) validateNode(i int, n Node) error {
	if n.Feature < 0 {
		least := t.Outputs
		if t.Classes != nil {
			least = 1
		}
		if n.Left < 0 || int(n.Left) > len(t.Values)-least || !t.begins(int(n.Left)) {
			return fmt.Errorf("tree: leaf %d answers from %d, where no answer begins in %d values", i, n.Left, len(t.Values))
		}
		return nil
	}
	if int(n.Feature) >= t.Columns {
		return fmt.Errorf("tree: node %d asks for column %d of %d", i, n.Feature, t.Columns)
	}
	if n.Threshold-n.Threshold != 0 {
		return fmt.Errorf("tree: node %d splits at %v", i, n.Threshold)
	}
	if int(n.Left) <= i || int(n.Right) <= i || int(n.Left) >= len(t.Nodes) || int(n.Right) >= len(t.Nodes) {
		return fmt.Errorf("tree: node %d leads to %d and %d; they must lie behind it and before %d", i, n.Left, n.Right, len(t.Nodes))
	}
	return nil
}
