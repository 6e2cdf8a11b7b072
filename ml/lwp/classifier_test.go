package lwp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/modelfile"
)

// constant gives each row the same probabilities.
type constant struct {
	features, classes []string
	p                 []float64
}

func (c constant) Columns() (features, classes []string) { return c.features, c.classes }

func (c constant) ProbasTo(dst []float64, _ []float32) {
	for i := range dst {
		dst[i] = c.p[i%3]
	}
}

func (c constant) Store(file *modelfile.File, prefix string) error {
	file.SetFloat64(prefix+".p", c.p)
	return nil
}

// TestClassifier: whatever answers for outcomes can stand in a forest's place, and rest in a file.
func TestClassifier(t *testing.T) {
	ms := loadSeason(t)
	p := []float64{0.5, 0.3, 0.2}
	m, err := FitClassifier(t.Context(), ms, "", "constant", func(_ context.Context, d *ml.Dataset) (Classifier, error) {
		return constant{d.Features, d.Classes, p}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Predict(ms).P[10]; !slices.Equal(got, p) || m.Name() != "constant, outcome" || m.Importance() != nil {
		t.Errorf("%s: got %v", m.Name(), got)
	}
	report, err := Evaluate(ms, ms, m, fit(t, ms, Outcome))
	if err != nil {
		t.Fatal(err)
	}
	if text := report.MIMEBundle()["text/plain"].(string); !strings.Contains(text, "constant, outcome") || strings.Contains(text, "best forest") {
		t.Errorf("got\n%s", text)
	}
	path := filepath.Join(t.TempDir(), "model")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	load := func(file *modelfile.File, prefix string) (Classifier, error) {
		p, err := file.Float64(prefix + ".p")
		return constant{outcomeColumns(), Classes(), p}, err
	}
	opened, err := OpenClassifier(path, "constant", load)
	if err != nil || !slices.Equal(opened.Predict(ms).P[10], p) {
		t.Errorf("opened again: %v", err)
	}
	if _, err := OpenClassifier(path, "network", load); !errors.Is(err, modelfile.ErrKind) || !strings.Contains(err.Error(), "a constant learned it") {
		t.Errorf("as another kind: got %v", err)
	}
	if _, err := Open(path); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("as a forest: got %v", err)
	}
}

// TestClassifierRefused: one of other columns, or with the classes in another order, is none of ours.
func TestClassifierRefused(t *testing.T) {
	ms, failure := loadSeason(t), errors.New("failure")
	for name, c := range map[string]struct {
		kind string
		c    constant
		err  error
		want error
	}{
		"order of classes": {"constant", constant{features: outcomeColumns(), classes: []string{"away", "draw", "home"}}, nil, modelfile.ErrDamaged},
		"columns":          {"constant", constant{features: goalColumns(), classes: Classes()}, nil, modelfile.ErrKind},
		"failure":          {"constant", constant{}, failure, failure},
		"a forest":         {"forest", constant{}, nil, nil},
		"no kind":          {"", constant{}, nil, nil},
	} {
		_, err := FitClassifier(t.Context(), ms, "", c.kind, func(context.Context, *ml.Dataset) (Classifier, error) { return c.c, c.err })
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
