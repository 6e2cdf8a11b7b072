package tree

import (
	"context"
	"math"
	"reflect"
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
	missing := *noisy(90_000, 5)
	missing.Missing = true
	for i := 0; i < len(missing.Values); i += 3 {
		missing.Values[i] = float32(math.NaN())
	}
	for _, d := range []*ml.Dataset{noisy(90_000, 5), &missing} { // more draws than 16 bits hold
		bins, err := NewBins(t.Context(), d, 256)
		if err != nil {
			t.Fatal(err)
		}
		draws := make([]uint16, d.Rows())
		for i := range draws {
			draws[i] = uint16(i % 4)
		}
		b, err := NewClassifier(d, bins, Config{MaxFeatures: 2})
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
				g.SplitWide(w, histograms(d, bins, draws, w))
			}
		}
		got, err := g.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if levels < 3 || !reflect.DeepEqual(got, want) {
			t.Errorf("%d levels of histograms grow another tree: %d nodes, want %d", levels, len(got.Nodes), len(want.Nodes))
		}
	}
}

func histograms(d *ml.Dataset, bins *Bins, draws []uint16, w Wide) []uint32 {
	counts := make([]uint32, len(w.Columns)*256*len(d.Classes))
	for j, column := range w.Columns {
		codes := bins.Codes(column)
		for _, row := range w.Rows {
			counts[(j*256+int(codes[row]))*len(d.Classes)+d.Labels[row]] += uint32(draws[row])
		}
	}
	return counts
}
