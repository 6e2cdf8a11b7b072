package lwp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha/ml/forest"
)

func learner(name string, c Config) Learner {
	c.Name = name
	return Learner{Name: name, Fit: func(ctx context.Context, train *Matches) (*Model, error) { return Fit(ctx, train, c) }}
}

// TestChoose: the learner with the least loss on later training matches is chosen, and nothing of the matches behind them is seen.
func TestChoose(t *testing.T) {
	train := simulated(t, 5, 120)
	stump := Config{Target: Outcome, Forest: forest.Config{Trees: 1, MaxDepth: 1, Seed: 1}}
	var last []string
	spy := Learner{Name: "spy", Fit: func(ctx context.Context, ms *Matches) (*Model, error) {
		last = append(last, ms.Matches[len(ms.Matches)-1].Date)
		return Fit(ctx, ms, stump)
	}}
	c, err := Choose(t.Context(), train, learner("stump", stump), learner("regression", Config{Target: Regression}), spy)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "regression" || len(c.Tried) != 3 || c.Tried[1].Difference.Mean != 0 || c.Tried[0].Difference.Mean <= 0 || c.Tried[0].LogLoss <= c.Tried[1].LogLoss {
		t.Errorf("got %+v", c)
	}
	if len(last) != 4 || !slices.IsSorted(last) || last[3] >= train.Matches[len(train.Matches)-1].Date {
		t.Errorf("fitted up to %q of %s", last, train.Matches[len(train.Matches)-1].Date)
	}
	if text := c.MIMEBundle()["text/plain"].(string); !strings.Contains(text, "Chosen by the least log loss: regression.") {
		t.Errorf("got\n%s", text)
	}
}

func TestChooseAmongFew(t *testing.T) {
	train := simulated(t, 5, 20)
	c, err := Choose(t.Context(), train, learner("first", Config{}), learner("second", Config{}))
	if err != nil || c.Name != "first" || !strings.Contains(c.MIMEBundle()["text/plain"].(string), "Not tried: 20 training matches are too few, 40 would do") {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := Choose(t.Context(), train); err == nil {
		t.Error("chosen among none")
	}
	fault := errors.New("no luck")
	bad := Learner{Name: "bad", Fit: func(context.Context, *Matches) (*Model, error) { return nil, fault }}
	if _, err := Choose(t.Context(), simulated(t, 5, 60), bad); !errors.Is(err, fault) || !strings.Contains(err.Error(), "try bad on part 5 of 8") {
		t.Errorf("got %v", err)
	}
}

// TestRegression: each regression is the baseline of that name, and comes back from its file.
func TestRegression(t *testing.T) {
	for _, test := range []struct {
		target Target
		name   string
		fit    func(*Matches) (*Poisson, error)
	}{{Regression, "Poisson + xG + ratings", FitRatedPoisson}, {Published, "Poisson + xG", FitPoisson}} {
		t.Run(string(test.target), func(t *testing.T) {
			ms := loadSeason(t)
			m := fitForest(t, ms, Config{Target: test.target})
			baseline, err := test.fit(ms)
			if err != nil {
				t.Fatal(err)
			}
			for _, model := range []*Model{m, saved(t, m)} {
				if model.Name() != test.name || model.Importance() != nil || model.Info.Trees != 0 || model.Info.Target != test.target {
					t.Errorf("got %+v", model.Info)
				}
				if text := model.MIMEBundle()["text/plain"].(string); !strings.Contains(text, "Poisson regression") {
					t.Errorf("got\n%s", text)
				}
				got, want := model.Predict(ms), baseline.Predict(ms)
				for i := range want.P {
					if !slices.Equal(got.P[i], want.P[i]) {
						t.Fatalf("row %d: got %v, want %v", i, got.P[i], want.P[i])
					}
				}
			}
			if _, err := FitBand(t.Context(), ms, m, BandConfig{Refits: 10}); err != nil {
				t.Error(err)
			}
		})
	}
}

// saved is a model as it comes back from its file.
func saved(t *testing.T, m *Model) *Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// TestBaselineIsChosen: what others compare with can be chosen, judged and saved as any other model.
func TestBaselineIsChosen(t *testing.T) {
	train, later := simulated(t, 5, 60), simulated(t, 6, 30)
	stump := Config{Target: Outcome, Forest: forest.Config{Trees: 1, MaxDepth: 1}}
	choice, err := Choose(t.Context(), train, learner("stump", stump), learner("Poisson + xG", Config{Target: Published}))
	if err != nil || choice.Name != "Poisson + xG" {
		t.Fatalf("got %+v, %v", choice, err)
	}
	m := fitForest(t, train, Config{Target: Published})
	report, err := Evaluate(train, later, m)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(report.Models); n != 4 {
		t.Errorf("%d rows: the baseline of the same name stands there twice", n)
	}
	if err := report.Refer(choice.Name); err != nil {
		t.Fatal(err)
	}
	s, err := report.Find(m.Name())
	if err != nil {
		t.Fatal(err)
	}
	if got := saved(t, m).Info.Metrics["log_loss"]; got != s.LogLoss || got == 0 {
		t.Errorf("the file has a log loss of %v, and the report %v", got, s.LogLoss)
	}
}

// TestVerdict: a report refers to whom it is told to, and says in words how good that is.
func TestVerdict(t *testing.T) {
	train, later := simulated(t, 5, 60), simulated(t, 6, 30)
	m, grown := fitForest(t, train, Config{Target: Regression}), fit(t, train, Outcome)
	report, err := Evaluate(train, later, grown, m)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(report.Models); n != 5 {
		t.Errorf("%d rows: the baseline of the same name stands there twice", n)
	}
	for _, model := range []*Model{m, grown} {
		if err := report.Refer(model.Name()); err != nil {
			t.Fatal(err)
		}
		text := report.Verdict()
		if !strings.HasPrefix(text, "On 30 later matches "+model.Name()+" has a log loss of ") || !strings.Contains(text, "minute and score alone tell") || !strings.Contains(text, "Of the others ") {
			t.Errorf("got %q", text)
		}
		if shown := report.MIMEBundle()["text/plain"].(string); !strings.Contains(shown, "Chosen inside the training matches: "+model.Name()) || strings.Contains(shown, "best model") {
			t.Errorf("got\n%s", shown)
		}
		if d := report.best().Difference; d.Mean != 0 {
			t.Errorf("the model differs from itself by %v", d)
		}
	}
	if err := report.Refer("nobody"); err == nil {
		t.Error("refers to nobody")
	}
}
