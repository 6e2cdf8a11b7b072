package tree

import "fmt"

// Node is one node of a tree, 16 bytes. An inner node sends a row left when row[Feature] <= Threshold and right
// otherwise. In a leaf Feature is negative and Left is where its answer starts in the tree's Values.
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
	Values  []float32 // Outputs numbers for each leaf: the share of each class, or one mean
	Columns int       // numbers in a row
	Outputs int
	// Importance is by how much the splits on each column lowered the weighted impurity while the tree grew. It is not
	// normalized, and is nil in a tree that was read from a file.
	Importance []float64
}

// link appends an empty node, lets its parent point at it, and returns its position.
func (t *Tree) link(at pending) int32 {
	id := int32(len(t.Nodes))
	t.Nodes = append(t.Nodes, Node{})
	if at.parent >= 0 {
		if at.right {
			t.Nodes[at.parent].Right = id
		} else {
			t.Nodes[at.parent].Left = id
		}
	}
	return id
}

// Leaf returns the answer of the leaf that a row of Columns numbers falls into, as a view into Values.
func (t *Tree) Leaf(row []float32) []float32 {
	nodes, i := t.Nodes, int32(0)
	for {
		n := &nodes[i]
		if n.Feature < 0 {
			return t.Values[n.Left:][:t.Outputs]
		}
		i = n.Left
		if row[n.Feature] > n.Threshold {
			i = n.Right
		}
	}
}

// Add adds the answers for a block of rows, Columns numbers each, to sums, Outputs numbers each.
func (t *Tree) Add(sums []float64, rows []float32) {
	for r, at := 0, 0; at < len(rows); r, at = r+1, at+t.Columns {
		sum := sums[r*t.Outputs:][:t.Outputs]
		for k, v := range t.Leaf(rows[at : at+t.Columns]) {
			sum[k] += float64(v)
		}
	}
}

// Leaves returns the number of leaves.
func (t *Tree) Leaves() int { return len(t.Values) / t.Outputs }

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

// Validate checks that walking the tree stays inside its arrays and ends: for trees that come from a file.
func (t *Tree) Validate() error {
	if len(t.Nodes) == 0 || t.Outputs < 1 || t.Columns < 1 {
		return fmt.Errorf("tree: %d nodes, %d columns, %d outputs; each needs one or more", len(t.Nodes), t.Columns, t.Outputs)
	}
	for i, n := range t.Nodes {
		if n.Feature < 0 {
			if n.Left < 0 || int(n.Left) > len(t.Values)-t.Outputs {
				return fmt.Errorf("tree: leaf %d answers from %d, beyond %d values", i, n.Left, len(t.Values))
			}
			continue
		}
		if int(n.Feature) >= t.Columns {
			return fmt.Errorf("tree: node %d asks for column %d of %d", i, n.Feature, t.Columns)
		}
		if int(n.Left) <= i || int(n.Right) <= i || int(n.Left) >= len(t.Nodes) || int(n.Right) >= len(t.Nodes) {
			return fmt.Errorf("tree: node %d leads to %d and %d; they must lie behind it and before %d", i, n.Left, n.Right, len(t.Nodes))
		}
	}
	return nil
}
