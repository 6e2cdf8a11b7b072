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
}

func readTable(t *testing.T) (*ml.Dataset, sklearnTable) {
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
	p, err := l.Proba(d)
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
		p, err := l.Proba(d)
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
		if _, err := l.Proba(other); err == nil {
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
