package tree

import (
	"math"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
)

// growWith grows one tree on a table of one or more columns, its numbers given row by row.
func growWith(t *testing.T, d *ml.Dataset, c Config, draws []uint16) *Tree {
	t.Helper()
	bins, err := NewBins(t.Context(), d, Exact)
	if err != nil {
		t.Fatal(err)
	}
	build := NewRegressor
	if d.Labels != nil {
		build = NewClassifier
	}
	b, err := build(d, bins, c)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := b.Grow(t.Context(), draws, 1)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestHeavyRows weighs one row so much that the weight of the others is lost in a sum with it: the first split is the one that gains most all the
// same, and what it gained is a number. It is between the heavy row and the others, though another column has the heavy row among them.
func TestHeavyRows(t *testing.T) {
	for _, heavy := range []float64{1e9, 1e13, 1e20, 1e60} {
		d := &ml.Dataset{Features: []string{"other", "heavy"}, Classes: []string{"a", "b", "c", "d"}, Weights: []float64{heavy}}
		for i := range 40 {
			x, y, label := float32((i*7+20)%40), float32(i), i%3+1
			if i == 0 {
				label = 0
			} else {
				d.Weights = append(d.Weights, 1)
			}
			d.Values, d.Labels, d.Targets = append(d.Values, x, y), append(d.Labels, label), append(d.Targets, float64(min(i, 1)*(3+i%2)))
		}
		numbers := *d
		numbers.Labels = nil
		for _, tt := range []struct {
			d *ml.Dataset
			c Criterion
		}{{d, Gini}, {d, Entropy}, {&numbers, SquaredError}, {&numbers, Poisson}} {
			tr := growWith(t, tt.d, Config{Criterion: tt.c}, nil)
			if root := tr.Nodes[0]; discerns(tt.c, heavy) && (root.Feature != 1 || root.Threshold != 0.5) {
				t.Errorf("%s, a row of %g: the first split is at %g of column %d", tt.c, heavy, root.Threshold, root.Feature)
			}
			if slices.ContainsFunc(tr.Importance, func(v float64) bool { return v-v != 0 }) {
				t.Errorf("%s, a row of %g: importances %v", tt.c, heavy, tr.Importance)
			}
		}
	}
}

// discerns tells whether a criterion can see light rows beside a heavy one: its scores are as large as the weight, but those of squares around a mean.
func discerns(c Criterion, heavy float64) bool {
	return c == SquaredError || c == Gini && heavy < 1e15 || c == Entropy && heavy < 1e10
}

// TestNoEvents: fractions whose sum is not their sum in another order leave something behind of a side without events; it is none all the same.
func TestNoEvents(t *testing.T) {
	d := &ml.Dataset{Features: []string{"x"}}
	for i := range 60 {
		x, y := i*17%60, 1e6*math.Sqrt(float64(i))
		if x >= 40 {
			y = 0
		}
		d.Values, d.Targets = append(d.Values, float32(x)), append(d.Targets, y)
	}
	tr := growWith(t, d, Config{Criterion: Poisson}, nil)
	for i, n := range tr.Nodes {
		if n.Feature < 0 && tr.Answer(i)[0] == 0 {
			t.Errorf("node %d is a leaf without events", i)
		}
	}
}

// TestSharesOfTheLightest: a leaf that holds two classes names both, though the share of one is 1 but for rounding.
func TestSharesOfTheLightest(t *testing.T) {
	d := &ml.Dataset{Features: []string{"x"}, Values: []float32{0, 0, 1, 2}, Classes: []string{"a", "b"}, Labels: []int{0, 1, 0, 1}, Weights: []float64{1e30, 1, 1, 1}}
	tr := growWith(t, d, Config{}, nil)
	if got, want := tr.Leaf([]float32{0})[1], 1e-30; math.Abs(got-want) > 1e-40 {
		t.Errorf("the lighter class has a share of %g, want %g", got, want)
	}
	if got := tr.Leaf([]float32{1})[1]; got != 0 {
		t.Errorf("where it has no rows it has a share of %g", got)
	}
}

// TestAboveAllFloats splits what is missing from all numbers, one of which is above the greatest float32 and rounds to it.
func TestAboveAllFloats(t *testing.T) {
	greatest := math.MaxFloat32 * (1 + 1e-9)
	nan := math.NaN()
	d, err := ml.FromRowsMissing([]string{"x"}, [][]float64{{1.7e9}, {1.7e9 + 1}, {greatest}, {nan}, {nan}})
	if err != nil {
		t.Fatal(err)
	}
	d.Targets = []float64{1, 1, 1, 2, 2}
	tr := growWith(t, d, Config{}, nil)
	if err := tr.Validate(); err != nil || tr.Exact == nil {
		t.Fatalf("exact thresholds %v, %v", tr.Exact, err)
	}
	for i, want := range d.Targets {
		if got := tr.LeafExact(d.Exact[i : i+1])[0]; got != want {
			t.Errorf("row %d: got %v, want %v", i, got, want)
		}
	}
}

// TestMostDraws: counts of more draws than 31 bits hold would run into one another, and are refused.
func TestMostDraws(t *testing.T) {
	d := &ml.Dataset{Features: []string{"x"}, Classes: []string{"a", "b"}}
	draws := make([]uint16, 70_000)
	for i := range draws {
		d.Values, d.Labels, draws[i] = append(d.Values, float32(i%100)), append(d.Labels, i%100/99), math.MaxUint16
	}
	bins, err := NewBins(t.Context(), d, 256)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewClassifier(d, bins, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if tr, err := b.Grow(t.Context(), draws, 1); err == nil || !strings.Contains(err.Error(), "draw fewer") {
		t.Errorf("got a root at %v, importance %v, error %v", tr.Nodes[0], tr.Importance, err)
	}
	clear(draws[len(draws)*46/100:])
	tr, err := b.Grow(t.Context(), draws, 1)
	if err != nil || tr.Nodes[0].Threshold != 98.5 || tr.Importance[0] <= 0 {
		t.Errorf("fewer draws: got %+v, error %v", tr, err)
	}
}

// TestOutlierLeavesDigits: leaves answer with the mean of their targets, to the last digits, though another row's target is so far away that beside it
// they are one.
func TestOutlierLeavesDigits(t *testing.T) {
	for _, outlier := range []float64{1e6, 1e12, 1e20, 1e40} {
		d := noisy(600, 3)
		d.Labels, d.Targets[7], d.Values[3*7+1] = nil, outlier, 50
		tr := growWith(t, d, Config{MinSamplesSplit: 12}, nil)
		sums, rows := map[int]float64{}, map[int]float64{}
		for i := range d.Rows() {
			leaf := find(tr, d.Row(i))
			sums[leaf], rows[leaf] = sums[leaf]+d.Targets[i], rows[leaf]+1
		}
		for leaf, sum := range sums {
			if got, want := tr.Answer(leaf)[0], sum/rows[leaf]; math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
				t.Errorf("a target of %g: a leaf of %v rows answers %v, want %v", outlier, rows[leaf], got, want)
			}
		}
	}
}

// TestNumbersOfABlock grows on tables of about as many rows as a block has.
func TestNumbersOfABlock(t *testing.T) {
	for _, rows := range []int{blockRows - 1, blockRows, blockRows + 1} {
		d := noisy(rows, 2)
		d.Labels = nil
		tr := growWith(t, d, Config{MinSamplesLeaf: 100}, nil)
		if tr.Leaves() < 20 {
			t.Errorf("%d rows: %d leaves", rows, tr.Leaves())
		}
	}
}
