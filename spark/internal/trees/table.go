// Package trees makes trees of package tree from the rows in which Spark ML keeps the nodes of its forests, NodeData of
// org.apache.spark.ml.tree. It ends at the rows: who has read them, from files or from a server, is others' business.
package trees

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// MostCategories is how many categories a set of a split may have.
const MostCategories = 1 << 16

// Node is a row of Spark's NodeData. What it asks for is set by Split, and what its rows were by [Table.Statistics].
type Node struct {
	Tree, ID    int32
	Left, Right int32 // ids; Left is -1 of a leaf
	Feature     int32
	Categories  int32 // how many there are; -1: the feature is a number
	Prediction  float64
	Gain        float64 // of a split: by how much it lowers the impurity

	threshold float64 // of a feature that is a number
	set       []int32 // of the others: the categories that go left, ascending
	count     float64 // the weight of its rows
	answer    int32   // of a leaf of a classifier: where its shares begin in the table's
}

// Table is all nodes of a model: Grow and fill it, then Divide, then Build.
type Table struct {
	nodes []Node // by tree and id
	trees []int  // where each tree begins in nodes; one more for the end
	classes
}

// New returns a table for a model of so many classes; 0: of numbers.
func New(classNumber int) *Table { return &Table{classes: classes{number: classNumber}} }

// Grow adds so many nodes, and returns them to be filled. The next Grow may move them.
func (t *Table) Grow(nodes int) []Node {
	first := len(t.nodes)
	t.nodes = slices.Grow(t.nodes, nodes)[:first+nodes]
	return t.nodes[first:]
}

// Nodes is how many nodes there are.
func (t *Table) Nodes() int { return len(t.nodes) }

// Trees is how many trees there are, once the table is divided.
func (t *Table) Trees() int { return len(t.trees) - 1 }

// classes are the shares of leaves, sparse: the answer of a leaf is the shares from its place to the first negative class, which is the complement.
type classes struct {
	number int // of classes; 0: a regressor
	share  []float64
	class  []int32
}

// leaf tells whether a node is a leaf: Spark asks for the same.
func (n *Node) leaf() bool { return n.Left == -1 }

// Split takes leftCategoriesOrThreshold: the threshold of a split, or its set of categories. Left and Categories are set before.
func (n *Node) Split(list []float64) error {
	switch {
	case n.leaf():
		return nil
	case n.Categories == -1 && len(list) == 1:
		n.threshold = list[0]
		return nil
	case n.Categories == -1:
		return fmt.Errorf("node %d of tree %d splits at %d thresholds; it is damaged, save the model again", n.ID, n.Tree, len(list))
	}
	n.set = make([]int32, len(list))
	for i, v := range list {
		if n.set[i] = int32(v); !(v >= 0 && v < float64(n.Categories)) || float64(n.set[i]) != v {
			return fmt.Errorf("node %d of tree %d sends category %v of %d to the left; it is damaged, save the model again", n.ID, n.Tree, v, n.Categories)
		}
	}
	slices.Sort(n.set)
	n.set = slices.Compact(n.set)
	return nil
}

// Width is how many statistics a node has: of a classifier the weight of each class, of a regressor the weight of the rows, the sum of their targets and
// that of the squares.
func (t *Table) Width() int {
	if t.number > 0 {
		return t.number
	}
	return 3
}

// Statistics takes impurityStats of a node, as many as Width says. Left, Tree and ID are set before.
func (t *Table) Statistics(n *Node, list []float64) error {
	want := t.Width()
	if len(list) != want {
		return fmt.Errorf("node %d of tree %d has %d statistics, and its model %d; it is damaged, save the model again", n.ID, n.Tree, len(list), want)
	}
	n.count = list[0]
	if t.number == 0 {
		return nil
	}
	n.count = 0
	for class, v := range list {
		if v < 0 || v-v != 0 {
			return fmt.Errorf("node %d of tree %d has %v rows of class %d; it is damaged, save the model again", n.ID, n.Tree, v, class)
		}
		n.count += v
	}
	if !n.leaf() {
		return nil
	}
	if n.count == 0 || math.IsInf(n.count, 0) {
		return fmt.Errorf("the rows of leaf %d of tree %d have a weight of %v together: it has no probabilities; train with weights above 0", n.ID, n.Tree, n.count)
	}
	n.answer = int32(len(t.share))
	return t.addShares(list, n.count)
}

// addShares appends the shares of a leaf, of which there is one above 0 at least.
func (c *classes) addShares(list []float64, total float64) error {
	if len(c.share)+len(list) > math.MaxInt32 {
		return fmt.Errorf("more than %d shares of classes in all leaves; train fewer or smaller trees", math.MaxInt32)
	}
	for class, v := range list {
		if v > 0 {
			c.share, c.class = append(c.share, v/total), append(c.class, int32(class))
		}
	}
	last := &c.class[len(c.class)-1]
	*last = ^*last
	return nil
}

// Divide sorts the nodes, finds where trees begin, and checks that the ids of each are 0, 1 and so on.
func (t *Table) Divide() error {
	slices.SortFunc(t.nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Tree, b.Tree), cmp.Compare(a.ID, b.ID)) })
	t.trees = t.trees[:0]
	for i, n := range t.nodes {
		if i == 0 || n.Tree != t.nodes[i-1].Tree {
			if int(n.Tree) != len(t.trees) {
				return fmt.Errorf("there is a tree %d and no tree %d; a file of data is missing, copy the model as a whole", n.Tree, len(t.trees))
			}
			t.trees = append(t.trees, i)
		}
		if want := i - t.trees[len(t.trees)-1]; int(n.ID) != want {
			return fmt.Errorf("tree %d has node %d where node %d is missing; a file of data is missing or is there twice, copy the model again", n.Tree, n.ID, want)
		}
	}
	t.trees = append(t.trees, len(t.nodes))
	if len(t.nodes) == 0 {
		return errors.New("there are no nodes in data; copy the model as a whole")
	}
	return nil
}

// Asked is how many features splits ask for: one more than the largest index.
func (t *Table) Asked() int {
	most := int32(0)
	for _, n := range t.nodes {
		if !n.leaf() {
			most = max(most, n.Feature)
		}
	}
	return int(most) + 1
}
