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
		if err := whole.Score(event, want); err != nil {
			t.Fatal(err)
		}
		if err := now.Score(event, got); err != nil {
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

func FuzzLoadMatch(f *testing.F) {
	model := fit(f, loadSeason(f), Outcome)
	l := NewLive(model, 0)
	e := statsbomb.MatchEvent{Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}}
	e.Event.MatchID = 1
	if err := l.Score([]statsbomb.MatchEvent{e}, [][]float64{nil}); err != nil {
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
