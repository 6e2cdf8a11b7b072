package trees

import (
	"fmt"
	"math"
	"slices"

	"cancha/ml/tree"
)

// sparseClasses is from how many classes on leaves name those that they have, as those that are grown here do.
const sparseClasses = 32

// Sets of categories become thresholds, and trees larger: a forest of so many nodes may have each so many times, and these besides, and never
// more than mostNodes, which take 400 MB.
const (
	mostTimes = 1000
	freeNodes = 1 << 16
	mostNodes = 1 << 24
)

// mostImportance is for how many numbers, of all trees together, importances are kept.
const mostImportance = 1 << 23

// builder makes the trees of a table.
type builder struct {
	*Table
	columns int
	boosted []float64 // of boosted trees: what each tree's answers are multiplied by; nil: of a forest
	left    int       // steps that may still be taken
	bounds  []bounds  // of each column, on the way down to the node that is being made
}

// bounds are the least and the largest category of a column that may come to a node.
type bounds struct{ low, high int32 }

// Build makes all trees, of so many columns: thresholds are exact, and sets of categories become thresholds between neighbours. Boosted is by what the answers
// of each tree are multiplied; nil: 1.
func (t *Table) Build(columns int, boosted []float64) ([]*tree.Tree, error) {
	b := &builder{Table: t, columns: columns, boosted: boosted, left: min(mostTimes*len(t.nodes)+freeNodes, mostNodes)}
	b.bounds = slices.Repeat([]bounds{{0, math.MaxInt32}}, columns)
	trees := make([]*tree.Tree, len(t.trees)-1)
	for k := range trees {
		nodes := t.nodes[t.trees[k]:t.trees[k+1]]
		if err := b.check(nodes); err != nil {
			return nil, err
		}
		made, err := b.walk(k, nodes)
		if err != nil {
			return nil, err
		}
		trees[k] = made
	}
	return trees, nil
}

// check checks that nodes are a tree: ids grow on the way down, and every node but the root is the child of one other.
func (b *builder) check(nodes []Node) error {
	children := make([]bool, len(nodes))
	for _, n := range nodes {
		if n.leaf() {
			continue
		}
		if err := b.checkSplit(n); err != nil {
			return err
		}
		for _, child := range [2]int32{n.Left, n.Right} {
			if child <= n.ID || int(child) >= len(nodes) || children[child] {
				return fmt.Errorf("node %d of tree %d leads to node %d, which is none of its own; the model is damaged, save it again", n.ID, n.Tree, child)
			}
			children[child] = true
		}
	}
	if i := slices.Index(children[1:], false); i >= 0 {
		return fmt.Errorf("no way leads to node %d of tree %d; the model is damaged, save it again", i+1, nodes[0].Tree)
	}
	return nil
}

// checkSplit checks what a node asks for.
func (b *builder) checkSplit(n Node) error {
	if n.Feature < 0 || int(n.Feature) >= b.columns {
		return fmt.Errorf("node %d of tree %d asks for feature %d of %d; the model is damaged, save it again", n.ID, n.Tree, n.Feature, b.columns)
	}
	if n.Categories == -1 && n.threshold-n.threshold != 0 {
		return fmt.Errorf("node %d of tree %d splits at %v; the model is damaged, save it again", n.ID, n.Tree, n.threshold)
	}
	if n.Categories < 1 && n.Categories != -1 {
		return fmt.Errorf("node %d of tree %d splits at %d categories; the model is damaged, save it again", n.ID, n.Tree, n.Categories)
	}
	return nil
}

// step is what the walk has still to do: to make what a node of Spark becomes, or to set the bounds of a column as they were.
type step struct {
	parent int32 // in the new tree; -1 for the root
	right  bool
	node   int32  // of Spark; -1: bounds are set, and nothing is made
	runs   []run  // of a split's categories, those that come here; nil: not yet known
	column int32  // whose bounds are set; -1: none
	to     bounds // that it has
}

// making is a tree that is being made.
type making struct {
	*builder
	out   *tree.Tree
	of    []Node  // of Spark
	slot  []int32 // of each of them: where the answer of a leaf begins in the tree's Values; -1: nowhere yet
	pure  []int32 // where the answer of one class alone begins; -1: nowhere yet
	scale float64
	todo  []step
}

// walk makes a tree in the order of a depth-first walk.
func (b *builder) walk(k int, nodes []Node) (*tree.Tree, error) {
	m := &making{builder: b, of: nodes, scale: 1, out: &tree.Tree{Columns: b.columns, Outputs: max(b.number, 1)},
		slot: slices.Repeat([]int32{-1}, len(nodes)), pure: slices.Repeat([]int32{-1}, b.number)}
	if b.boosted != nil {
		m.scale = b.boosted[k]
	}
	for m.todo = []step{{parent: -1, column: -1}}; len(m.todo) > 0; {
		s := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		if s.column >= 0 {
			m.bounds[s.column] = s.to
		}
		if s.node < 0 {
			continue
		}
		if b.left--; b.left < 0 {
			return nil, fmt.Errorf("its %d nodes become more than %d, because splits at sets of categories become many at thresholds; train with fewer categories (maxCategories of VectorIndexer), or a column for each (OneHotEncoder)",
				len(b.nodes), min(mostTimes*len(b.nodes)+freeNodes, mostNodes))
		}
		m.take(s)
	}
	if b.boosted == nil && b.columns*(len(b.trees)-1) <= mostImportance {
		m.out.Importance = m.importance()
	}
	return m.out, nil
}

// take makes what a node becomes: a leaf, a split, the next of several splits, or what is below it where it cannot part what comes here.
func (m *making) take(s step) {
	n := &m.of[s.node]
	switch {
	case n.leaf():
		m.add(s, tree.Node{Feature: -1, Left: m.answerOf(s.node)}, 0)
		return
	case n.Categories == -1:
		at := m.add(s, tree.Node{Feature: n.Feature}, n.threshold)
		m.todo = append(m.todo, step{parent: at, right: true, node: n.Right, column: -1}, step{parent: at, node: n.Left, column: -1}) // the left one is next
		return
	case s.runs == nil:
		if s.runs = n.runs(m.bounds[n.Feature]); len(s.runs) == 1 {
			m.todo = append(m.todo, step{parent: s.parent, right: s.right, node: n.child(s.runs[0]), column: -1})
			return
		}
	}
	if len(s.runs) > 1 {
		half := len(s.runs) / 2
		at := m.add(s, tree.Node{Feature: n.Feature}, float64(s.runs[half-1].high)+0.5)
		m.todo = append(m.todo, step{parent: at, right: true, node: s.node, runs: s.runs[half:], column: -1}, step{parent: at, node: s.node, runs: s.runs[:half], column: -1})
		return
	}
	r := s.runs[0]
	m.todo = append(m.todo, step{node: -1, column: n.Feature, to: m.bounds[n.Feature]},
		step{parent: s.parent, right: s.right, node: n.child(r), column: n.Feature, to: r.bounds})
}

// add appends a node, lets its parent point at it, and returns its place.
func (m *making) add(s step, n tree.Node, threshold float64) int32 {
	at := int32(len(m.out.Nodes))
	if s.parent >= 0 && s.right {
		m.out.Nodes[s.parent].Right = at
	} else if s.parent >= 0 {
		m.out.Nodes[s.parent].Left = at
	}
	n.Threshold = float32(max(-math.MaxFloat32, min(threshold, math.MaxFloat32))) // which nobody asks, beside Exact
	m.out.Nodes, m.out.Exact = append(m.out.Nodes, n), append(m.out.Exact, threshold)
	return at
}

// answerOf returns where the answer of a leaf begins, and writes it when it is asked for first. Leaves of one class alone, which are most in deep
// trees, share one.
func (m *making) answerOf(node int32) int32 {
	if m.slot[node] >= 0 {
		return m.slot[node]
	}
	t, at := m.out, int32(len(m.out.Values))
	m.slot[node] = at
	if m.number == 0 {
		t.Values = append(t.Values, m.of[node].Prediction*m.scale)
		return at
	}
	start := m.of[node].answer
	if class := m.class[start]; class < 0 { // the first is the last
		if m.pure[^class] >= 0 {
			m.slot[node] = m.pure[^class]
			return m.slot[node]
		}
		m.pure[^class] = at
	}
	m.write(int(start))
	return at
}

// write appends the shares of a leaf, which begin at a place of the table.
func (m *making) write(from int) {
	t, to := m.out, from
	for m.class[to] >= 0 {
		to++
	}
	to++
	if m.number >= sparseClasses {
		t.Values, t.Classes = append(t.Values, m.share[from:to]...), append(t.Classes, m.class[from:to]...)
		return
	}
	at := len(t.Values)
	t.Values = append(t.Values, make([]float64, m.number)...)
	for i, v := range m.share[from:to] {
		class := m.class[from+i]
		if class < 0 {
			class = ^class
		}
		t.Values[at+int(class)] = v
	}
}

// importance returns by how much the splits at each column lower the impurity of the rows that come there: what TreeEnsembleModel of Spark adds up.
func (m *making) importance() []float64 {
	sums := make([]float64, m.columns)
	for _, n := range m.of {
		if v := n.Gain * n.count; !n.leaf() && v > 0 && !math.IsInf(v, 1) {
			sums[n.Feature] += v
		}
	}
	return sums
}

// run is some neighbouring categories that go to the same side.
type run struct {
	bounds
	left bool
}

// child is where the categories of a run go.
func (n *Node) child(r run) int32 {
	if r.left {
		return n.Left
	}
	return n.Right
}

// runs returns the categories within bounds in runs of as many as there are, in turn to the left and to the right. What is above the last category
// counts as it, and so a single run has all that is within the bounds.
func (n *Node) runs(in bounds) (all []run) {
	last := min(in.high, n.Categories-1)
	at := min(in.low, last)
	next, _ := slices.BinarySearch(n.set, at)
	for at <= last {
		r := run{bounds: bounds{low: at}}
		for ; next < len(n.set) && n.set[next] == at && at <= last; next++ {
			r.left = true
			at++
		}
		if !r.left {
			if at = last + 1; next < len(n.set) {
				at = min(at, n.set[next])
			}
		}
		r.high = at - 1
		all = append(all, r)
	}
	all[0].low, all[len(all)-1].high = in.low, in.high
	return all
}
