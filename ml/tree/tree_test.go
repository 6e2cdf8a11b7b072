package tree

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cancha/ml"
)

// noisy is a table of n rows in p columns with two classes that the first column decides, and a tenth of them wrong.
func noisy(n, p int) *ml.Dataset {
	rng := rand.New(rand.NewPCG(3, 4))
	d := &ml.Dataset{Features: strings.Fields("a b c d e f g h i j k l m n o p")[:p], Classes: []string{"low", "high"}}
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

func growOne(t *testing.T, d *ml.Dataset, bins int, c Config) *Tree {
	t.Helper()
	b, err := NewBins(t.Context(), d, bins)
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
	b, err := NewBins(t.Context(), d, 100)
	if err != nil {
		t.Fatal(err)
	}
	count := make([]int, 100)
	for i := range d.Rows() {
		code := int(b.codes.narrow[0][i])
		count[code]++
		if v := float64(d.Row(i)[0]); v < b.edges[0].low[code] || v > b.edges[0].high[code] {
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
	b, err := NewBins(t.Context(), d, 64)
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
		both := []float64{float64(tt.a), float64(tt.b)}
		got := float32((&Bins{edges: []edges{{low: both, high: both}}}).threshold(0, 0, 1))
		if !(tt.a <= got && tt.b > got) {
			t.Errorf("%s: %v does not separate %v from %v", tt.name, got, tt.a, tt.b)
		}
	}
	for _, a := range []float64{1, -1, 5e-324, -5e-324, 1.7e18} {
		b := math.Nextafter(a, math.Inf(1))
		bins := &Bins{exact: true, edges: []edges{{low: []float64{a, b}, high: []float64{a, b}}}}
		if got := bins.threshold(0, 0, 1); !(a <= got && b > got) {
			t.Errorf("%v does not separate %v from its neighbour %v", got, a, b)
		}
	}
}

// TestTargetsKeepTheirDigits grows trees on targets far from 0, and on two heaps of them far from each other: each must
// answer, where a leaf holds one target, with that target, and split between small differences as if the origin did
// not matter.
func TestTargetsKeepTheirDigits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		origin func(i int) float64
	}{
		{"Unix times", func(int) float64 { return 1.7e9 }},
		{"1e12", func(int) float64 { return -1e12 }},
		{"two heaps", func(i int) float64 { return float64(i%2) * 1e10 }},
		{"one outlier", func(i int) float64 { return float64(max(0, 1-i)) * 1e10 }},
	} {
		d := noisy(500, 2)
		for i := range d.Targets {
			d.Targets[i] = tt.origin(i) + float64(int(64*d.Targets[i]))/64 // what float64 holds, whatever the origin
			d.Values[2*i+1] = float32(min(tt.origin(i), 1))
		}
		bins, err := NewBins(t.Context(), d, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		builder, err := NewRegressor(d, bins, Config{})
		if err != nil {
			t.Fatal(err)
		}
		full, err := builder.Grow(t.Context(), nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Rows() {
			if got := full.Leaf(d.Row(i))[0]; got != d.Targets[i] {
				t.Fatalf("%s: row %d: got %v, want %v", tt.name, i, got, d.Targets[i])
			}
		}
		builder, err = NewRegressor(d, bins, Config{MaxDepth: 6})
		if err != nil {
			t.Fatal(err)
		}
		small, err := builder.Grow(t.Context(), nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		missed, all := 0.0, 0.0
		for i := range d.Rows() {
			if tt.origin(i) == tt.origin(d.Rows()-1) {
				missed += math.Pow(small.Leaf(d.Row(i))[0]-d.Targets[i], 2)
				all += math.Pow(d.Targets[i]-tt.origin(i), 2)
			}
		}
		if missed > 0.05*all {
			t.Errorf("%s: six levels leave %.3f of the squares, want 0.05 or less", tt.name, missed/all)
		}
	}
}

// TestExactColumns learns from columns that float32 cannot hold: every row must come back to its own class.
func TestExactColumns(t *testing.T) {
	for _, tt := range []struct {
		name         string
		origin, step float64
	}{{"ids", 16777216, 1}, {"Unix times", 1.7e9, 1}, {"nanoseconds", 1.7e18, 256}, {"fractions", 1, 1e-12}, {"small", 0, 1e-50}} {
		var rows [][]float64
		var labels []int
		for i := range 300 {
			rows, labels = append(rows, []float64{tt.origin + tt.step*float64(i)}), append(labels, i%2)
		}
		d, err := ml.FromRows([]string{"x"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		d.Classes, d.Labels = []string{"even", "odd"}, labels
		tr := growOne(t, d, Exact, Config{})
		sums := make([]float64, 2*d.Rows())
		tr.AddExact(sums, d.Exact)
		for i, label := range labels {
			if tr.LeafExact(d.Exact[i : i+1])[label] != 1 || sums[2*i+label] != 1 {
				t.Fatalf("%s: row %d: got %v for class %d", tt.name, i, tr.LeafExact(d.Exact[i:i+1]), label)
			}
		}
	}
	d, err := ml.FromRows([]string{"x"}, [][]float64{{0.1}, {0.2}, {0.3}})
	if err != nil {
		t.Fatal(err)
	}
	d.Classes, d.Labels = []string{"even", "odd"}, []int{0, 1, 0}
	tr := growOne(t, d, 256, Config{})
	if tr.Exact != nil {
		t.Error("a column that float32 tells apart was learned in float64")
	}
	for i, label := range d.Labels {
		if tr.LeafExact(d.Exact[i : i+1])[label] != 1 {
			t.Errorf("row %d: got %v for class %d", i, tr.LeafExact(d.Exact[i:i+1]), label)
		}
	}
}

func TestLimits(t *testing.T) {
	d := noisy(2000, 4)
	if got := growOne(t, d, 256, Config{MaxDepth: 3}).Depth(); got != 3 {
		t.Errorf("max depth 3: got depth %d", got)
	}
	tr := growOne(t, d, 256, Config{MinSamplesLeaf: 50})
	count := map[*float64]int{}
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
	full := growOne(t, d, Exact, Config{})
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
	tr := growOne(t, d, 256, Config{MaxFeatures: 1, MaxDepth: 2})
	if tr.Leaves() < 2 || tr.Nodes[0].Feature != 0 {
		t.Errorf("got %d leaves and root column %d, want a split on column 0", tr.Leaves(), tr.Nodes[0].Feature)
	}
	for i := range d.Rows() {
		clear(d.Row(i))
	}
	if got := growOne(t, d, 256, Config{}).Leaves(); got != 1 {
		t.Errorf("all columns constant: got %d leaves, want 1", got)
	}
}

// TestEqualTargetsAreALeaf weighs equal targets differently: 3 times 0.1, divided by 3, is not 0.1.
func TestEqualTargetsAreALeaf(t *testing.T) {
	for _, target := range []float64{0.1, -0.7, 1e-300, 1e9 / 7, 0} {
		d := noisy(200, 6)
		targets, draws := make([]float64, d.Rows()), make([]uint16, d.Rows())
		for i := range targets {
			targets[i], draws[i] = target, uint16(3-i%3)
		}
		d = d.WithTargets(targets)
		bins, err := NewBins(t.Context(), d, 256)
		if err != nil {
			t.Fatal(err)
		}
		builder, err := NewRegressor(d, bins, Config{})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := builder.Grow(t.Context(), draws, 1)
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
	b, _ := NewBins(t.Context(), d, 256)
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
	bins, _ := NewBins(t.Context(), good, 256)
	for _, tt := range []struct {
		name   string
		config Config
		draws  []uint16
		want   string
	}{
		{"criterion of numbers", Config{Criterion: SquaredError}, nil, "does not fit"},
		{"unknown criterion", Config{Criterion: "foo"}, nil, "not gini"},
		{"depth", Config{MaxDepth: -1}, nil, "max depth"},
		{"features", Config{MaxFeatures: 1.5}, nil, "max features"},
		{"more features than there are", Config{MaxFeatures: 3}, nil, "max features 3 of 2 columns"},
		{"no number of features", Config{MaxFeatures: math.NaN()}, nil, "max features"},
		{"negative split", Config{MinSamplesSplit: -5}, nil, "min samples split"},
		{"split of one", Config{MinSamplesSplit: 1}, nil, "min samples split"},
		{"negative leaf", Config{MinSamplesLeaf: -1}, nil, "min samples leaf"},
		{"negative decrease", Config{MinImpurityDecrease: -0.1}, nil, "min impurity decrease"},
		{"infinite decrease", Config{MinImpurityDecrease: math.Inf(1)}, nil, "min impurity decrease"},
		{"draws", Config{}, []uint16{1}, "draws of 1 rows for 50 rows"},
		{"no draw", Config{}, make([]uint16, 50), "no row has a weight"},
		{"class weights", Config{ClassWeight: []float64{1}}, nil, "1 class weights for 2 classes"},
		{"negative class weight", Config{ClassWeight: []float64{-1, 1}}, nil, "weight -1 of class 0"},
		{"class weight too large", Config{ClassWeight: []float64{1, 1e300}}, nil, "weight 1e+300 of class 1"},
		{"one leaf", Config{MaxLeafNodes: 1}, nil, "max leaf nodes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			builder, err := NewClassifier(good, bins, tt.config)
			if err == nil {
				_, err = builder.Grow(t.Context(), tt.draws, 1)
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
	if _, err := NewBins(ctx, good, 256); !errors.Is(err, context.Canceled) {
		t.Errorf("bins of a context that is done: got %v", err)
	}
	good.Values[3] = float32(math.NaN())
	if _, err := NewBins(t.Context(), good, 256); err == nil {
		t.Error("a NaN was put into a bin")
	}
	if _, err := NewClassifier(good, bins, Config{}); err == nil {
		t.Error("a NaN was accepted")
	}
	close := noisy(50, 2)
	for i := range close.Targets {
		close.Targets[i] = 1e-170 * float64(i)
	}
	if _, err := NewRegressor(close, bins, Config{}); err == nil || !strings.Contains(err.Error(), "multiply them") {
		t.Errorf("targets whose squares vanish: got %v", err)
	}
}

func TestValidateTree(t *testing.T) {
	good := func() *Tree {
		return &Tree{Columns: 1, Outputs: 1, Values: []float64{1, 2},
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
		"no number":    func(t *Tree) { t.Nodes[0].Threshold = float32(math.NaN()) },
		"infinite":     func(t *Tree) { t.Values[1] = math.Inf(1) },
		"exact":        func(t *Tree) { t.Exact = []float64{0.5} },
		"exact NaN":    func(t *Tree) { t.Exact = []float64{math.NaN(), 0, 0} },
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
	bins, _ := NewBins(b.Context(), d, 256)
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
