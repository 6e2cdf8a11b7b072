package lwp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cancha/statsbomb"
)

// replayed is how many real matches the property is tested on.
const replayed = 50

// TestRealStreamEqualsTable plays 50 real matches into one Live, interleaved at random and cut into calls at random. Whenever all
// events of a row have been seen, an event that counts for nothing tells the stream that the minute is over: its answer must be the
// table's, bit for bit.
func TestRealStreamEqualsTable(t *testing.T) {
	archive := realArchive(t)
	rng := rand.New(rand.NewPCG(5, 5))
	listed := archive.Matches()
	rng.Shuffle(len(listed), func(i, k int) { listed[i], listed[k] = listed[k], listed[i] })
	season := loadSeason(t)
	teams := season.ratings.Teams() // the events get teams that the model knows: else all priors would be those of two unknown teams
	table, plays := &Matches{}, [][]statsbomb.MatchEvent(nil)
	for i, m := range listed {
		events, err := archive.Events(m.ID)
		if errors.Is(err, statsbomb.ErrNoEvents) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		home, away := teams[i%len(teams)].Team, teams[(i+3)%len(teams)].Team
		rename(events, map[int]int{m.Home.ID: home, m.Away.ID: away})
		table.Matches = append(table.Matches, Match{Match: m, States: snapshots(home, away, events), Prior: season.ratings.Prior(home, away, false)})
		if plays = append(plays, withTicks(m.ID, home, away, events)); len(plays) == replayed {
			break
		}
	}
	for _, target := range []Target{Outcome, RemainingGoals, Average} {
		model := fit(t, season, target)
		compareReplay(t, NewLive(model, 0), interleave(rng, slices.Clone(plays)), table, model.Predict(table), rng)
	}
}

// rename gives the events of teams to others.
func rename(events []statsbomb.Event, to map[int]int) {
	for i := range events {
		events[i].Team.ID = to[events[i].Team.ID]
	}
}

// tickIndex marks the events that tell the time; Index - tickIndex is the row that they end.
const tickIndex = 1_000_000

// withTicks orders the events of a match by the row that sees them first, keeping the order within, and ends each row with a tick.
func withTicks(id int64, home, away int, events []statsbomb.Event) []statsbomb.MatchEvent {
	var rows [LastMinute + 1][]statsbomb.Event
	for i := range events {
		if m, ok := firstRow(&events[i]); ok {
			rows[m] = append(rows[m], events[i])
		}
	}
	var out []statsbomb.MatchEvent
	for minute, row := range rows {
		period, clock := 1, time.Duration(minute)*time.Minute
		if minute > 45 {
			period, clock = 2, clock-45*time.Minute
		}
		tick := at(period, clock, home, statsbomb.TypePressure)
		tick.Index = tickIndex + minute
		for _, e := range append(row, tick) {
			e.MatchID = id
			out = append(out, statsbomb.MatchEvent{Event: e, Home: statsbomb.Ref{ID: home}, Away: statsbomb.Ref{ID: away}})
		}
	}
	return out
}

// interleave merges the plays at random, each in its own order.
func interleave(rng *rand.Rand, plays [][]statsbomb.MatchEvent) []statsbomb.MatchEvent {
	var out []statsbomb.MatchEvent
	for len(plays) > 0 {
		i := rng.IntN(len(plays))
		n := min(1+rng.IntN(200), len(plays[i]))
		out = append(out, plays[i][:n]...)
		if plays[i] = plays[i][n:]; len(plays[i]) == 0 {
			plays = append(plays[:i], plays[i+1:]...)
		}
	}
	return out
}

// compareReplay scores all events, in calls of random size, and compares the answers to the ticks.
func compareReplay(t *testing.T, l *Live, all []statsbomb.MatchEvent, table *Matches, want *Predictions, rng *rand.Rand) {
	t.Helper()
	at, compared := map[int64]int{}, 0
	for i := range table.Matches {
		at[table.Matches[i].ID] = i
	}
	for len(all) > 0 {
		n := min(1+rng.IntN(500), len(all))
		answers := make([][]float64, n)
		if err := l.Score(t.Context(), all[:n], answers); err != nil {
			t.Fatal(err)
		}
		for k, answer := range answers {
			e := &all[k].Event
			if e.Index < tickIndex {
				continue
			}
			i, minute := at[e.MatchID], e.Index-tickIndex
			if row := want.P[i*(LastMinute+1)+minute]; [3]float64(answer) != [3]float64(row) {
				t.Fatalf("match %d, minute %d: the stream says %v, the table %v", e.MatchID, minute, answer, row)
			}
			compared++
		}
		all = all[n:]
	}
	if compared != len(table.Matches)*(LastMinute+1) {
		t.Errorf("compared %d rows, want those of %d matches", compared, len(table.Matches))
	}
}
