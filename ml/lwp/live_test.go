package lwp

import (
	"errors"
	"testing"
	"time"

	"cancha/statsbomb"
)

// TestStreamEqualsTable plays matches event by event. Whenever the events of a row have all been seen, an event that
// counts for nothing tells the stream that the minute is over: its answer must be the table's, bit for bit.
func TestStreamEqualsTable(t *testing.T) {
	ms := loadSeason(t)
	for _, target := range []Target{Outcome, RemainingGoals, Average} {
		model := fit(t, ms, target)
		scorer := NewLive(model, 0)
		for k := range 3 {
			events := busy(uint64(k))
			m := Match{States: snapshots(homeTeam, awayTeam, events), Prior: model.ratings.Prior(homeTeam, awayTeam, false)}
			want := model.Predict(&Matches{Matches: []Match{m}})
			for minute := range LastMinute + 1 {
				got := play(t, scorer, int64(k), minute, events)
				if [3]float64(got) != [3]float64(want.P[minute]) {
					t.Fatalf("%s, minute %d: the stream says %v, the table %v", target, minute, got, want.P[minute])
				}
			}
		}
	}
}

// play sends the events that are first seen at a minute and then one that only tells the time, and returns the last answer.
func play(t *testing.T, l *Live, id int64, minute int, events []statsbomb.Event) []float64 {
	t.Helper()
	var batch []statsbomb.MatchEvent
	send := func(e statsbomb.Event) {
		e.MatchID = id
		batch = append(batch, statsbomb.MatchEvent{Event: e, Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}})
	}
	for i := range events {
		if m, ok := firstRow(&events[i]); ok && m == minute {
			send(events[i])
		}
	}
	tick := at(1, time.Duration(minute)*time.Minute, homeTeam, statsbomb.TypePressure)
	if minute > 45 {
		tick = at(2, time.Duration(minute-45)*time.Minute, homeTeam, statsbomb.TypePressure)
	}
	send(tick)
	answers := make([][]float64, len(batch))
	if err := l.Score(t.Context(), batch, answers); err != nil {
		t.Fatal(err)
	}
	return answers[len(answers)-1]
}

// TestBatchSizeDoesNotMatter scores a match in one call and event by event.
func TestBatchSizeDoesNotMatter(t *testing.T) {
	model := fit(t, loadSeason(t), RemainingGoals)
	var all []statsbomb.MatchEvent
	for _, e := range busy(9) {
		all = append(all, statsbomb.MatchEvent{Event: e, Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}})
	}
	whole, single := make([][]float64, len(all)), NewLive(model, 0)
	if err := NewLive(model, 0).Score(t.Context(), all, whole); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		one := [][]float64{make([]float64, 3)}
		if err := single.Score(t.Context(), all[i:i+1], one); err != nil {
			t.Fatal(err)
		}
		if [3]float64(one[0]) != [3]float64(whole[i]) {
			t.Fatalf("event %d: alone %v, in a batch %v", i, one[0], whole[i])
		}
	}
	if last := whole[len(whole)-1]; last[0] != 1 && last[1] != 1 && last[2] != 1 {
		t.Errorf("after the shoot-out: got %v, want the result of the 90 minutes", last)
	}
}

func TestLiveForgetsSilentMatches(t *testing.T) {
	l := NewLive(fit(t, loadSeason(t), Outcome), 8)
	for id := range int64(100) {
		e := statsbomb.MatchEvent{Event: at(1, time.Minute, homeTeam, statsbomb.TypePass), Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}}
		e.Event.MatchID = id
		if err := l.Score(t.Context(), []statsbomb.MatchEvent{e}, make([][]float64, 1)); err != nil {
			t.Fatal(err)
		}
		if n := l.Matches(); n > 8 {
			t.Fatalf("%d matches are kept, want at most 8", n)
		}
	}
	if l.matches[99] == nil || l.matches[0] != nil {
		t.Error("the latest match was forgotten, or the first one kept")
	}
}

// TestForgettingDoesNotDependOnCalls: more matches than are kept, in one call and event by event.
func TestForgettingDoesNotDependOnCalls(t *testing.T) {
	model := fit(t, loadSeason(t), Outcome)
	var all []statsbomb.MatchEvent
	for i := range 300 {
		goal := at(1, time.Duration(i)*time.Second, homeTeam, statsbomb.TypeOwnGoalFor)
		goal.MatchID = int64(i * i % 13)
		all = append(all, statsbomb.MatchEvent{Event: goal, Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}})
	}
	whole, single, kept := make([][]float64, len(all)), NewLive(model, 4), make([][]float64, len(all))
	if err := errors.Join(NewLive(model, 4).Score(t.Context(), all, whole), NewLive(model, 0).Score(t.Context(), all, kept)); err != nil {
		t.Fatal(err)
	}
	forgot := false
	for i := range all {
		one := [][]float64{make([]float64, 3)}
		if err := single.Score(t.Context(), all[i:i+1], one); err != nil {
			t.Fatal(err)
		}
		if [3]float64(one[0]) != [3]float64(whole[i]) {
			t.Fatalf("event %d: alone %v, in a batch %v", i, one[0], whole[i])
		}
		forgot = forgot || [3]float64(kept[i]) != [3]float64(whole[i])
	}
	if !forgot {
		t.Error("no match was forgotten: the test says nothing")
	}
}

func TestLiveMistakes(t *testing.T) {
	l := NewLive(fit(t, loadSeason(t), Outcome), 0)
	if err := l.Score(t.Context(), make([]statsbomb.MatchEvent, 2), make([][]float64, 1)); err == nil {
		t.Error("two events with room for one answer were accepted")
	}
	if err := l.Score(t.Context(), make([]statsbomb.MatchEvent, 1), [][]float64{make([]float64, 2)}); err == nil {
		t.Error("room for two of three probabilities was accepted")
	}
	if got := l.Classes(); len(got) != 3 || got[0] != "home" || got[1] != "draw" || got[2] != "away" {
		t.Errorf("classes: got %v", got)
	}
	if err := l.Score(t.Context(), nil, nil); err != nil {
		t.Errorf("no events: got %v", err)
	}
}

func BenchmarkLiveScore(b *testing.B) {
	for _, target := range []Target{Outcome, RemainingGoals, Average} {
		b.Run(string(target), func(b *testing.B) { benchmarkScore(b, target) })
	}
}

func benchmarkScore(b *testing.B, target Target) {
	l := NewLive(fit(b, loadSeason(b), target), 0)
	var events []statsbomb.MatchEvent
	for _, e := range busy(1) {
		events = append(events, statsbomb.MatchEvent{Event: e, Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}})
	}
	answers := make([][]float64, len(events))
	id := int64(0)
	for b.Loop() {
		id++
		for i := range events {
			events[i].Event.MatchID = id
		}
		if err := l.Score(b.Context(), events, answers); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(events))/b.Elapsed().Seconds(), "events/s")
}

// TestScoreAllocatesLittle: of a match that is kept, one event that changes its row costs no memory but for the two functions of the
// forest's walk.
func TestScoreAllocatesLittle(t *testing.T) {
	for _, target := range []Target{Outcome, RemainingGoals, Average} {
		l := NewLive(fit(t, loadSeason(t), target), 0)
		event := []statsbomb.MatchEvent{{Event: shot(1, time.Minute, homeTeam, 96, .01), Home: statsbomb.Ref{ID: homeTeam}, Away: statsbomb.Ref{ID: awayTeam}}}
		answer, before := [][]float64{make([]float64, 3)}, [3]float64{}
		score := func() {
			if err := l.Score(t.Context(), event, answer); err != nil {
				t.Fatal(err)
			}
		}
		score()
		before = [3]float64(answer[0])
		if n := testing.AllocsPerRun(100, score); n > 2 {
			t.Errorf("%s: %v allocations an event, want 2 at most", target, n)
		}
		if [3]float64(answer[0]) == before {
			t.Errorf("%s: a hundred shots changed nothing: the test says nothing", target)
		}
	}
}
