package mllib

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"cancha/spark/mllib/internal/parquet"
)

// mostPart is how large a file of nodes may be: Spark makes them of 7,280,000 nodes, about 128 MB.
const mostPart = 4 << 30

// mostCategories is how many categories a set of a split may have.
const mostCategories = 1 << 16

// node is a row of Spark's NodeData.
type node struct {
	tree, id    int32
	left, right int32 // ids; left is -1 of a leaf
	feature     int32
	categories  int32   // how many there are; -1: the feature is a number
	threshold   float64 // of such a feature
	set         []int32 // of the others: the categories that go left, ascending
	prediction  float64
	gain, count float64 // of a split: by how much it lowers the impurity, and the weight of its rows
	answer      int32   // of a leaf of a classifier: where its shares begin in the table's
}

// table is all nodes of a model.
type table struct {
	nodes []node // by tree and id
	trees []int  // where each tree begins in nodes; one more for the end
	classes
}

// classes are the shares of leaves, sparse: the answer of a leaf is the shares from its place to the first negative class, which is the complement.
type classes struct {
	number int // of classes; 0: a regressor
	share  []float64
	class  []int32
}

// readTable reads the nodes of a model, of so many classes.
func readTable(dir fs.FS, numClasses int, single bool) (*table, error) {
	t := &table{classes: classes{number: numClasses}}
	names, err := parts(dir, "data")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := readFile(dir, name, mostPart)
		if err == nil {
			err = t.readPart(data, single)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.SortFunc(t.nodes, func(a, b node) int { return cmp.Or(cmp.Compare(a.tree, b.tree), cmp.Compare(a.id, b.id)) })
	return t, t.divide()
}

// readPart reads the nodes of a file. Where the model is a single tree, its columns stand by themselves.
func (t *table) readPart(data []byte, single bool) error {
	f, err := parquet.Open(data)
	if err != nil {
		return err
	}
	first := len(t.nodes)
	t.nodes = slices.Grow(t.nodes, f.Rows())[:first+f.Rows()]
	nodes, prefix := t.nodes[first:], "nodeData."
	if single {
		prefix = ""
	} else if err := f.Int32("treeID", func(row int, v int32) { nodes[row].tree = v }); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		of   func(*node) *int32
	}{
		{"id", func(n *node) *int32 { return &n.id }}, {"leftChild", func(n *node) *int32 { return &n.left }}, {"rightChild", func(n *node) *int32 { return &n.right }},
		{"split.featureIndex", func(n *node) *int32 { return &n.feature }}, {"split.numCategories", func(n *node) *int32 { return &n.categories }},
	} {
		if err := f.Int32(prefix+c.name, func(row int, v int32) { *c.of(&nodes[row]) = v }); err != nil {
			return err
		}
	}
	if err := f.Float64(prefix+"prediction", func(row int, v float64) { nodes[row].prediction = v }); err != nil {
		return err
	}
	if err := f.Float64(prefix+"gain", func(row int, v float64) { nodes[row].gain = v }); err != nil {
		return err
	}
	if err := f.List(prefix+"split.leftCategoriesOrThreshold", mostCategories, func(row int, list []float64) error { return nodes[row].takeSplit(list) }); err != nil {
		return err
	}
	return f.List(prefix+"impurityStats", t.statistics(), func(row int, list []float64) error { return t.takeStats(&nodes[row], list) })
}

// leaf tells whether a node is a leaf: Spark asks for the same.
func (n *node) leaf() bool { return n.left == -1 }

// takeSplit takes the threshold of a split, or its set of categories.
func (n *node) takeSplit(list []float64) error {
	switch {
	case n.leaf():
		return nil
	case n.categories == -1 && len(list) == 1:
		n.threshold = list[0]
		return nil
	case n.categories == -1:
		return fmt.Errorf("node %d of tree %d splits at %d thresholds; it is damaged, save the model again", n.id, n.tree, len(list))
	}
	n.set = make([]int32, len(list))
	for i, v := range list {
		if n.set[i] = int32(v); !(v >= 0 && v < float64(n.categories)) || float64(n.set[i]) != v {
			return fmt.Errorf("node %d of tree %d sends category %v of %d to the left; it is damaged, save the model again", n.id, n.tree, v, n.categories)
		}
	}
	slices.Sort(n.set)
	n.set = slices.Compact(n.set)
	return nil
}

// statistics is how many a node has: of a classifier the weight of each class, of a regressor the weight of the rows, the sum of their targets and
// that of the squares.
func (t *table) statistics() int {
	if t.number > 0 {
		return t.number
	}
	return 3
}

// takeStats takes the statistics of a node.
func (t *table) takeStats(n *node, list []float64) error {
	want := t.statistics()
	if len(list) != want {
		return fmt.Errorf("node %d of tree %d has %d statistics, and its model %d; it is damaged, save the model again", n.id, n.tree, len(list), want)
	}
	n.count = list[0]
	if t.number == 0 {
		return nil
	}
	n.count = 0
	for class, v := range list {
		if v < 0 || v-v != 0 {
			return fmt.Errorf("node %d of tree %d has %v rows of class %d; it is damaged, save the model again", n.id, n.tree, v, class)
		}
		n.count += v
	}
	if !n.leaf() {
		return nil
	}
	if n.count == 0 || math.IsInf(n.count, 0) {
		return fmt.Errorf("the rows of leaf %d of tree %d have a weight of %v together: it has no probabilities; train with weights above 0", n.id, n.tree, n.count)
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

// divide finds where trees begin, and checks that the ids of each are 0, 1 and so on.
func (t *table) divide() error {
	for i, n := range t.nodes {
		if i == 0 || n.tree != t.nodes[i-1].tree {
			if int(n.tree) != len(t.trees) {
				return fmt.Errorf("there is a tree %d and no tree %d; a file of data is missing, copy the model as a whole", n.tree, len(t.trees))
			}
			t.trees = append(t.trees, i)
		}
		if want := i - t.trees[len(t.trees)-1]; int(n.id) != want {
			return fmt.Errorf("tree %d has node %d where node %d is missing; a file of data is missing or is there twice, copy the model again", n.tree, n.id, want)
		}
	}
	t.trees = append(t.trees, len(t.nodes))
	if len(t.nodes) == 0 {
		return errors.New("there are no nodes in data; copy the model as a whole")
	}
	return nil
}

// asked is how many features splits ask for: one more than the largest index.
func (t *table) asked() int {
	most := int32(0)
	for _, n := range t.nodes {
		if !n.leaf() {
			most = max(most, n.feature)
		}
	}
	return min(int(most)+1, mostFeatures)
}
