package tree

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"cancha/ml"
)

// TestWorkersGrowTheSameTree: the tree is the same, to the bit, on any number of goroutines, for every way to judge.
func TestWorkersGrowTheSameTree(t *testing.T) {
	weighted := *noisy(12_000, 5)
	weighted.Weights = make([]float64, weighted.Rows())
	for i := range weighted.Weights {
		weighted.Weights[i] = 0.1 * float64(1+i%7)
	}
	missing := *noisy(12_000, 5)
	missing.Missing = true
	for i := 0; i < len(missing.Values); i += 3 {
		missing.Values[i] = float32(math.NaN())
	}
	many := *noisy(12_000, 5)
	many.Classes = make([]string, 40)
	for i := range many.Classes {
		many.Classes[i] = string(rune('A' + i))
	}
	for i := range many.Labels {
		many.Labels[i] = (many.Labels[i]*20 + i%20)
	}
	flat := *noisy(10_000, 2)
	clear(flat.Values)
	for name, tt := range map[string]struct {
		d      *ml.Dataset
		config Config
		build  func(*ml.Dataset, *Bins, Config) (*Builder, error)
	}{
		"gini":          {noisy(12_000, 5), Config{MaxFeatures: 2}, NewClassifier},
		"depth 3":       {noisy(12_000, 5), Config{MaxDepth: 3}, NewClassifier},
		"weights":       {&weighted, Config{MaxFeatures: 2, Criterion: Entropy, MinSamplesLeaf: 9}, NewClassifier},
		"missing":       {&missing, Config{MaxFeatures: 2}, NewClassifier},
		"many classes":  {&many, Config{MaxFeatures: 2, MaxDepth: 9}, NewClassifier},
		"squared error": {&weighted, Config{MaxFeatures: 2, MinSamplesLeaf: 3}, NewRegressor},
		"one leaf":      {&flat, Config{}, NewRegressor},
	} {
		bins, err := NewBins(t.Context(), tt.d, 256)
		if err != nil {
			t.Fatal(err)
		}
		var want *Tree
		for workers := range 4 {
			tt.config.Workers = workers
			b, err := tt.build(tt.d, bins, tt.config)
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Grow(t.Context(), nil, 3)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d workers grow another tree: %d nodes, want %d", name, workers, len(got.Nodes), len(want.Nodes))
			}
			if err := got.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestWorkersStop: all of them end with the context.
func TestWorkersStop(t *testing.T) {
	d := noisy(12_000, 5)
	bins, err := NewBins(t.Context(), d, 256)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewClassifier(d, bins, Config{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if tr, err := b.Grow(ctx, nil, 1); err == nil {
		t.Errorf("got a tree of %d nodes", len(tr.Nodes))
	}
}

// TestHistogramsGrowTheSameTree counts the histograms of wide nodes here, as a GPU would.
func TestHistogramsGrowTheSameTree(t *testing.T) {
	missing := *noisy(90_000, 5) // more draws than 16 bits hold
	missing.Missing = true
	for i := 0; i < len(missing.Values); i += 3 {
		missing.Values[i] = float32(math.NaN())
	}
	for name, tt := range map[string]struct {
		d      *ml.Dataset
		config Config
	}{
		"two columns": {noisy(90_000, 5), Config{MaxFeatures: 2}}, "missing": {&missing, Config{MaxFeatures: 2}},
		"large leaves": {noisy(90_000, 5), Config{MaxFeatures: 2, MinSamplesLeaf: 900}}, "large leaves, missing": {&missing, Config{MinSamplesLeaf: 5000}},
		"fewer draws": {noisy(30_000, 5), Config{MinSamplesLeaf: 700}},
	} {
		bins, err := NewBins(t.Context(), tt.d, 256)
		if err != nil {
			t.Fatal(err)
		}
		draws := make([]uint16, tt.d.Rows())
		for i := range draws {
			draws[i] = uint16(i % 4)
		}
		b, err := NewClassifier(tt.d, bins, tt.config)
		if err != nil {
			t.Fatal(err)
		}
		want, err := b.Grow(t.Context(), draws, 5)
		if err != nil {
			t.Fatal(err)
		}
		g, err := b.Begin(draws, 5)
		if err != nil {
			t.Fatal(err)
		}
		levels := 0
		for wide := g.Wide(); len(wide) > 0; wide = g.Wide() {
			levels++
			for _, w := range wide {
				g.SplitWide(w, histograms(tt.d, bins, draws, w))
			}
		}
		got, err := g.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if levels < 2 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d levels of histograms grow another tree: %d nodes, want %d", name, levels, len(got.Nodes), len(want.Nodes))
		}
	}
}

func histograms(d *ml.Dataset, bins *Bins, draws []uint16, w Wide) []uint32 {
	width := len(d.Classes) + 1
	counts := make([]uint32, len(w.Columns)*256*width)
	for j, column := range w.Columns {
		codes := bins.Codes(column)
		for _, row := range w.Rows {
			bin := counts[(j*256+int(codes[row]))*width:][:width]
			bin[d.Labels[row]] += uint32(draws[row])
			bin[width-1]++
		}
	}
	return counts
}

// TestCounted: what histograms cannot tell is refused, and says why.
func TestCounted(t *testing.T) {
	d := noisy(300, 2)
	weighted, many := *d, *d
	weighted.Weights = make([]float64, d.Rows())
	for i := range weighted.Weights {
		weighted.Weights[i] = 1
	}
	many.Classes = []string{"a", "b", "c", "d"}
	for name, tt := range map[string]struct {
		d      *ml.Dataset
		bins   int
		config Config
		want   string
	}{
		"as they are": {d, 256, Config{MinSamplesLeaf: 3}, ""}, "bins": {d, Exact, Config{}, "more than 256 bins"},
		"best first": {d, 256, Config{MaxLeafNodes: 9}, "MaxLeafNodes"}, "weights": {&weighted, 256, Config{}, "without weights"},
		"classes": {&many, 256, Config{}, "up to 3 classes"}, "entropy": {d, 256, Config{Criterion: Entropy}, "Gini"},
	} {
		bins, err := NewBins(t.Context(), tt.d, tt.bins)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewClassifier(tt.d, bins, tt.config)
		if err != nil {
			t.Fatal(err)
		}
		err = b.Counted()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
		if _, begun := b.Begin(nil, 1); (begun == nil) != (err == nil) {
			t.Errorf("%s: begun: %v, where Counted says %v", name, begun, err)
		}
	}
}
