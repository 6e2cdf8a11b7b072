package trees

import (
	"strings"
	"testing"
)

// stump fills a table of two classes with a split at 0.5 and its leaves.
func stump(t *testing.T) *Table {
	t.Helper()
	table := New(2)
	nodes := table.Grow(3)
	for i := range nodes {
		nodes[i] = Node{ID: int32(2 - i), Left: -1, Right: -1, Feature: -1, Categories: -1} // in any order
	}
	root := &nodes[2]
	root.Left, root.Right, root.Feature = 1, 2, 1
	if err := root.Split([]float64{0.5}); err != nil {
		t.Fatal(err)
	}
	for i, stats := range [][]float64{{1, 3}, {4, 0}, {5, 3}} {
		if err := table.Statistics(&nodes[i], stats); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

func TestBuild(t *testing.T) {
	table := stump(t)
	if err := table.Divide(); err != nil {
		t.Fatal(err)
	}
	if table.Trees() != 1 || table.Nodes() != 3 || table.Asked() != 2 {
		t.Errorf("%d trees of %d nodes that ask for %d columns, want 1, 3, 2", table.Trees(), table.Nodes(), table.Asked())
	}
	made, err := table.Build(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := made[0]
	left, right := of.Nodes[of.Nodes[0].Left], of.Nodes[of.Nodes[0].Right]
	if of.Exact[0] != 0.5 || of.Values[left.Left] != 1 || of.Values[right.Left] != 0.25 {
		t.Errorf("split at %v, shares of class 0 %v and %v, want 0.5, 1 and 0.25", of.Exact[0], of.Values[left.Left], of.Values[right.Left])
	}
}

// TestDamaged: what is no tree is an error that says so.
func TestDamaged(t *testing.T) {
	for want, damage := range map[string]func(*Table){
		"where node 1 is missing": func(t *Table) { t.nodes[1].ID = 7 },
		"no tree 0":               func(t *Table) { t.nodes[0].Tree, t.nodes[1].Tree, t.nodes[2].Tree = 1, 1, 1 },
		"leads to node 0":         func(t *Table) { t.nodes[2].Right = 0 },
		"feature 9 of 2":          func(t *Table) { t.nodes[2].Feature = 9 },
	} {
		table := stump(t)
		damage(table)
		err := table.Divide()
		if err == nil {
			_, err = table.Build(2, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if err := New(2).Divide(); err == nil {
		t.Error("a table without nodes was divided")
	}
	if err := New(2).Statistics(&Node{Left: -1}, []float64{1}); err == nil {
		t.Error("a leaf of two classes took one statistic")
	}
}
