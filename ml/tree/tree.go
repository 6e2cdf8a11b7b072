package tree

import "fmt"

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
	Values  []float64 // Outputs numbers for each leaf: the share of each class, or one mean
	Columns int       // numbers in a row
	Outputs int
	// Exact holds the thresholds of Nodes, one each, with all their digits, and is asked instead of them. Nil in a tree
	// that learned from float32.
	Exact []float64
	// MissingLeft tells where each node sends a row that has no number in its column: left or right. Nil: the tree learned
	// from rows that had all numbers.
	MissingLeft []bool
	// Importance is by how much the splits on each column lowered the weighted impurity while the tree grew. It is not
	// normalized, and is nil in a tree that was read from a file.
	Importance []float64
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

// Leaf returns the answer of the leaf that a row of Columns numbers falls into, as a view into Values.
func (t *Tree) Leaf(row []float32) []float64 {
	if t.Exact != nil {
		return exactLeaf(t, row)
	}
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

// LeafExact is Leaf for a row with all its digits. A tree without Exact gets them rounded to float32, as it learned.
func (t *Tree) LeafExact(row []float64) []float64 {
	if t.Exact != nil {
		return exactLeaf(t, row)
	}
	nodes, i := t.Nodes, int32(0)
	for nodes[i].Feature >= 0 {
		n := &nodes[i]
		i = n.Left
		if float32(row[n.Feature]) > n.Threshold {
			i = n.Right
		}
	}
	return t.Values[nodes[i].Left:][:t.Outputs]
}

// exactLeaf walks a tree with exact thresholds.
func exactLeaf[T float32 | float64](t *Tree, row []T) []float64 {
	nodes, i := t.Nodes, int32(0)
	for nodes[i].Feature >= 0 {
		n := &nodes[i]
		right := float64(row[n.Feature]) > t.Exact[i]
		i = n.Left
		if right {
			i = n.Right
		}
	}
	return t.Values[nodes[i].Left:][:t.Outputs]
}

// Add adds the answers for a block of rows, Columns numbers each, to sums, Outputs numbers each.
func (t *Tree) Add(sums []float64, rows []float32) {
	for r, at := 0, 0; at < len(rows); r, at = r+1, at+t.Columns {
		add(sums[r*t.Outputs:][:t.Outputs], t.Leaf(rows[at:at+t.Columns]))
	}
}

// AddExact is Add for rows with all their digits; see LeafExact.
func (t *Tree) AddExact(sums, rows []float64) {
	for r, at := 0, 0; at < len(rows); r, at = r+1, at+t.Columns {
		add(sums[r*t.Outputs:][:t.Outputs], t.LeafExact(rows[at:at+t.Columns]))
	}
}

// add adds a leaf's answer to a row's sums.
func add(sum, leaf []float64) {
	for k, v := range leaf {
		sum[k] += v
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

// Validate checks that walking the tree stays inside its arrays and ends, and that all its numbers are finite: for trees
// that come from a file.
func (t *Tree) Validate() error {
	if len(t.Nodes) == 0 || t.Outputs < 1 || t.Columns < 1 {
		return fmt.Errorf("tree: %d nodes, %d columns, %d outputs; each needs one or more", len(t.Nodes), t.Columns, t.Outputs)
	}
	if t.Exact != nil && len(t.Exact) != len(t.Nodes) {
		return fmt.Errorf("tree: %d exact thresholds for %d nodes", len(t.Exact), len(t.Nodes))
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
	for i, n := range t.Nodes {
		if err := t.validateNode(i, n); err != nil {
			return err
		}
	}
	return nil
}

// validateNode checks one node.
func (t *Tree) validateNode(i int, n Node) error {
	if n.Feature < 0 {
		if n.Left < 0 || int(n.Left) > len(t.Values)-t.Outputs {
			return fmt.Errorf("tree: leaf %d answers from %d, beyond %d values", i, n.Left, len(t.Values))
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
