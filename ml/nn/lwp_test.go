package nn

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/ml/forest"
	"cancha/ml/lwp"
	"cancha/ml/modelfile"
	"cancha/statsbomb"
	"cancha/statsbomb/simulate"
)

// TestLWP: a network is trained on a short season, evaluated, saved, opened, and asked live, as a forest is.
func TestLWP(t *testing.T) {
	ms := must(lwp.Load(t.Context(), simulate.New(simulate.Config{Seed: 3, Matches: 40, Teams: 8}), nil))
	train, later, err := ms.Split(ms.DateAt(0.7))
	if err != nil {
		t.Fatal(err)
	}
	m, err := FitLWP(t.Context(), train, "", Config{Hidden: 16, Epochs: 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	report := must(lwp.Evaluate(train, later, m))
	scores := must(report.Find("network, outcome"))
	frequencies := must(report.Find("frequencies by minute and score"))
	if !(scores.RPS > 0.02 && scores.RPS < frequencies.RPS+0.03) {
		t.Errorf("RPS %v, of frequencies %v: this is not a model that looks at the score", scores.RPS, frequencies.RPS)
	}
	if text := m.MIMEBundle()["text/plain"].(string); !strings.Contains(text, "network") || m.Importance() != nil {
		t.Errorf("got\n%s", text)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "network.model")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	opened := must(OpenLWP(path))
	want := m.Predict(later)
	if got := opened.Predict(later); !slices.EqualFunc(got.P, want.P, slices.Equal[[]float64]) || !slices.Equal(opened.Info.Classes, lwp.Classes()) {
		t.Error("opened again, it answers otherwise")
	}
	checkLive(t, opened)
	if _, err := lwp.Open(path); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("read as a forest's: got %v", err)
	}
	grown := must(lwp.Fit(t.Context(), train, lwp.Config{Target: lwp.Outcome, Forest: forest.Config{Trees: 2}}))
	if err := grown.Save(filepath.Join(folder, "forest.model")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLWP(filepath.Join(folder, "forest.model")); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("a forest's read as a network's: got %v", err)
	}
}

// checkLive: events have the same probabilities one by one and together, bit for bit.
func checkLive(t *testing.T, m *lwp.Model) {
	t.Helper()
	var events []statsbomb.MatchEvent
	for minute := range 45 {
		e := statsbomb.Event{MatchID: 7, Period: 1, Timestamp: time.Duration(minute) * time.Minute, Minute: minute, Type: statsbomb.Ref{ID: statsbomb.TypeShot}}
		e.Team.ID = 11 * (1 + minute%2)
		e.Shot = &statsbomb.Shot{XG: float64(minute) / 100, Outcome: statsbomb.Ref{ID: 97 - minute%2}} // 97 is a goal
		events = append(events, statsbomb.MatchEvent{Event: e, Home: statsbomb.Ref{ID: 11}, Away: statsbomb.Ref{ID: 22}})
	}
	together := make([][]float64, len(events))
	if err := lwp.NewLive(m, 0).Score(t.Context(), events, together); err != nil {
		t.Fatal(err)
	}
	single := lwp.NewLive(m, 0)
	for i := range events {
		one := [][]float64{nil}
		if err := single.Score(t.Context(), events[i:i+1], one); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one[0], together[i]) || len(one[0]) != 3 {
			t.Fatalf("event %d: alone %v, together %v", i, one[0], together[i])
		}
	}
	if slices.Equal(together[0], together[44]) {
		t.Errorf("22 goals change nothing: %v", together[0])
	}
}
