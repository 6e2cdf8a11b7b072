package forest

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/tree"
)

// table is the table of testdata/forest.py, bit for bit: 6,000 rows, of which the first 4,000 are to learn from.
func table() (train, test *ml.Dataset) {
	state := uint64(12345)
	draw := func() float64 {
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>40) / (1 << 24)
	}
	d := &ml.Dataset{Features: strings.Split("a b c d e f g h", " "), Classes: []string{"first", "second", "third"}}
	for i := range 6000 {
		a := make([]float64, 8)
		for k := range a {
			v := float32(draw() + draw() + draw() + draw() - 2)
			d.Values, a[k] = append(d.Values, v), float64(v)
		}
		score := []float64{a[0] + a[1]*a[2], a[1] - a[3], a[4]*a[4] - a[0]}
		for k := range score {
			score[k] += draw() - 0.5
		}
		d.Labels = append(d.Labels, slices.Index(score, slices.Max(score)))
		d.Targets = append(d.Targets, score[0]+score[1])
		d.Groups = append(d.Groups, int64(i/10))
	}
	rows := make([]int, 6000)
	for i := range rows {
		rows[i] = i
	}
	return d.Select(rows[:4000]), d.Select(rows[4000:])
}

// TestAsGoodAsSklearn allows five standard deviations of scikit-learn's own spread over seeds, on either side.
func TestAsGoodAsSklearn(t *testing.T) {
	data, err := os.ReadFile("testdata/forest.json")
	if err != nil {
		t.Fatal(err)
	}
	type figure struct{ Mean, SD float64 }
	var want struct {
		Accuracy     figure
		LogLoss      figure `json:"log_loss"`
		SquaredError figure `json:"squared_error"`
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	train, test := table()
	c, err := FitClassifier(t.Context(), train, Config{MinSamplesLeaf: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitRegressor(t.Context(), train, Config{MinSamplesLeaf: 3, MaxFeatures: 0.5, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	accuracy, loss := judge(t, c, test)
	mse := 0.0
	values, _ := r.Predict(t.Context(), test)
	for i, v := range values {
		mse += (v - test.Targets[i]) * (v - test.Targets[i]) / float64(len(values))
	}
	for _, f := range []struct {
		name string
		got  float64
		want figure
	}{{"accuracy", accuracy, want.Accuracy}, {"log loss", loss, want.LogLoss}, {"squared error", mse, want.SquaredError}} {
		if math.Abs(f.got-f.want.Mean) > 5*f.want.SD {
			t.Errorf("%s: got %.4f, want %.4f ± %.4f", f.name, f.got, f.want.Mean, 5*f.want.SD)
		}
	}
}

// judge returns accuracy and log loss.
func judge(t *testing.T, c *Classifier, d *ml.Dataset) (accuracy, loss float64) {
	t.Helper()
	p, err := c.PredictProba(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	n := float64(len(p))
	for i, row := range p {
		if slices.Index(row, slices.Max(row)) == d.Labels[i] {
			accuracy += 1 / n
		}
		loss -= math.Log(max(row[d.Labels[i]], 1e-15)) / n
	}
	return accuracy, loss
}

// TestSameForestOnAnyNumberOfCores compares nodes, answers and importance bit for bit.
func TestSameForestOnAnyNumberOfCores(t *testing.T) {
	train, test := table()
	config := Config{Trees: 12, MaxDepth: 6, Seed: 9, Balanced: true}
	var first *Classifier
	for _, workers := range []int{1, 2, 7} {
		config.Workers = workers
		f, err := FitClassifier(t.Context(), train, config)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = f
			continue
		}
		for i, tr := range f.Trees() {
			if !slices.Equal(tr.Nodes, first.Trees()[i].Nodes) || !slices.Equal(tr.Values, first.Trees()[i].Values) {
				t.Fatalf("%d workers: tree %d differs", workers, i)
			}
		}
		if !slices.Equal(f.Importance(), first.Importance()) {
			t.Errorf("%d workers: importance differs", workers)
		}
	}
	config.Seed = 10
	other, err := FitClassifier(t.Context(), train, config)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(other.Trees()[0].Nodes, first.Trees()[0].Nodes) {
		t.Error("another seed gave the same first tree")
	}
	a, _ := first.PredictProba(t.Context(), test)
	b := make([]float64, 3)
	for i := range a {
		if first.ProbaTo(b, test.Row(i)); !slices.Equal(a[i], b) {
			t.Fatalf("row %d: batch gives %v, single row %v", i, a[i], b)
		}
	}
}

func TestSingleRowAllocatesNothing(t *testing.T) {
	train, _ := table()
	c, err := FitClassifier(t.Context(), train, Config{Trees: 5})
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitRegressor(t.Context(), train, Config{Trees: 5})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 3)
	if n := testing.AllocsPerRun(100, func() { c.ProbaTo(dst, train.Row(0)); r.Value(train.Row(0)) }); n != 0 {
		t.Errorf("got %v allocations per row, want none", n)
	}
	few := make([]float64, 3*10)
	if n := testing.AllocsPerRun(100, func() { c.ProbasTo(few, train.Values[:10*len(train.Features)]) }); n != 0 {
		t.Errorf("got %v allocations for ten rows, want none", n)
	}
}

// TestClassWeights makes one class a hundred times heavier: it must be answered more often.
func TestClassWeights(t *testing.T) {
	train, test := table()
	mean := func(c Config) float64 {
		c.Trees, c.MinSamplesLeaf = 20, 20
		f, err := FitClassifier(t.Context(), train, c)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		p, _ := f.PredictProba(t.Context(), test)
		for i := range p {
			sum += p[i][2] / float64(len(p))
		}
		return sum
	}
	plain, heavy := mean(Config{}), mean(Config{ClassWeight: map[string]float64{"third": 100}})
	if heavy < plain+0.2 {
		t.Errorf("mean probability of a heavy class: got %v, plain %v", heavy, plain)
	}
	weights := []float64{1, 1, 1}
	balance(weights, []int{0, 0, 0, 1})
	if want := []float64{4.0 / 9, 4.0 / 3, 1}; !slices.Equal(weights, want) {
		t.Errorf("balanced weights: got %v, want %v", weights, want)
	}
}

// TestBootstrapDraws checks sizes, and that groups are drawn whole.
func TestBootstrapDraws(t *testing.T) {
	train, _ := table()
	draw := func(c Config) []uint16 {
		c, err := c.normalize(true)
		if err != nil {
			t.Fatal(err)
		}
		b := newBootstrap(train, c)
		return b.draw(make([]uint16, train.Rows()), make([]uint16, b.units), 5)
	}
	sum := func(draws []uint16) (s int) {
		for _, n := range draws {
			s += int(n)
		}
		return s
	}
	if got := sum(draw(Config{})); got != 4000 {
		t.Errorf("drew %v rows, want 4000", got)
	}
	if got := sum(draw(Config{MaxSamples: 0.25})); got != 1000 {
		t.Errorf("drew %v rows, want 1000", got)
	}
	groups := draw(Config{ByGroup: true})
	for i := range groups {
		if groups[i] != groups[i/10*10] {
			t.Fatalf("row %d was drawn %v times, the first row of its group %v", i, groups[i], groups[i/10*10])
		}
	}
	if slices.Max(groups) < 2 || slices.Min(groups) > 0 {
		t.Error("groups were not drawn with replacement")
	}
	if once := draw(Config{NoBootstrap: true}); slices.Min(once) != 1 || slices.Max(once) != 1 {
		t.Error("without bootstrap not every row is there once")
	}
}

func TestMistakesAreErrors(t *testing.T) {
	train, test := table()
	for _, tt := range []struct {
		name   string
		config Config
		want   string
	}{
		{"trees", Config{Trees: -1}, "-1 trees"},
		{"samples", Config{MaxSamples: 2}, "max samples"},
		{"both weights", Config{Balanced: true, ClassWeight: map[string]float64{"first": 1}}, "exclude"},
		{"unknown class", Config{ClassWeight: map[string]float64{"fourth": 1}}, `"fourth"`},
		{"no bootstrap by group", Config{NoBootstrap: true, ByGroup: true}, "without bootstrap"},
		{"tree's own", Config{MaxDepth: -1}, "max depth"},
		{"criterion", Config{Criterion: tree.SquaredError}, "does not fit"},
		{"too many trees", Config{Trees: 1 << 50}, "between 1 and 1000000"},
		{"more features than there are", Config{MaxFeatures: 50}, "max features 50 of 8 columns"},
		{"negative split", Config{MinSamplesSplit: -5}, "min samples split"},
		{"negative leaf", Config{MinSamplesLeaf: -5}, "min samples leaf"},
		{"infinite class weight", Config{ClassWeight: map[string]float64{"first": math.Inf(1)}}, "class weight +Inf"},
		{"great class weight", Config{ClassWeight: map[string]float64{"first": 1e200}}, "class weight 1e+200"},
		{"NaN class weight", Config{ClassWeight: map[string]float64{"first": math.NaN()}}, "class weight NaN"},
	} {
		if _, err := FitClassifier(t.Context(), train, tt.config); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	if _, err := FitRegressor(t.Context(), train, Config{Balanced: true}); err == nil {
		t.Error("a regression with class weights was accepted")
	}
	unlabelled := *train
	unlabelled.Labels = nil
	for _, c := range []Config{{}, {Balanced: true}, {ClassWeight: map[string]float64{"first": 2}}} {
		if _, err := FitClassifier(t.Context(), &unlabelled, c); err == nil || !strings.Contains(err.Error(), "no labels") {
			t.Errorf("rows without labels: got %v", err)
		}
	}
	alone := *train
	alone.Groups = nil
	if _, err := FitClassifier(t.Context(), &alone, Config{ByGroup: true}); err == nil || !strings.Contains(err.Error(), "names none") {
		t.Errorf("groups that there are not: got %v", err)
	}
	heavy := *train
	heavy.Weights = slices.Repeat([]float64{1e50}, train.Rows())
	if _, err := FitClassifier(t.Context(), &heavy, Config{ClassWeight: map[string]float64{"first": 1e50}}); err == nil || !strings.Contains(err.Error(), "together") {
		t.Errorf("weights whose product is too great: got %v", err)
	}
	if _, err := FitClassifier(t.Context(), &ml.Dataset{}, Config{}); err == nil {
		t.Error("an empty dataset was accepted")
	}
	f, err := FitClassifier(t.Context(), train, Config{Trees: 1})
	if err != nil {
		t.Fatal(err)
	}
	narrow := &ml.Dataset{Features: test.Features[:4], Values: test.Values[:8]}
	if _, err := f.PredictProba(t.Context(), narrow); err == nil {
		t.Error("rows of four columns were accepted by a forest of eight")
	}
	swapped := *test
	swapped.Features = slices.Clone(test.Features)
	swapped.Features[0], swapped.Features[1] = swapped.Features[1], swapped.Features[0]
	if _, err := f.PredictProba(t.Context(), &swapped); err == nil || !strings.Contains(err.Error(), `column 0 is "b"`) {
		t.Errorf("columns in another order: got %v", err)
	}
}

// TestNoAnswerForNoNumber gives rows that Fit refuses: a dataset is refused too, and a row on its own answers NaN and
// leaves the rows beside it alone.
func TestNoAnswerForNoNumber(t *testing.T) {
	train, test := table()
	c, err := FitClassifier(t.Context(), train, Config{Trees: 3})
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitRegressor(t.Context(), train, Config{Trees: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		d := test.Select([]int{0, 1, 2})
		d.Row(1)[3] = float32(v)
		if _, err := c.PredictProba(t.Context(), d); err == nil || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("%v: PredictProba: got %v", v, err)
		}
		if _, err := r.Predict(t.Context(), d); err == nil || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("%v: Predict: got %v", v, err)
		}
		one, three, values := make([]float64, 3), make([]float64, 9), make([]float64, 3)
		c.ProbaTo(one, d.Row(1))
		c.ProbasTo(three, d.Values)
		r.ValuesTo(values, d.Values)
		for _, got := range append(one, three[3], three[4], three[5], r.Value(d.Row(1)), values[1]) {
			if !math.IsNaN(got) {
				t.Errorf("%v: got %v, want NaN", v, got)
			}
		}
		if c.ProbaTo(one, d.Row(2)); !slices.Equal(one, three[6:]) || values[2] != r.Value(d.Row(2)) {
			t.Errorf("%v: the row beside it changed", v)
		}
	}
}

// TestLargeTargets learns times of day as Unix times.
func TestLargeTargets(t *testing.T) {
	train, test := table()
	shift := func(d *ml.Dataset, by float64) *ml.Dataset {
		targets := slices.Clone(d.Targets)
		for i := range targets {
			targets[i] += by
		}
		return d.WithTargets(targets)
	}
	squares := func(by float64) float64 {
		f, err := FitRegressor(t.Context(), shift(train, by), Config{Trees: 20, MinSamplesLeaf: 3, MaxFeatures: 0.5, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		missed, all, later := 0.0, 0.0, shift(test, by)
		mean := 0.0
		for _, y := range later.Targets {
			mean += y / float64(later.Rows())
		}
		values, err := f.Predict(t.Context(), later)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			missed += (v - later.Targets[i]) * (v - later.Targets[i])
			all += (later.Targets[i] - mean) * (later.Targets[i] - mean)
		}
		return 1 - missed/all
	}
	near, far := squares(0), squares(1.7e9)
	if math.Abs(near-far) > 1e-3 {
		t.Errorf("R²: got %.4f at Unix times, want %.4f as near 0", far, near)
	}
}

// TestExactRows learns whether an id beyond float32 is odd: no two of them may become one.
func TestExactRows(t *testing.T) {
	var rows [][]float64
	d := &ml.Dataset{Classes: []string{"even", "odd"}}
	for i := range 200 {
		rows = append(rows, []float64{16777216 + float64(i), 0.1})
		d.Labels, d.Targets = append(d.Labels, i%2), append(d.Targets, float64(i%2))
	}
	numbers, err := ml.FromRows([]string{"id", "share"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	d.Features, d.Values, d.Exact = numbers.Features, numbers.Values, numbers.Exact
	c, err := FitClassifier(t.Context(), d, Config{Trees: 5, NoBootstrap: true, MaxFeatures: All})
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitRegressor(t.Context(), d, Config{Trees: 5, NoBootstrap: true})
	if err != nil {
		t.Fatal(err)
	}
	c, r = stow(t, c, r)
	p, err := c.PredictProba(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Predict(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for i, label := range d.Labels {
		if p[i][label] != 1 || v[i] != float64(label) {
			t.Fatalf("row %d: got %v and %v, want class %d", i, p[i], v[i], label)
		}
	}
}

func TestCancelAndProgress(t *testing.T) {
	train, _ := table()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []int
	_, err := FitClassifier(ctx, train, Config{Trees: 200, Progress: func(done, total int) {
		seen = append(seen, done)
		if done == 3 {
			cancel()
		}
	}})
	if err == nil {
		t.Fatal("a cancelled fit gave a forest")
	}
	if len(seen) < 3 || len(seen) > 20 || seen[0] != 1 || seen[1] != 2 {
		t.Errorf("progress: got %v, want 1 2 3 and little more", seen)
	}
}

func BenchmarkProbaRow(b *testing.B) {
	train, test := table()
	f, err := FitClassifier(b.Context(), train, Config{MaxDepth: 12})
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]float64, 3)
	for i := 0; b.Loop(); i++ {
		f.ProbaTo(dst, test.Row(i%test.Rows()))
	}
}

func BenchmarkProbaBatch(b *testing.B) {
	train, test := table()
	f, err := FitClassifier(b.Context(), train, Config{MaxDepth: 12})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := f.PredictProba(b.Context(), test); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(test.Rows())/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkFit(b *testing.B) {
	train, _ := table()
	for b.Loop() {
		if _, err := FitClassifier(b.Context(), train, Config{MaxDepth: 12, Trees: 20}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFitRegressor(b *testing.B) {
	train, _ := table()
	for b.Loop() {
		if _, err := FitRegressor(b.Context(), train, Config{MaxDepth: 12, Trees: 20}); err != nil {
			b.Fatal(err)
		}
	}
}
