package tree

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"cancha/ml"
)

// sklearnCase is one case of testdata/trees.json, made by testdata/trees.py.
type sklearnCase struct {
	Name   string
	Params struct {
		Criterion           string  `json:"criterion"`
		MaxDepth            int     `json:"max_depth"`
		MinSamplesSplit     int     `json:"min_samples_split"`
		MinSamplesLeaf      int     `json:"min_samples_leaf"`
		MinImpurityDecrease float64 `json:"min_impurity_decrease"`
		MaxLeafNodes        int     `json:"max_leaf_nodes"`
	}
	Regression bool
	X          [][]*float64 // nil: missing
	Y          []float64
	Weight     []float64
	Tree       struct {
		Feature     []int32
		Threshold   []float64
		Left, Right []int32
		Value       [][]float64
		MissingLeft []int `json:"missing_left"`
	}
	Importance []float64
	Predict    [][]float64
}

// grow grows the case's tree with our builder.
func (c sklearnCase) grow(t *testing.T, bins int) (*ml.Dataset, *Tree) {
	t.Helper()
	return c.growOn(t, func(d *ml.Dataset) *Bins {
		b, err := NewBins(t.Context(), d, bins)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

// growWide grows it with codes wider than a byte.
func (c sklearnCase) growWide(t *testing.T) (*ml.Dataset, *Tree) {
	t.Helper()
	return c.growOn(t, func(d *ml.Dataset) *Bins {
		b, err := NewBins(t.Context(), d, Exact)
		if err != nil {
			t.Fatal(err)
		}
		if b.codes.narrow == nil {
			return b
		}
		b.codes = table{}
		if b.codes.wide, err = encode[uint32](t.Context(), b, d.Values, len(d.Features)); err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func (c sklearnCase) growOn(t *testing.T, bins func(*ml.Dataset) *Bins) (*ml.Dataset, *Tree) {
	t.Helper()
	names := strings.Fields("a b c d e f g h i j k l m n o p")[:len(c.X[0])]
	rows := make([][]float64, len(c.X))
	for i, row := range c.X {
		for _, v := range row {
			if v == nil {
				rows[i] = append(rows[i], math.NaN())
			} else {
				rows[i] = append(rows[i], *v)
			}
		}
	}
	d, err := ml.FromRowsMissing(names, rows)
	if err != nil {
		t.Fatal(err)
	}
	d.Weights = c.Weight
	p := c.Params
	config := Config{Criterion: Criterion(p.Criterion), MaxDepth: p.MaxDepth, MinSamplesSplit: p.MinSamplesSplit,
		MinSamplesLeaf: p.MinSamplesLeaf, MinImpurityDecrease: p.MinImpurityDecrease, MaxLeafNodes: p.MaxLeafNodes}
	b := bins(d)
	var builder *Builder
	if c.Regression {
		d.Targets = c.Y
		builder, err = NewRegressor(d, b, config)
	} else {
		d.Classes = []string{"0", "1", "2"}[:len(c.Predict[0])]
		for _, y := range c.Y {
			d.Labels = append(d.Labels, int(y))
		}
		builder, err = NewClassifier(d, b, config)
	}
	if err != nil {
		t.Fatal(err)
	}
	grown, err := builder.Grow(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	return d, grown
}

func readSklearn(t *testing.T) []sklearnCase {
	t.Helper()
	data, err := os.ReadFile("testdata/trees.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []sklearnCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// TestSameTreeAsSklearn compares node by node: same columns, same thresholds, same links, same answers to the float32
// that a leaf stores.
func TestSameTreeAsSklearn(t *testing.T) {
	cases := readSklearn(t)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			d, got := c.grow(t, Exact)
			compareNodes(t, got, c)
			for i, want := range c.Predict {
				for k, v := range got.Leaf(d.Row(i)) {
					if math.Abs(v-want[k]) > 1e-6*max(1, math.Abs(want[k])) {
						t.Fatalf("row %d: got %v, want %v", i, got.Leaf(d.Row(i)), want)
					}
				}
			}
			compareImportance(t, got.Importance, c.Importance)
		})
	}
}

func compareNodes(t *testing.T, got *Tree, c sklearnCase) {
	t.Helper()
	if len(got.Nodes) != len(c.Tree.Feature) {
		t.Fatalf("got %d nodes, want %d", len(got.Nodes), len(c.Tree.Feature))
	}
	for i, n := range got.Nodes {
		if n.Feature != c.Tree.Feature[i] {
			t.Fatalf("node %d splits on column %d, want %d", i, n.Feature, c.Tree.Feature[i])
		}
		if n.Feature < 0 {
			continue
		}
		if n.Left != c.Tree.Left[i] || n.Right != c.Tree.Right[i] {
			t.Fatalf("node %d leads to %d and %d, want %d and %d", i, n.Left, n.Right, c.Tree.Left[i], c.Tree.Right[i])
		}
		if got.MissingLeft != nil && c.Tree.MissingLeft != nil && got.MissingLeft[i] != (c.Tree.MissingLeft[i] != 0) {
			t.Fatalf("node %d sends missing numbers left: %v, want %v", i, got.MissingLeft[i], !got.MissingLeft[i])
		}
		// Ours is scikit-learn's rounded down to float32.
		if want := c.Tree.Threshold[i]; float64(n.Threshold) > want || float64(math.Nextafter32(n.Threshold, float32(math.Inf(1)))) <= want {
			t.Fatalf("node %d splits at %v, want the float32 at or below %v", i, n.Threshold, want)
		}
	}
}

// compareImportance compares shares of all decreases.
func compareImportance(t *testing.T, got, want []float64) {
	t.Helper()
	sum := 0.0
	for _, v := range got {
		sum += v
	}
	for k := range want {
		if math.Abs(got[k]/sum-want[k]) > 1e-9 {
			t.Fatalf("importance of column %d: got %v, want %v", k, got[k]/sum, want[k])
		}
	}
}

// TestSortedProfileEqualsHistogram grows each case with codes of a byte, whose rows are counted by bins, and with wider
// ones, whose rows are sorted: where no column has more than 256 values both must give the same tree.
func TestSortedProfileEqualsHistogram(t *testing.T) {
	for _, c := range readSklearn(t) {
		n := min(len(c.X), 200)
		c.X, c.Y = c.X[:n], c.Y[:n]
		if c.Weight != nil {
			c.Weight = c.Weight[:n]
		}
		_, wide := c.growWide(t)
		_, again := c.grow(t, 256)
		if len(wide.Nodes) != len(again.Nodes) {
			t.Fatalf("%s: %d and %d nodes", c.Name, len(wide.Nodes), len(again.Nodes))
		}
		for i := range wide.Nodes {
			if wide.Nodes[i] != again.Nodes[i] {
				t.Fatalf("%s: node %d differs: %v and %v", c.Name, i, wide.Nodes[i], again.Nodes[i])
			}
		}
	}
}
