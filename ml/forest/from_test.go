package forest_test

import (
	"fmt"
	"strings"
	"testing"

	"cancha/ml/forest"
	"cancha/ml/tree"
)

// stump is a tree of one split, whose leaves hold these numbers.
func stump(columns, outputs int, values ...float64) *tree.Tree {
	return &tree.Tree{
		Nodes:  []tree.Node{{Feature: 0, Threshold: 3, Left: 1, Right: 2}, {Feature: -1, Left: 0}, {Feature: -1, Left: int32(outputs)}},
		Values: values, Columns: columns, Outputs: outputs,
	}
}

func ExampleNewClassifier() {
	one := &tree.Tree{
		Nodes:  []tree.Node{{Feature: 0, Threshold: 3, Left: 1, Right: 2}, {Feature: -1, Left: 0}, {Feature: -1, Left: 2}},
		Values: []float64{1, 0, 0.2, 0.8}, Columns: 1, Outputs: 2,
	}
	other := &tree.Tree{Nodes: []tree.Node{{Feature: -1, Left: 0}}, Values: []float64{0.5, 0.5}, Columns: 1, Outputs: 2}
	f, err := forest.NewClassifier([]string{"goals"}, []string{"lost", "won"}, []*tree.Tree{one, other})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := make([]float64, 2)
	f.ProbaTo(p, []float32{4})
	fmt.Printf("%.2f\n", p)
	// Output: [0.35 0.65]
}

func ExampleNewRegressor() {
	one := &tree.Tree{Nodes: []tree.Node{{Feature: -1, Left: 0}}, Values: []float64{2}, Columns: 1, Outputs: 1}
	other := &tree.Tree{Nodes: []tree.Node{{Feature: -1, Left: 0}}, Values: []float64{5}, Columns: 1, Outputs: 1}
	f, err := forest.NewRegressor([]string{"minute"}, []*tree.Tree{one, other})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Value([]float32{90}))
	// Output: 3.5
}

// TestNewRefuses: what a file could hold by mistake names the tree.
func TestNewRefuses(t *testing.T) {
	good := stump(2, 2, 1, 0, 0, 1)
	cycle, exact := stump(2, 2, 1, 0, 0, 1), stump(2, 2, 1, 0, 0, 1)
	cycle.Nodes[0].Right = 0
	exact.Exact = []float64{3, 0, 0}
	two, classes := []string{"a", "b"}, []string{"no", "yes"}
	for _, test := range []struct {
		name              string
		features, classes []string
		trees             []*tree.Tree
		want              string
	}{
		{"no trees", two, classes, nil, "no trees"},
		{"no classes", two, nil, []*tree.Tree{good}, "names of its classes"},
		{"a name twice", []string{"a", "a"}, classes, []*tree.Tree{good}, `both named "a"`},
		{"another width", []string{"a"}, classes, []*tree.Tree{good}, "tree 0 takes 2 columns"},
		{"other classes", two, []string{"a", "b", "c"}, []*tree.Tree{good}, "answers with 2 numbers"},
		{"no end", two, classes, []*tree.Tree{good, cycle}, "tree 1"},
		{"some exact", two, classes, []*tree.Tree{good, exact}, "all have them, or none"},
		{"no shares", two, classes, []*tree.Tree{good, stump(2, 2, 1, 0, 3, 4)}, "sum to 7"},
	} {
		if _, err := forest.NewClassifier(test.features, test.classes, test.trees); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := forest.NewRegressor(two, []*tree.Tree{good}); err == nil || !strings.Contains(err.Error(), "answers with 2 numbers") {
		t.Errorf("classes as numbers: got %v", err)
	}
}
