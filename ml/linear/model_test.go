package linear

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/modelfile"
	"cancha/ml/modelfile/modelfiletest"
)

// fitted are both regressions of the table of testdata.
func fitted(t testing.TB) (*Logistic, *Poisson, *ml.Dataset, sklearnTable) {
	t.Helper()
	d, table := readTable(t)
	l, err := FitLogistic(d, Config{Ridge: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	p, err := FitPoisson(d, nil, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return l, p, d, table
}

// TestScoresAgainstSklearn: score(x, y, sample_weight) of LogisticRegression and PoissonRegressor.
func TestScoresAgainstSklearn(t *testing.T) {
	l, p, d, table := fitted(t)
	for _, tt := range []struct {
		name  string
		model ml.Model
		want  float64
	}{{"accuracy", l, table.Accuracy}, {"D²", p, table.D2}} {
		if got, err := tt.model.Score(t.Context(), d); err != nil || math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// TestScoreRefuses what there is no score on.
func TestScoreRefuses(t *testing.T) {
	l, p, d, _ := fitted(t)
	for name, change := range map[string]func(d *ml.Dataset){
		"nothing to compare with": func(d *ml.Dataset) { d.Labels, d.Targets = nil, nil },
		"weights of 0":            func(d *ml.Dataset) { d.Weights = make([]float64, d.Rows()) },
		"weights of other rows":   func(d *ml.Dataset) { d.Weights = d.Weights[1:] },
		"other classes, counts below 0": func(d *ml.Dataset) {
			d.Classes, d.Targets = []string{"z", "y", "x"}, slices.Repeat([]float64{-1}, d.Rows())
		},
	} {
		other := *d
		change(&other)
		for _, m := range []ml.Model{l, p} {
			if _, err := m.Score(t.Context(), &other); err == nil {
				t.Errorf("%s: %T has a score", name, m)
			}
		}
	}
}

// TestRefuseMissing: a regression neither learns from missing values nor answers for them.
func TestRefuseMissing(t *testing.T) {
	l, p, d, _ := fitted(t)
	part := d.Slice(0, 50)
	holed := *part
	holed.Values, holed.Exact, holed.Missing = slices.Clone(part.Values), nil, true
	holed.Values[7] = float32(math.NaN())
	fits := []func() error{
		func() error { _, err := FitLogistic(&holed, Config{}); return err },
		func() error { _, err := FitPoisson(&holed, nil, Config{}); return err },
		func() error { _, err := l.Predict(t.Context(), &holed); return err },
		func() error { _, err := p.Predict(t.Context(), &holed); return err },
	}
	for i, f := range fits {
		if err := f(); err == nil || !strings.Contains(err.Error(), `"b" of row 2 is missing`) {
			t.Errorf("%d: got %v", i, err)
		}
	}
}

// TestPredictEndsWithContext, whatever it is of.
func TestPredictEndsWithContext(t *testing.T) {
	l, p, d, _ := fitted(t)
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := l.Predict(ctx, d); !errors.Is(err, reason) {
		t.Errorf("classes: got %v", err)
	}
	if _, err := p.Predict(ctx, d); !errors.Is(err, reason) {
		t.Errorf("counts: got %v", err)
	}
}

// TestSavedRegressionAnswersTheSame, and is not taken for the other one.
func TestSavedRegressionAnswersTheSame(t *testing.T) {
	l, p, d, _ := fitted(t)
	dir := filepath.Join(t.TempDir(), "models")
	logistic, poisson := filepath.Join(dir, "l"), filepath.Join(dir, "p")
	if err := errors.Join(l.Save(logistic), p.Save(poisson)); err != nil {
		t.Fatal(err)
	}
	l2, err := OpenLogistic(logistic)
	if err != nil {
		t.Fatal(err)
	}
	p2, err := OpenPoisson(poisson)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := l.PredictProba(t.Context(), d)
	if got, err := l2.PredictProba(t.Context(), d); err != nil || !slices.EqualFunc(got, want, slices.Equal[[]float64]) {
		t.Errorf("logistic: %v", err)
	}
	rates, _ := p.Rates(d, nil)
	if got, err := p2.Predict(t.Context(), d); err != nil || !slices.Equal(got, rates) {
		t.Errorf("poisson: %v", err)
	}
	if _, err := OpenLogistic(poisson); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("counts read as classes: got %v", err)
	}
	if _, err := OpenPoisson(logistic); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("classes read as counts: got %v", err)
	}
}

// TestLoadRefusesWhatDoesNotFit: a whole file may hold what is no regression.
func TestLoadRefusesWhatDoesNotFit(t *testing.T) {
	for name, change := range map[string]func(meta *fileMeta, intercept, coefficient *[]float64){
		"one class":           func(m *fileMeta, _, _ *[]float64) { m.Classes = m.Classes[:1] },
		"one name twice":      func(m *fileMeta, _, _ *[]float64) { m.Features = []string{"a", "a"} },
		"a missing number":    func(_ *fileMeta, _, c *[]float64) { *c = (*c)[1:] },
		"a missing intercept": func(_ *fileMeta, i, _ *[]float64) { *i = nil },
		"NaN":                 func(_ *fileMeta, _, c *[]float64) { (*c)[1] = math.NaN() },
		"infinity":            func(_ *fileMeta, i, _ *[]float64) { (*i)[0] = math.Inf(-1) },
	} {
		meta, intercept, coefficient := fileMeta{[]string{"a", "b"}, []string{"x", "y"}}, []float64{1}, []float64{2, 3}
		change(&meta, &intercept, &coefficient)
		file := &modelfile.File{}
		file.SetFloat64("r.intercept", intercept)
		file.SetFloat64("r.coefficient", coefficient)
		if err := file.SetMeta("r", meta); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadLogistic(file, "r"); !errors.Is(err, modelfile.ErrDamaged) {
			t.Errorf("%s: got %v", name, err)
		}
		meta.Classes = nil
		if err := file.SetMeta("r", meta); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadPoisson(file, "r"); name != "one class" && !errors.Is(err, modelfile.ErrDamaged) {
			t.Errorf("%s, as counts: got %v", name, err)
		}
	}
}

// FuzzOpen: a file that is opened, whatever is in it, answers.
func FuzzOpen(f *testing.F) {
	l, p, _, _ := fitted(f)
	modelfiletest.Fuzz(f, func(path string) error {
		l, err := OpenLogistic(path)
		if err == nil {
			l.ProbaTo(make([]float64, len(l.Classes)), make([]float32, len(l.Features)))
		}
		p, err2 := OpenPoisson(path)
		if err2 == nil {
			p.Rate(make([]float32, len(p.Features)), 0)
		}
		if err == nil || err2 == nil {
			return nil
		}
		return err
	}, l.Save, p.Save)
}
