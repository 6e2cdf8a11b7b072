package forest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cancha/internal/cellio"
	"cancha/ml"
)

// far is a Trainer that grows here, and notes what it was given.
type far struct{ given []Config }

func (f *far) FitClassifier(ctx context.Context, d *ml.Dataset, c Config) (*Classifier, error) {
	f.given = append(f.given, c)
	if c.OOB {
		return nil, errors.New("far: no OOB")
	}
	return FitClassifier(ctx, d, c)
}

func (f *far) FitRegressor(ctx context.Context, d *ml.Dataset, c Config) (*Regressor, error) {
	f.given = append(f.given, c)
	return FitRegressor(ctx, d, c)
}

func (*far) String() string { return "Spark at sc://far:15002" }

// corners has two columns of which the first decides.
func corners(t *testing.T) *ml.Dataset {
	t.Helper()
	d, err := ml.FromRows([]string{"x", "y"}, [][]float64{{0, 1}, {0, 2}, {1, 1}, {1, 2}, {0, 3}, {1, 3}})
	if err != nil {
		t.Fatal(err)
	}
	d.Classes, d.Labels, d.Targets = []string{"no", "yes"}, []int{0, 0, 1, 1, 0, 1}, []float64{0, 0, 5, 5, 0, 5}
	return d
}

// TestTrainer: a Config with a Trainer goes there with its settings as they are, once data and settings make sense here, and each fold of a
// cross-validation does.
func TestTrainer(t *testing.T) {
	d, f := corners(t), &far{}
	c := Config{Trees: 3, Seed: 1, Trainer: f}
	if _, err := FitClassifier(t.Context(), d, c); err != nil {
		t.Fatal(err)
	}
	if _, err := FitRegressor(t.Context(), d, c); err != nil {
		t.Fatal(err)
	}
	if len(f.given) != 2 || f.given[0].Trees != 3 || f.given[0].Workers != 0 || f.given[0].Trainer != nil {
		t.Errorf("it was given %+v", f.given)
	}
	folds, err := ml.StratifiedKFold(d, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := ml.CrossValidate(t.Context(), d, folds, func(ctx context.Context, train *ml.Dataset) (ml.Model, error) { return FitClassifier(ctx, train, c) })
	if err != nil || len(f.given) != 5 || len(scores.FitTime) != 3 {
		t.Errorf("cross-validation: %v, %v; %d fits there, want 3 of 5", scores, err, len(f.given))
	}
	if _, err := FitClassifier(t.Context(), d, Config{MaxSamples: 2, Trainer: f}); err == nil || len(f.given) != 5 {
		t.Errorf("settings that make no sense: %v, %d fits", err, len(f.given))
	}
	if _, err := FitClassifier(t.Context(), d, Config{OOB: true, Trainer: f}); err == nil || !strings.Contains(err.Error(), "forest: far: no OOB") {
		t.Errorf("what it refuses: %v", err)
	}
	here, err := FitClassifier(t.Context(), d, Config{Trees: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := here.Extend(t.Context(), d, c); err == nil || !strings.Contains(err.Error(), "extends none") {
		t.Errorf("extended: %v", err)
	}
}

// TestOn: a master is this process, or is reached by what the engine builds in.
func TestOn(t *testing.T) {
	for _, here := range []string{"", "local[*]", "local[2]"} {
		if f, err := On(t.Context(), here); f != nil || err != nil {
			t.Errorf("%q: %v, %v, want nil", here, f, err)
		}
	}
	for text, want := range map[string]string{"spark://host:7077": "write sc://HOST", "sc://host/;token=s3cret": "only a notebook builds in"} {
		if _, err := On(t.Context(), text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v, want %q in it, and no secret", text, err, want)
		}
	}
	t.Cleanup(func() { cellio.OnRoom(nil) })
	var asked string
	var room any = func(_ context.Context, master string) (Trainer, error) { asked = master; return &far{}, nil }
	var failed error
	cellio.OnRoom(func(_ context.Context, path, name string) (any, error) {
		if path != "cancha/spark" || name != "Trainer" {
			t.Errorf("%s.%s was opened", path, name)
		}
		return room, failed
	})
	if f, err := On(t.Context(), "sc://host/;token=s3cret"); f == nil || err != nil || asked != "sc://host/;token=s3cret" {
		t.Errorf("%v, %v, asked for %q", f, err, asked)
	}
	room = 7
	if _, err := On(t.Context(), "sc://host"); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("a room of another kind: %v", err)
	}
	failed = errors.New("no toolchain")
	if _, err := On(t.Context(), "sc://host/;token=s3cret"); err == nil || !strings.Contains(err.Error(), `no toolchain; On(ctx, "local[*]")`) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a room that cannot be built: %v", err)
	}
}
