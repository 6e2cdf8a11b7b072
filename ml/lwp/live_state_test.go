package lwp

import (
	"testing"

	"cancha/statsbomb"
)

// TestMatchMoves saves a match after each of its events and goes on with it in another Live: the answers are the same, bit for bit.
func TestMatchMoves(t *testing.T) {
	model := fit(t, loadSeason(t), Outcome)
	whole, now := NewLive(model, 0), NewLive(model, 0)
	for i, e := range busy(3) {
		e.MatchID = 7
		event := []statsbomb.MatchEvent{{Event: e, Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}}}
		want, got := [][]float64{nil}, [][]float64{nil}
		if err := whole.Score(t.Context(), event, want); err != nil {
			t.Fatal(err)
		}
		if err := now.Score(t.Context(), event, got); err != nil {
			t.Fatal(err)
		}
		if [3]float64(got[0]) != [3]float64(want[0]) {
			t.Fatalf("event %d: %v after moves, %v without", i, got[0], want[0])
		}
		next, saved := NewLive(model, 0), now.SaveMatch(nil, 7)
		if err := next.LoadMatch(7, saved); err != nil {
			t.Fatal(err)
		}
		now.DropMatch(7)
		if now.Matches() != 0 {
			t.Fatal("a match is kept that was dropped")
		}
		now = next
	}
}

// TestAMatchThatMovesPlays: one that comes from a Live with fewer events is not taken for one that is silent longest.
func TestAMatchThatMovesPlays(t *testing.T) {
	model := fit(t, loadSeason(t), Outcome)
	here, there := NewLive(model, 0), NewLive(model, 2)
	score := func(l *Live, id int64) {
		e := statsbomb.MatchEvent{Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}}
		e.Event.MatchID = id
		if err := l.Score(t.Context(), []statsbomb.MatchEvent{e}, [][]float64{nil}); err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		score(there, 1)
	}
	score(here, 2)
	if err := there.LoadMatch(2, here.SaveMatch(nil, 2)); err != nil {
		t.Fatal(err)
	}
	score(there, 3) // one has to go
	if first, second := len(there.SaveMatch(nil, 1)), len(there.SaveMatch(nil, 2)); first > 0 || second == 0 {
		t.Errorf("got %d bytes of match 1, which ended before, and %d of match 2, want the second alone", first, second)
	}
}

func FuzzLoadMatch(f *testing.F) {
	model := fit(f, loadSeason(f), Outcome)
	l := NewLive(model, 0)
	e := statsbomb.MatchEvent{Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}}
	e.Event.MatchID = 1
	if err := l.Score(f.Context(), []statsbomb.MatchEvent{e}, [][]float64{nil}); err != nil {
		f.Fatal(err)
	}
	f.Add(l.SaveMatch(nil, 1))
	f.Fuzz(func(t *testing.T, saved []byte) {
		if l.LoadMatch(2, saved) == nil && len(saved) > 0 && len(l.SaveMatch(nil, 2)) == 0 {
			t.Error("a match was loaded and is not kept")
		}
		l.DropMatch(2)
	})
}
