package nn

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cancha/ml/modelfile/modelfiletest"
)

// TestModel: classes are the most probable ones, the score is their accuracy, in as many pieces as there are.
func TestModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	n, d := untrained(r, shape{3, 4, 3}), table(r, pieceRows+10, 3, 3)
	d.Classes, d.Weights = n.Classes, make([]float64, d.Rows())
	right, p := 0.0, make([]float64, 3)
	predicted := must(n.Predict(t.Context(), d))
	for i, class := range predicted {
		n.ProbaTo(p, d.Row(i))
		for k := range p {
			if p[k] > p[class] {
				t.Fatalf("row %d: class %d, though the probabilities are %v", i, class, p)
			}
		}
		if i%2 == 0 {
			if d.Weights[i] = 2; class == d.Labels[i] {
				right += 2 / float64(d.Rows())
			}
		}
	}
	if got := must(n.Score(t.Context(), d)); math.Abs(got-right) > 1e-9 {
		t.Errorf("score: got %v, want %v", got, right)
	}
}

// TestModelRefuses missing values, labels of other classes, and to go on when its context is done.
func TestModelRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	n, d := untrained(r, shape{2, 3, 2}), table(r, 5, 2, 2)
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := n.Predict(ctx, d); !errors.Is(err, reason) {
		t.Errorf("context: got %v", err)
	}
	d.Classes = []string{d.Classes[1], d.Classes[0]}
	if _, err := n.Score(t.Context(), d); err == nil || !strings.Contains(err.Error(), "the model learned") {
		t.Errorf("other classes: got %v", err)
	}
	d.Missing, d.Values[3] = true, float32(math.NaN())
	if _, err := n.Predict(t.Context(), d); err == nil || !strings.Contains(err.Error(), "of row 1 is missing") {
		t.Errorf("missing: got %v", err)
	}
	if _, err := Fit(t.Context(), d, Config{Hidden: 2, Epochs: 1}); err == nil || !strings.Contains(err.Error(), "of row 1 is missing") {
		t.Errorf("fit of missing values: got %v", err)
	}
}

// FuzzOpen: a file that is opened, whatever is in it, answers.
func FuzzOpen(f *testing.F) {
	n := untrained(rand.New(rand.NewPCG(1, 2)), shape{2, 3, 2})
	modelfiletest.Fuzz(f, func(path string) error {
		n, err := Open(path)
		if err == nil {
			n.ProbaTo(make([]float64, len(n.Classes)), make([]float32, len(n.Features)))
		}
		return err
	}, n.Save)
}
