package forest

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"cancha/ml"
	"cancha/ml/metric"
	"cancha/ml/modelfile"
	"cancha/ml/modelfile/modelfiletest"
)

// small are two forests and the tables that they have learned from and not seen.
func small(t testing.TB) (*Classifier, *Regressor, *ml.Dataset) {
	t.Helper()
	train, test := table()
	c, err := FitClassifier(t.Context(), train, Config{Trees: 5, MaxDepth: 6})
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitRegressor(t.Context(), train, Config{Trees: 5, MaxDepth: 6})
	if err != nil {
		t.Fatal(err)
	}
	return c, r, test
}

// TestScores: accuracy and R² of what Predict answers, by the rows' weights.
func TestScores(t *testing.T) {
	c, r, test := small(t)
	weighted := *test
	for i := range test.Rows() {
		weighted.Weights = append(weighted.Weights, float64(i%3))
	}
	for _, d := range []*ml.Dataset{test, &weighted} {
		labels, err := c.Predict(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := r.Predict(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		right, all := 0.0, 0.0
		for i, label := range labels {
			all += d.Weight(i)
			if label == d.Labels[i] {
				right += d.Weight(i)
			}
		}
		if got, err := c.Score(t.Context(), d); err != nil || math.Abs(got-right/all) > 1e-12 || got < 0.5 {
			t.Errorf("accuracy: got %v, %v, want %v", got, err, right/all)
		}
		if got, err := r.Score(t.Context(), d); err != nil || got != metric.R2(numbers, d.Targets, d.Weights) || got < 0.3 {
			t.Errorf("R²: got %v, %v", got, err)
		}
	}
	weighted.Labels, weighted.Targets = nil, nil
	if _, err := c.Score(t.Context(), &weighted); err == nil {
		t.Error("an accuracy without labels")
	}
	if _, err := r.Score(t.Context(), &weighted); err == nil {
		t.Error("R² without targets")
	}
}

// TestPredictEndsWithContext: with its cause, and not later than the rows of a piece.
func TestPredictEndsWithContext(t *testing.T) {
	c, r, test := small(t)
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := c.Predict(ctx, test); !errors.Is(err, reason) {
		t.Errorf("classes: got %v", err)
	}
	if _, err := r.Predict(ctx, test); !errors.Is(err, reason) {
		t.Errorf("numbers: got %v", err)
	}
}

// TestBlocks: rows have the same answers whether they are one block or many.
func TestBlocks(t *testing.T) {
	c, _, test := small(t)
	rows := make([]int, 10*mostBlock+100)
	for i := range rows {
		rows[i] = i % test.Rows()
	}
	want, err := c.PredictProba(t.Context(), test)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.PredictProba(t.Context(), test.Select(rows))
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range rows {
		if !slices.Equal(got[i], want[k]) {
			t.Fatalf("row %d: got %v, want %v", i, got[i], want[k])
		}
	}
}

// TestSavedForestAnswersTheSame, and is not taken for the other one.
func TestSavedForestAnswersTheSame(t *testing.T) {
	c, r, test := small(t)
	dir := filepath.Join(t.TempDir(), "models")
	classes, numbers := filepath.Join(dir, "c"), filepath.Join(dir, "r")
	if err := errors.Join(c.Save(classes), r.Save(numbers)); err != nil {
		t.Fatal(err)
	}
	c2, err := OpenClassifier(classes)
	if err != nil {
		t.Fatal(err)
	}
	r2, err := OpenRegressor(numbers)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := c.PredictProba(t.Context(), test)
	if got, err := c2.PredictProba(t.Context(), test); err != nil || !slices.EqualFunc(got, want, slices.Equal[[]float64]) {
		t.Errorf("classes: %v", err)
	}
	values, _ := r.Predict(t.Context(), test)
	if got, err := r2.Predict(t.Context(), test); err != nil || !slices.Equal(got, values) {
		t.Errorf("numbers: %v", err)
	}
	if _, err := OpenClassifier(numbers); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("numbers read as classes: got %v", err)
	}
	if _, err := OpenRegressor(classes); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("classes read as numbers: got %v", err)
	}
}

// FuzzOpen: a file that is opened, whatever is in it, answers.
func FuzzOpen(f *testing.F) {
	d, err := ml.FromRows([]string{"a", "b"}, [][]float64{{1, 2}, {2, 1}, {3, 5}, {4, 0}})
	if err != nil {
		f.Fatal(err)
	}
	d.Classes, d.Labels, d.Targets = []string{"x", "y"}, []int{0, 1, 0, 1}, []float64{1, 2, 3, 4}
	c, err := FitClassifier(f.Context(), d, Config{Trees: 2})
	if err != nil {
		f.Fatal(err)
	}
	r, err := FitRegressor(f.Context(), d, Config{Trees: 2})
	if err != nil {
		f.Fatal(err)
	}
	modelfiletest.Fuzz(f, func(path string) error {
		c, err := OpenClassifier(path)
		if err == nil {
			c.ProbaTo(make([]float64, len(c.Classes)), make([]float32, len(c.Features)))
		}
		r, err2 := OpenRegressor(path)
		if err2 == nil {
			r.Value(make([]float32, len(r.Features)))
		}
		if err == nil || err2 == nil {
			return nil
		}
		return err
	}, c.Save, r.Save)
}
