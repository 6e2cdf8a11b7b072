package linear

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
)

// sklearnTable is testdata/linear.json, made by testdata/linear.py.
type sklearnTable struct {
	X                [][]float64
	Exposure, Weight []float64
	Counts           []float64
	Labels           []int
	Probabilities    [][]float64
	Rates            []float64
	Accuracy, D2     float64
}

func readTable(t testing.TB) (*ml.Dataset, sklearnTable) {
	t.Helper()
	data, err := os.ReadFile("testdata/linear.json")
	if err != nil {
		t.Fatal(err)
	}
	var table sklearnTable
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	d, err := ml.FromRows([]string{"a", "b", "c"}, table.X)
	if err != nil {
		t.Fatal(err)
	}
	d.Weights, d.Targets, d.Labels, d.Classes = table.Weight, table.Counts, table.Labels, []string{"x", "y", "z"}
	return d, table
}

// TestLogisticAgainstSklearn compares probabilities of fits with hardly a penalty.
func TestLogisticAgainstSklearn(t *testing.T) {
	d, table := readTable(t)
	l, err := FitLogistic(d, Config{Ridge: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.PredictProba(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range table.Probabilities {
		for k := range want {
			if math.Abs(p[i][k]-want[k]) > 1e-4 {
				t.Fatalf("row %d: got %v, want %v", i, p[i], want)
			}
		}
	}
}

func TestPoissonAgainstSklearn(t *testing.T) {
	d, table := readTable(t)
	offset := make([]float64, d.Rows())
	for i, e := range table.Exposure {
		offset[i] = math.Log(e)
	}
	p, err := FitPoisson(d, offset, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range table.Rates {
		if got := p.Rate(d.Row(i), offset[i]); math.Abs(got-want) > 1e-5*want {
			t.Fatalf("row %d: got %v, want %v", i, got, want)
		}
	}
}

func TestMistakesAreErrors(t *testing.T) {
	d, _ := readTable(t)
	for name, fit := range map[string]func() error{
		"no labels":       func() error { _, err := FitLogistic(&ml.Dataset{}, Config{}); return err },
		"negative ridge":  func() error { _, err := FitLogistic(d, Config{Ridge: -1}); return err },
		"offsets":         func() error { _, err := FitPoisson(d, []float64{1}, Config{}); return err },
		"negative target": func() error { _, err := FitPoisson(d.WithTargets(make([]float64, 3)), nil, Config{}); return err },
		"infinite ridge":  func() error { _, err := FitLogistic(d, Config{Ridge: math.Inf(1)}); return err },
		"no offset": func() error {
			_, err := FitPoisson(d, slices.Repeat([]float64{math.NaN()}, d.Rows()), Config{})
			return err
		},
		"great offset": func() error { _, err := FitPoisson(d, slices.Repeat([]float64{1e4}, d.Rows()), Config{}); return err },
		"no weight":    func() error { _, err := FitPoisson(weightless(d), nil, Config{}); return err },
		"one step":     func() error { _, err := FitPoisson(d, nil, Config{Iterations: 1}); return err },
	} {
		if err := fit(); err == nil || !strings.Contains(err.Error(), "linear: ") {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
}

// weightless returns the dataset with rows that weigh nothing.
func weightless(d *ml.Dataset) *ml.Dataset {
	out := *d
	out.Weights = make([]float64, d.Rows())
	return &out
}

// TestPoissonOfGreatCounts fits counts far from the e⁰ that a fit without columns would begin at.
func TestPoissonOfGreatCounts(t *testing.T) {
	for _, mean := range []float64{1e-9, 1e4, 1.7e9, 1e30} {
		d := &ml.Dataset{Features: []string{"x"}}
		for i := range 100 {
			x := float32(i%10) / 10
			d.Values, d.Targets = append(d.Values, x), append(d.Targets, mean*math.Exp(float64(x)))
		}
		p, err := FitPoisson(d, nil, Config{Ridge: 1e-12 * mean})
		if err != nil {
			t.Errorf("%v: %v", mean, err)
			continue
		}
		if got, want := p.Rate([]float32{0.5}, 0), mean*math.Exp(0.5); math.Abs(got/want-1) > 1e-3 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestExactColumns fits columns that float32 cannot hold, and very small ones.
func TestExactColumns(t *testing.T) {
	for _, tt := range []struct{ origin, step float64 }{{0, 1}, {1.7e9, 1}, {0, 1e-30}, {0, 1e-200}} {
		var rows [][]float64
		var labels []int
		for i := range 100 {
			rows, labels = append(rows, []float64{tt.origin + tt.step*float64(i)}), append(labels, i/50)
		}
		d, err := ml.FromRows([]string{"x"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		d.Classes, d.Labels = []string{"early", "late"}, labels
		l, err := FitLogistic(d, Config{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.PredictProba(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		for i, label := range labels {
			if p[i][label] < 0.5 {
				t.Errorf("from %v by %v: row %d: got %v, want class %d", tt.origin, tt.step, i, p[i], label)
			}
		}
	}
}

// TestRowsAreReadAsExactlyAsLearned asks for rows that are one row in float32.
func TestRowsAreReadAsExactlyAsLearned(t *testing.T) {
	const origin = 1.7e9
	var rows [][]float64
	var labels []int
	var targets, offset []float64
	for i := range 100 {
		rows, labels = append(rows, []float64{origin + float64(i)}), append(labels, i/50)
		targets, offset = append(targets, math.Exp(float64(i)/50)), append(offset, float64(i%2))
	}
	d, err := ml.FromRows([]string{"x"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	d.Classes, d.Labels, d.Targets = []string{"early", "late"}, labels, targets
	l, err := FitLogistic(d, Config{})
	if err != nil {
		t.Fatal(err)
	}
	proba, err := l.PredictProba(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := FitPoisson(d, nil, Config{Ridge: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	rates, err := p.Rates(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	later, err := p.Rates(d, offset)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		var one [2]float64
		if l.ProbaExactTo(one[:], row); one != [2]float64(proba[i]) || one[labels[i]] < 0.5 {
			t.Errorf("row %d: probabilities %v alone, %v in the dataset, want class %d", i, one, proba[i], labels[i])
		}
		if rates[i] != p.RateExact(row, 0) || math.Abs(rates[i]/targets[i]-1) > 1e-3 {
			t.Errorf("row %d: rate %v alone, %v in the dataset, want %v", i, p.RateExact(row, 0), rates[i], targets[i])
		}
		if later[i] != p.RateExact(row, offset[i]) {
			t.Errorf("row %d: rate %v with its offset alone, %v in the dataset", i, p.RateExact(row, offset[i]), later[i])
		}
	}
	d.Exact = nil
	if rounded, err := p.Rates(d, nil); err != nil || rounded[3] != p.Rate(d.Row(3), 0) {
		t.Errorf("without exact values: got %v, %v", rounded[3], err)
	}
}

func TestRatesRefuseOtherRows(t *testing.T) {
	d := &ml.Dataset{Features: []string{"a", "b"}, Values: []float32{1, 2, 3, 4, 6, 5}, Targets: []float64{1, 2, 3}}
	p, err := FitPoisson(d, nil, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Rates(&ml.Dataset{Features: []string{"b", "a"}, Values: make([]float32, 2)}, nil); err == nil {
		t.Error("another order of features was accepted")
	}
	for name, offset := range map[string][]float64{"two of them": {0, 0}, "a NaN": {0, 0, math.NaN()}} {
		if _, err := p.Rates(d, offset); err == nil {
			t.Errorf("offsets with %s were accepted", name)
		}
	}
}

func TestProbaRefusesOtherRows(t *testing.T) {
	d, _ := readTable(t)
	l, err := FitLogistic(d, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*ml.Dataset{
		"another order": {Features: []string{"b", "a", "c"}, Values: make([]float32, 3)},
		"a NaN":         {Features: d.Features, Values: []float32{0, float32(math.NaN()), 0}},
	} {
		if _, err := l.PredictProba(t.Context(), other); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestConstantColumn must neither fail nor move the fit, whatever the value: the mean of many equal numbers need not be
// that number, and what is off must not pass for a spread.
func TestConstantColumn(t *testing.T) {
	for _, value := range []float32{7, 0.1, -12345.678, 1e9, 3e37} {
		d, _ := readTable(t)
		d.Exact = nil // of the values before
		for i := range d.Rows() {
			d.Row(i)[1] = value
		}
		p, err := FitPoisson(d, nil, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Coefficient[1] != 0 {
			t.Errorf("coefficient of a column of %v: got %v, want 0", value, p.Coefficient[1])
		}
		l, err := FitLogistic(d, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if l.Coefficient[0][1] != 0 || l.Coefficient[1][1] != 0 {
			t.Errorf("coefficients of a column of %v: got %v and %v, want 0", value, l.Coefficient[0][1], l.Coefficient[1][1])
		}
	}
}
