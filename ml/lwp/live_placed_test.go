package lwp

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/gpu"
	"cancha/statsbomb"
)

// busyMatch is a hand-made match as a stream has it.
func busyMatch(seed uint64) (all []statsbomb.MatchEvent) {
	for _, e := range busy(seed) {
		all = append(all, statsbomb.MatchEvent{Event: e, Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}})
	}
	return all
}

// TestLiveOn: a scorer in a session answers as one without, to the bit, and the session tells of each question to a forest.
func TestLiveOn(t *testing.T) {
	ms, events := loadSeason(t), busyMatch(5)
	network, err := FitClassifier(t.Context(), ms, "", "constant", func(_ context.Context, d *ml.Dataset) (Classifier, error) {
		return constant{d.Features, d.Classes, []float64{.5, .3, .2}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	calibrated := fitForest(t, ms, Config{Target: Outcome, Calibrate: true, Forest: forest.Config{Trees: 5, Seed: 1}})
	for asked, models := range map[int][]*Model{2: {fit(t, ms, Outcome), fit(t, ms, RemainingGoals), fit(t, ms, Average), calibrated}, 0: {network}} {
		for _, m := range models {
			s := mustRows(gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU}))
			plain, placed := NewLive(m, 0), mustRows(NewLiveOn(s, m, 0))
			half := len(events) / 2
			for _, part := range [][]statsbomb.MatchEvent{events[:half], events[half:]} {
				want, got := make([][]float64, len(part)), make([][]float64, len(part))
				if err := errors.Join(plain.Score(t.Context(), part, want), placed.Score(t.Context(), part, got)); err != nil {
					t.Fatal(err)
				}
				for i := range want {
					if [3]float64(got[i]) != [3]float64(want[i]) {
						t.Fatalf("%s, event %d: %v in a session, %v without", m.Name(), i, got[i], want[i])
					}
				}
			}
			if d := s.Explain().Decisions; len(d) != asked || asked > 0 && (d[0].Operation != "forest predict" || d[0].Place != "CPU") {
				t.Errorf("%s: the session tells %+v", m.Name(), d)
			}
			if err := errors.Join(placed.Close(), placed.Close(), plain.Close(), s.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLiveOnFails: where the session does not answer, no event of the call has been taken in.
func TestLiveOnFails(t *testing.T) {
	s := mustRows(gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU}))
	l, events := mustRows(NewLiveOn(s, fit(t, loadSeason(t), Average), 0)), busyMatch(6)
	score := func(ctx context.Context, part []statsbomb.MatchEvent) error {
		return l.Score(ctx, part, make([][]float64, len(part)))
	}
	if err := score(t.Context(), events[:200]); err != nil {
		t.Fatal(err)
	}
	id := events[0].Event.MatchID
	before := l.SaveMatch(nil, id)
	if len(before) == 0 {
		t.Fatal("the match is not kept: the test says nothing")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := score(t.Context(), events[200:]); !errors.Is(err, gpu.ErrClosed) {
		t.Fatalf("a session that is closed: got %v", err)
	}
	if after := l.SaveMatch(nil, id); !bytes.Equal(after, before) {
		t.Errorf("the match has changed:\n%x\n%x", after, before)
	}
}
