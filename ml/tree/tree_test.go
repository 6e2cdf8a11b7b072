package tree

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cancha/ml"
)

// noisy is a table of n rows in p columns with two classes that the first column decides, and a tenth of them wrong.
func noisy(n, p int) *ml.Dataset {
	rng := rand.New(rand.NewPCG(3, 4))
	d := &ml.Dataset{Features: make([]string, p), Classes: []string{"low", "high"}}
	for range n {
		x := rng.NormFloat64()
		d.Values = append(d.Values, float32(x))
		for range p - 1 {
			d.Values = append(d.Values, float32(rng.NormFloat64()))
		}
		label := 0
		if (x > 0.3) != (rng.Float64() < 0.1) {
			label = 1
		}
		d.Labels = append(d.Labels, label)
		d.Targets = append(d.Targets, x+rng.NormFloat64()/10)
	}
	return d
}

func growOne(t *testing.T, d *ml.Dataset, c Config) *Tree {
	t.Helper()
	b, err := NewBins(d, max(c.MaxBins, 256))
	if err != nil {
		t.Fatal(err)
	}
	builder, err := NewClassifier(d, b, c)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := builder.Grow(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestBinsKeepOrderAndShare(t *testing.T) {
	d := noisy(10000, 1)
	b, err := NewBins(d, 100)
	if err != nil {
		t.Fatal(err)
	}
	count := make([]int, 100)
	for i := range d.Rows() {
		code := int(b.codes[0][i])
		count[code]++
		if v := d.Row(i)[0]; v < b.edges[0].low[code] || v > b.edges[0].high[code] {
			t.Fatalf("value %v is outside its bin %v..%v", v, b.edges[0].low[code], b.edges[0].high[code])
		}
	}
	for code, n := range count {
		if n < 90 || n > 110 {
			t.Errorf("bin %d holds %d rows, want about 100", code, n)
		}
	}
	for code := 1; code < 100; code++ {
		if b.edges[0].low[code] <= b.edges[0].high[code-1] {
			t.Errorf("bin %d begins before bin %d ends", code, code-1)
		}
	}
}

// TestBinsOfHeavyTies puts nearly all rows on one value: it must not swallow the bins of the others.
func TestBinsOfHeavyTies(t *testing.T) {
	d := &ml.Dataset{Features: []string{"x"}}
	for i := range 1000 {
		v := float32(0)
		if i < 100 {
			v = float32(i + 1)
		}
		d.Values = append(d.Values, v)
	}
	b, err := NewBins(d, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(b.edges[0].low); got < 50 || got > 64 {
		t.Errorf("got %d bins, want between 50 and 64", got)
	}
}

func TestThresholdSeparates(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b float32
	}{
		{"apart", 1, 2},
		{"neighbours", 1, math.Nextafter32(1, 2)},
		{"negative neighbours", math.Nextafter32(-1, -2), -1},
		{"around zero", -1e-45, 1e-45},
		{"huge", -math.MaxFloat32, math.MaxFloat32},
	} {
		got := edges{low: []float32{tt.a, tt.b}, high: []float32{tt.a, tt.b}}.threshold(0, 1)
		if !(tt.a <= got && tt.b > got) {
			t.Errorf("%s: %v does not separate %v from %v", tt.name, got, tt.a, tt.b)
		}
	}
}

func TestLimits(t *testing.T) {
	d := noisy(2000, 4)
	if got := growOne(t, d, Config{MaxDepth: 3}).Depth(); got != 3 {
		t.Errorf("max depth 3: got depth %d", got)
	}
	tr := growOne(t, d, Config{MinSamplesLeaf: 50})
	count := map[*float32]int{}
	for i := range d.Rows() {
		count[&tr.Leaf(d.Row(i))[0]]++
	}
	for _, n := range count {
		if n < 50 {
			t.Errorf("a leaf holds %d rows, want 50 or more", n)
		}
	}
	if len(count) != tr.Leaves() {
		t.Errorf("rows fall into %d leaves, the tree has %d", len(count), tr.Leaves())
	}
	full := growOne(t, d, Config{MaxBins: 1 << 16})
	for i := range d.Rows() {
		if got := full.Leaf(d.Row(i))[d.Labels[i]]; got != 1 {
			t.Fatalf("unlimited tree gives row %d a share of %v for its own class, want 1", i, got)
		}
	}
}

// TestConstantColumns asks for one column per split where all but one are constant: the search must go on until it
// finds the one, and give up where none is left.
func TestConstantColumns(t *testing.T) {
	d := noisy(200, 6)
	for i := range d.Rows() {
		clear(d.Row(i)[1:])
	}
	tr := growOne(t, d, Config{MaxFeatures: 1, MaxDepth: 2})
	if tr.Leaves() < 2 || tr.Nodes[0].Feature != 0 {
		t.Errorf("got %d leaves and root column %d, want a split on column 0", tr.Leaves(), tr.Nodes[0].Feature)
	}
	for i := range d.Rows() {
		clear(d.Row(i))
	}
	if got := growOne(t, d, Config{}).Leaves(); got != 1 {
		t.Errorf("all columns constant: got %d leaves, want 1", got)
	}
}

// TestEqualTargetsAreALeaf weighs equal targets differently: 3 times 0.1, divided by 3, is not 0.1.
func TestEqualTargetsAreALeaf(t *testing.T) {
	for _, target := range []float64{0.1, -0.7, 1e-300, 1e9 / 7, 0} {
		d := noisy(200, 6)
		targets, weights := make([]float64, d.Rows()), make([]float64, d.Rows())
		for i := range targets {
			targets[i], weights[i] = target, float64(3-i%3)
		}
		d = d.WithTargets(targets)
		bins, err := NewBins(d, 256)
		if err != nil {
			t.Fatal(err)
		}
		builder, err := NewRegressor(d, bins, Config{})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := builder.Grow(t.Context(), weights, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.Nodes) != 1 {
			t.Errorf("targets of %v: got %d nodes, want 1", target, len(tr.Nodes))
		}
	}
}

// TestGrowDoesNotRemember grows other trees in between: the same seed must give the same tree.
func TestGrowDoesNotRemember(t *testing.T) {
	d := noisy(500, 5)
	b, _ := NewBins(d, 256)
	builder, err := NewClassifier(d, b, Config{MaxFeatures: 2})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := builder.Grow(t.Context(), nil, 1)
	if _, err := builder.Grow(t.Context(), nil, 2); err != nil {
		t.Fatal(err)
	}
	again, _ := builder.Grow(t.Context(), nil, 1)
	if len(first.Nodes) != len(again.Nodes) {
		t.Fatalf("got %d nodes, want %d", len(again.Nodes), len(first.Nodes))
	}
	for i := range first.Nodes {
		if first.Nodes[i] != again.Nodes[i] {
			t.Fatalf("node %d: got %v, want %v", i, again.Nodes[i], first.Nodes[i])
		}
	}
}

func TestMistakesAreErrors(t *testing.T) {
	good := noisy(50, 2)
	bins, _ := NewBins(good, 256)
	for _, tt := range []struct {
		name    string
		config  Config
		weights []float64
		want    string
	}{
		{"criterion of numbers", Config{Criterion: SquaredError}, nil, "does not fit"},
		{"unknown criterion", Config{Criterion: "foo"}, nil, "not gini"},
		{"depth", Config{MaxDepth: -1}, nil, "max depth"},
		{"bins", Config{MaxBins: 1}, nil, "bins"},
		{"features", Config{MaxFeatures: 1.5}, nil, "max features"},
		{"weights", Config{}, []float64{1}, "1 weights for 50 rows"},
		{"no weight", Config{}, make([]float64, 50), "no row has a weight"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			builder, err := NewClassifier(good, bins, tt.config)
			if err == nil {
				_, err = builder.Grow(t.Context(), tt.weights, 1)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	builder, _ := NewClassifier(good, bins, Config{})
	if _, err := builder.Grow(ctx, nil, 1); err == nil {
		t.Error("growing went on after the context was done")
	}
}

func TestValidateTree(t *testing.T) {
	good := func() *Tree {
		return &Tree{Columns: 1, Outputs: 1, Values: []float32{1, 2},
			Nodes: []Node{{0, 0.5, 1, 2}, {leaf, 0, 0, 0}, {leaf, 0, 1, 0}}}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(*Tree){
		"no nodes":     func(t *Tree) { t.Nodes = nil },
		"column":       func(t *Tree) { t.Nodes[0].Feature = 1 },
		"loop":         func(t *Tree) { t.Nodes[0].Left = 0 },
		"beyond":       func(t *Tree) { t.Nodes[0].Right = 3 },
		"value":        func(t *Tree) { t.Nodes[2].Left = 2 },
		"before value": func(t *Tree) { t.Nodes[2].Left = -1 },
	} {
		tr := good()
		damage(tr)
		if err := tr.Validate(); err == nil {
			t.Errorf("%s: a damaged tree was accepted", name)
		}
	}
}

func BenchmarkGrow(b *testing.B) {
	d := noisy(20000, 16)
	bins, _ := NewBins(d, 256)
	builder, err := NewClassifier(d, bins, Config{MaxDepth: 12, MaxFeatures: Sqrt})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := builder.Grow(b.Context(), nil, 1); err != nil {
			b.Fatal(err)
		}
	}
}
