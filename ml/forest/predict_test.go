package forest

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/runtime/gpu"
)

// TestUnansweredRows: a forest that learned from complete rows has no class, and no number, for a row that lacks one, and says so; nor has one
// without trees. Neither answers with the first class.
func TestUnansweredRows(t *testing.T) {
	train, test := table()
	c, r := must(FitClassifier(t.Context(), train, Config{Trees: 3})), must(FitRegressor(t.Context(), train, Config{Trees: 3}))
	test.Missing = true
	if _, err := c.Predict(t.Context(), test); err != nil {
		t.Errorf("complete rows that might lack some numbers: %v", err)
	}
	test.Values = slices.Clone(test.Values)
	test.Values[8*3+1] = float32(math.NaN())
	s := onDevice(t, gpu.Config{Device: gpu.CPU})
	placedClassifier, placedRegressor := must(c.On(s)), must(r.On(s))
	for name, ask := range map[string]func(context.Context, *ml.Dataset) error{
		"classes":              func(ctx context.Context, d *ml.Dataset) error { _, err := c.Predict(ctx, d); return err },
		"score":                func(ctx context.Context, d *ml.Dataset) error { _, err := c.Score(ctx, d); return err },
		"numbers":              func(ctx context.Context, d *ml.Dataset) error { _, err := r.Predict(ctx, d); return err },
		"classes in a session": func(ctx context.Context, d *ml.Dataset) error { _, err := placedClassifier.Predict(ctx, d); return err },
		"numbers in a session": func(ctx context.Context, d *ml.Dataset) error { _, err := placedRegressor.Predict(ctx, d); return err },
	} {
		if err := ask(t.Context(), test); err == nil || !strings.Contains(err.Error(), `feature "b" of row 3 is missing`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := new(Classifier).Predict(t.Context(), &ml.Dataset{}); err == nil || !strings.Contains(err.Error(), "without trees") {
		t.Errorf("no trees: got %v", err)
	}
}
