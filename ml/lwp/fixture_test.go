package lwp

import (
	"math/rand/v2"
	"testing"
	"time"

	"cancha/ml/forest"
	"cancha/statsbomb"
	"cancha/statsbomb/simulate"
)

// archive is a short simulated season.
func archive() statsbomb.Archive {
	return simulate.New(simulate.Config{Seed: 3, Matches: 40, Teams: 8})
}

// loadSeason loads it.
func loadSeason(t testing.TB) *Matches {
	t.Helper()
	return load(t, archive())
}

// simulated loads another season.
func simulated(t testing.TB, seed uint64, matches int) *Matches {
	t.Helper()
	return load(t, simulate.New(simulate.Config{Seed: seed, Matches: matches, Teams: 8}))
}

func load(t testing.TB, archive statsbomb.Archive) *Matches {
	t.Helper()
	ms, err := Load(t.Context(), archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// fit trains a small forest.
func fit(t testing.TB, train *Matches, target Target) *Model {
	t.Helper()
	return fitForest(t, train, Config{Target: target, Forest: forest.Config{Trees: 20, Seed: 1}})
}

func fitForest(t testing.TB, train *Matches, c Config) *Model {
	t.Helper()
	m, err := Fit(t.Context(), train, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The two teams of hand-made matches.
const (
	homeTeam = 11
	awayTeam = 22
)

// at returns an event of a type by a team; its minute is derived from period and timestamp as StatsBomb does.
func at(period int, clock time.Duration, team, kind int) statsbomb.Event {
	starts := []int{0, 45, 90, 105, 120}
	return statsbomb.Event{MatchID: 7, Period: period, Timestamp: clock, Minute: starts[period-1] + int(clock/time.Minute),
		Type: statsbomb.Ref{ID: kind}, Team: statsbomb.Ref{ID: team}}
}

// shot returns a shot with expected goals and an outcome.
func shot(period int, clock time.Duration, team, outcome int, xg float64) statsbomb.Event {
	e := at(period, clock, team, statsbomb.TypeShot)
	e.Shot = &statsbomb.Shot{XG: xg, Outcome: statsbomb.Ref{ID: outcome}}
	return e
}

// busy returns random events of a whole match with all that a state counts, extra time and a shoot-out included.
func busy(seed uint64) []statsbomb.Event {
	rng := rand.New(rand.NewPCG(seed, 1))
	teams, outcomes, cards := []int{homeTeam, awayTeam}, []int{97, 100, 116, 96}, []int{0, 5, 6, 7}
	var events []statsbomb.Event
	for period, length := range []int{49, 50, 15, 15, 5} {
		for minute := range length {
			for range 6 {
				clock := time.Duration(minute)*time.Minute + time.Duration(rng.IntN(60000))*time.Millisecond
				team := teams[rng.IntN(2)]
				var e statsbomb.Event
				switch rng.IntN(10) {
				case 0:
					e = shot(period+1, clock, team, outcomes[rng.IntN(4)], rng.Float64())
				case 1:
					e = at(period+1, clock, team, statsbomb.TypeFoulCommitted)
					e.Card.ID = cards[rng.IntN(4)]
				case 2:
					e = at(period+1, clock, team, statsbomb.TypeOwnGoalFor)
				default:
					e = at(period+1, clock, team, statsbomb.TypePass)
					e.Location = &statsbomb.Point{X: rng.Float64() * 120, Y: rng.Float64() * 80}
					e.Pass = &statsbomb.Pass{End: &statsbomb.Point{X: rng.Float64() * 120, Y: rng.Float64() * 80}}
					if rng.IntN(4) == 0 {
						e.Pass.Outcome.ID = 9
					}
				}
				e.Index = len(events) + 1
				events = append(events, e)
			}
		}
	}
	return events
}
