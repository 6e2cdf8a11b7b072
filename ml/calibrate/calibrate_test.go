package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/linear"
	"cancha/ml/metric"
	"cancha/ml/modelfile"
	"cancha/ml/modelfile/modelfiletest"
)

// columns is a classifier whose probabilities are the columns of the table.
type columns struct{ ml.Classifier }

func (columns) PredictProba(_ context.Context, d *ml.Dataset) ([][]float64, error) {
	p := make([][]float64, d.Rows())
	for i := range p {
		for k := range d.Features {
			p[i] = append(p[i], d.At(i, k))
		}
	}
	return p, nil
}

func asColumns(context.Context, *ml.Dataset) (ml.Model, error) { return columns{}, nil }

// TestAgainstSklearn compares with testdata/calibrated.json, which testdata/calibrated.py wrote with scikit-learn 1.9.1. Its solver stops at a slope of 1e-6.
func TestAgainstSklearn(t *testing.T) {
	text, err := os.ReadFile("testdata/calibrated.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		K      int
		Tables []struct {
			P, Later [][]float64
			Labels   []int
			Weights  []float64
			Cases    []struct {
				Method                   Method
				Single, Weighted, Frozen bool
				Proba                    [][]float64
			}
		}
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, table := range want.Tables {
		names := []string{"x", "y", "z"}[:len(table.P[0])]
		d := must(ml.FromRows(names, table.P))
		d.Labels, d.Classes = table.Labels, names
		later := must(ml.FromRows(names, table.Later))
		folds := must(ml.KFold(d, want.K, 0))
		for _, c := range table.Cases {
			if d.Weights = nil; c.Weighted {
				d.Weights = table.Weights
			}
			var f *Classifier
			if c.Frozen {
				f, err = FitOn(t.Context(), columns{}, d, Config{Method: c.Method})
			} else {
				f, err = Fit(t.Context(), d, folds, asColumns, Config{Method: c.Method, Single: c.Single})
			}
			if err != nil {
				t.Fatal(err)
			}
			got := must(f.PredictProba(t.Context(), later))
			for i, row := range c.Proba {
				for k, v := range row {
					if !(math.Abs(got[i][k]-v) < tolerance(c.Method)) {
						t.Fatalf("%d classes, %s, single %v, weighted %v, frozen %v, row %d: got %v, want %v", len(names), c.Method, c.Single, c.Weighted, c.Frozen, i, got[i], row)
					}
				}
			}
			cases++
		}
	}
	if cases != 30 {
		t.Errorf("%d cases", cases)
	}
}

func tolerance(m Method) float64 {
	if m == Isotonic {
		return 1e-12
	}
	return 1e-6
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// matches is a table of groups of rows with one label each, which a forest learns by heart.
func matches(n int) *ml.Dataset {
	r := rand.New(rand.NewPCG(5, 6))
	var rows [][]float64
	d := &ml.Dataset{}
	for match := range n {
		strength := r.NormFloat64()
		label := 0
		if strength+1.5*r.NormFloat64() > 0 {
			label = 1
		}
		for range 5 {
			rows = append(rows, []float64{strength + 0.1*r.NormFloat64(), r.NormFloat64()})
			d.Labels, d.Groups = append(d.Labels, label), append(d.Groups, int64(match))
		}
	}
	table := must(ml.FromRows([]string{"strength", "noise"}, rows))
	table.Labels, table.Groups, table.Classes = d.Labels, d.Groups, []string{"lost", "won"}
	return table
}

func forests(ctx context.Context, train *ml.Dataset) (ml.Model, error) {
	return forest.FitClassifier(ctx, train, forest.Config{Trees: 15, Seed: 1})
}

func logistic(_ context.Context, train *ml.Dataset) (ml.Model, error) {
	return linear.FitLogistic(train, linear.Config{})
}

// TestCalibratesForests: folds by match bring the log loss and the calibration error of a forest on unseen matches down, by every method.
func TestCalibratesForests(t *testing.T) {
	all := matches(400)
	split := must(ml.GroupSplit(all, 0.5, 3))
	train, test := all.Select(split.Train), all.Select(split.Test)
	plain := must(must(forests(t.Context(), train)).(ml.Classifier).PredictProba(t.Context(), test))
	folds := must(ml.StratifiedKFold(train, 4, 1))
	for _, method := range []Method{Sigmoid, Isotonic, Temperature} {
		for _, single := range []bool{false, true} {
			f := must(Fit(t.Context(), train, folds, forests, Config{Method: method, Single: single}))
			p := must(f.PredictProba(t.Context(), test))
			if got, was := metric.LogLoss(p, test.Labels), metric.LogLoss(plain, test.Labels); got > 0.8*was {
				t.Errorf("%s, single %v: log loss %.3f, without calibration %.3f", method, single, got, was)
			}
			if got, was := metric.ECE(p, test.Labels, 10), metric.ECE(plain, test.Labels, 10); got > 0.8*was {
				t.Errorf("%s, single %v: calibration error %.3f, without calibration %.3f", method, single, got, was)
			}
			if score := must(f.Score(t.Context(), test)); score < 0.55 {
				t.Errorf("%s: accuracy %v", method, score)
			}
		}
	}
}

// TestSavedAnswersTheSame, with forests, regressions, or models that bring what loads them.
func TestSavedAnswersTheSame(t *testing.T) {
	d := matches(40)
	folds := must(ml.StratifiedKFold(d, 3, 1))
	path := filepath.Join(t.TempDir(), "models", "calibrated")
	for _, tt := range []struct {
		learn  ml.Learner
		config Config
	}{{forests, Config{}}, {forests, Config{Method: Isotonic, Single: true}}, {logistic, Config{Method: Temperature}}} {
		f := must(Fit(t.Context(), d, folds, tt.learn, tt.config))
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
		got := must(Open(path))
		if !slices.EqualFunc(must(got.PredictProba(t.Context(), d)), must(f.PredictProba(t.Context(), d)), slices.Equal[[]float64]) || got.Method != f.Method {
			t.Errorf("%+v: another answer", tt.config)
		}
	}
	mixed := must(Fit(t.Context(), d, folds, func(ctx context.Context, d *ml.Dataset) (ml.Model, error) {
		m, err := logistic(ctx, d)
		return stored{m.(*linear.Logistic)}, err
	}, Config{}))
	if err := mixed.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, modelfile.ErrKind) || !strings.Contains(err.Error(), "OpenWith") {
		t.Errorf("another kind: got %v", err)
	}
	got := must(OpenWith(path, func(file *modelfile.File, prefix string) (ml.Classifier, error) {
		m, err := linear.LoadLogistic(file, prefix)
		return stored{m}, err
	}))
	if !slices.EqualFunc(must(got.PredictProba(t.Context(), d)), must(mixed.PredictProba(t.Context(), d)), slices.Equal[[]float64]) {
		t.Error("models of another kind: another answer")
	}
	table := must(ml.FromRows([]string{"a", "b"}, [][]float64{{0.5, 0.5}, {0.2, 0.8}}))
	table.Labels, table.Classes = []int{0, 1}, []string{"a", "b"}
	if err := must(FitOn(t.Context(), columns{}, table, Config{})).Save(path); err == nil || !strings.Contains(err.Error(), "has no method Store") {
		t.Errorf("a model that cannot be stored: got %v", err)
	}
}

// stored is a model of another kind.
type stored struct{ *linear.Logistic }

// TestRefuses what there is nothing to learn from.
func TestRefuses(t *testing.T) {
	d := matches(20)
	folds := must(ml.StratifiedKFold(d, 2, 1))
	unlabelled, oneClass, sorted := *d, *d, *d
	unlabelled.Labels = nil
	oneClass.Classes, oneClass.Labels = []string{"lost"}, make([]int, d.Rows())
	sorted.Groups, sorted.Labels = nil, slices.Sorted(slices.Values(d.Labels))
	for _, tt := range []struct {
		name  string
		d     *ml.Dataset
		folds []ml.Split
		learn ml.Learner
		c     Config
		want  string
	}{
		{"no such method", d, folds, forests, Config{Method: "spline"}, `no method "spline"`},
		{"no labels", &unlabelled, folds, forests, Config{}, "no labels"},
		{"one class", &oneClass, folds, forests, Config{}, "1 classes"},
		{"a fold of one class", &sorted, must(ml.KFold(&sorted, 4, 0)), forests, Config{}, `fold 1 of 4: calibration: no row of class "won"`},
		{"a regressor", d, folds, func(context.Context, *ml.Dataset) (ml.Model, error) { return nil, nil }, Config{}, "no probabilities"},
		{"a regressor, single", d, folds, func(context.Context, *ml.Dataset) (ml.Model, error) { return nil, nil }, Config{Single: true}, "no probabilities"},
		{"no folds", d, nil, forests, Config{}, "no folds"},
		{"a model of other classes", d, folds, func(ctx context.Context, d *ml.Dataset) (ml.Model, error) {
			three := *d
			three.Classes = []string{"lost", "won", "drawn"}
			return forests(ctx, &three)
		}, Config{}, "the model has 3 classes"},
	} {
		f, err := Fit(t.Context(), tt.d, tt.folds, tt.learn, tt.c)
		if err == nil || !strings.Contains(err.Error(), tt.want) || f != nil {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

// TestCurves at their ends, and where nothing can be told apart.
func TestCurves(t *testing.T) {
	s := sample{[]float64{0.3, 0.3, 0.3}, []bool{true, false, false}, []float64{1, 1, 1}}
	flat, err := s.sigmoid()
	if err != nil || math.Abs(flat.at(Sigmoid, 0.3)-7.0/18) > 0.05 {
		t.Errorf("equal probabilities: got %v, %v", flat, err)
	}
	c := s.isotonic()
	for _, p := range []float64{0, 0.3, 1} {
		if got := c.at(Isotonic, p); got != 1.0/3 {
			t.Errorf("isotonic at %v: got %v", p, got)
		}
	}
	apart := sample{[]float64{0, 0, 1, 1}, []bool{false, false, true, true}, []float64{1, 1, 1, 1}}
	if c, err := apart.sigmoid(); err != nil || math.Abs(c.at(Sigmoid, 1)-0.75) > 1e-6 { // Platt's smoothed outcome (2+1)/(2+2)
		t.Errorf("told apart: got %v, %v", c, err)
	}
	if got := apart.isotonic().at(Isotonic, 0.25); got != 0.25 {
		t.Errorf("between the points: got %v", got)
	}
	if got := c.at(Isotonic, math.NaN()); !math.IsNaN(got) {
		t.Errorf("NaN: got %v", got)
	}
}

// TestLoadRefusesWhatDoesNotFit: a whole file may hold what is no classifier.
func TestLoadRefusesWhatDoesNotFit(t *testing.T) {
	d := matches(20)
	m := must(logistic(t.Context(), d)).(*linear.Logistic)
	for name, change := range map[string]func(meta *fileMeta, points *[]int32, x, y *[]float64){
		"as it was":     func(*fileMeta, *[]int32, *[]float64, *[]float64) {},
		"no method":     func(m *fileMeta, _ *[]int32, _, _ *[]float64) { m.Method = "" },
		"one class":     func(m *fileMeta, _ *[]int32, _, _ *[]float64) { m.Classes = m.Classes[:1] },
		"other classes": func(m *fileMeta, _ *[]int32, _, _ *[]float64) { m.Classes = []string{"won", "lost"} },
		"no models":     func(m *fileMeta, _ *[]int32, _, _ *[]float64) { m.Models = 0 },
		"many models":   func(m *fileMeta, _ *[]int32, _, _ *[]float64) { m.Models = math.MaxInt },
		"no curve":      func(_ *fileMeta, p *[]int32, x, y *[]float64) { *p, *x, *y = nil, nil, nil },
		"no points":     func(_ *fileMeta, p *[]int32, _, _ *[]float64) { *p = []int32{0} },
		"fewer points":  func(_ *fileMeta, p *[]int32, _, _ *[]float64) { *p = []int32{1} },
		"more points":   func(_ *fileMeta, p *[]int32, _, _ *[]float64) { *p = []int32{3} },
		"negative":      func(_ *fileMeta, p *[]int32, _, _ *[]float64) { *p = []int32{-1} },
		"falling":       func(_ *fileMeta, _ *[]int32, _, y *[]float64) { *y = []float64{0.5, 0.25} },
		"above 1":       func(_ *fileMeta, _ *[]int32, _, y *[]float64) { *y = []float64{0.5, 1.25} },
		"standing":      func(_ *fileMeta, _ *[]int32, x, _ *[]float64) { *x = []float64{0.5, 0.5} },
		"NaN":           func(_ *fileMeta, _ *[]int32, x, _ *[]float64) { (*x)[0] = math.NaN() },
		"a power of 2":  func(m *fileMeta, _ *[]int32, _, _ *[]float64) { m.Method = Temperature },
	} {
		meta := fileMeta{d.Features, d.Classes, Isotonic, logisticKind, 1}
		points, x, y := []int32{2}, []float64{0, 1}, []float64{0.25, 0.5}
		change(&meta, &points, &x, &y)
		file := &modelfile.File{Kind: fileKind, Version: fileVersion}
		file.SetInt32(filePrefix+".points", points)
		file.SetFloat64(filePrefix+".x", x)
		file.SetFloat64(filePrefix+".y", y)
		if err := errors.Join(file.SetMeta(filePrefix, meta), m.Store(file, modelPrefix+"0")); err != nil {
			t.Fatal(err)
		}
		switch f, err := read(file, nil); {
		case name == "as it was" && err != nil:
			t.Error(err)
		case name != "as it was" && (!errors.Is(err, modelfile.ErrDamaged) || f != nil):
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzOpen: a file that is opened, whatever is in it, answers.
func FuzzOpen(f *testing.F) {
	d := matches(10)
	folds := must(ml.StratifiedKFold(d, 2, 1))
	var seeds []func(string) error
	for _, c := range []Config{{Method: Isotonic}, {Method: Sigmoid, Single: true}, {Method: Temperature}} {
		seeds = append(seeds, must(Fit(f.Context(), d, folds, logistic, c)).Save)
	}
	modelfiletest.Fuzz(f, func(path string) error {
		c, err := Open(path)
		if err == nil {
			_, err = c.PredictProba(context.Background(), &ml.Dataset{Features: c.Features, Values: make([]float32, 2*len(c.Features))})
		}
		return err
	}, seeds...)
}
