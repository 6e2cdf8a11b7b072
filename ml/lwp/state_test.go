package lwp

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cancha/statsbomb"
)

// TestObserve feeds one event at a time and looks at the side that it must have moved.
func TestObserve(t *testing.T) {
	pass := func(x, y, toX, toY float64, outcome, kind int) statsbomb.Event {
		e := at(1, time.Minute, homeTeam, statsbomb.TypePass)
		e.Location, e.Pass = &statsbomb.Point{X: x, Y: y}, &statsbomb.Pass{End: &statsbomb.Point{X: toX, Y: toY}}
		e.Pass.Outcome.ID, e.Pass.Type.ID = outcome, kind
		return e
	}
	card := func(kind, card int) statsbomb.Event {
		e := at(1, time.Minute, homeTeam, kind)
		e.Card.ID = card
		return e
	}
	for _, tt := range []struct {
		name  string
		event statsbomb.Event
		want  Side // of the home team
	}{
		{"goal", shot(1, time.Minute, homeTeam, 97, 0.25), Side{Goals: 1, Shots: 1, OnTarget: 1, XG: 250_000_000}},
		{"saved", shot(2, time.Minute, homeTeam, 100, 0.1), Side{Shots: 1, OnTarget: 1, XG: 100_000_000}},
		{"off target", shot(1, time.Minute, homeTeam, 98, 0.1), Side{Shots: 1, XG: 100_000_000}},
		{"own goal for", at(1, time.Minute, homeTeam, statsbomb.TypeOwnGoalFor), Side{Goals: 1}},
		{"own goal against", at(1, time.Minute, homeTeam, statsbomb.TypeOwnGoalAgainst), Side{}},
		{"other team", shot(1, time.Minute, awayTeam, 97, 0.25), Side{}},
		{"goal in extra time", shot(3, time.Minute, homeTeam, 97, 0.25), Side{}},
		{"shoot-out", shot(5, time.Minute, homeTeam, 97, 0.76), Side{}},
		{"foul", card(statsbomb.TypeFoulCommitted, 0), Side{Fouls: 1}},
		{"yellow", card(statsbomb.TypeFoulCommitted, 7), Side{Fouls: 1, Yellows: 1}},
		{"second yellow", card(statsbomb.TypeBadBehaviour, 6), Side{Reds: 1}},
		{"red", card(statsbomb.TypeBadBehaviour, 5), Side{Reds: 1}},
		{"pass", pass(10, 10, 20, 20, 0, 0), Side{Passes: 1, Completed: 1}},
		{"lost pass into the box", pass(70, 40, 110, 40, 9, 0), Side{Passes: 1}},
		{"into the box", pass(70, 40, 110, 40, 0, 0), Side{Passes: 1, Completed: 1, FinalThird: 1, Box: 1}},
		{"wide of the box", pass(90, 40, 110, 10, 0, 0), Side{Passes: 1, Completed: 1}},
		{"corner", pass(120, 0, 110, 40, 0, 61), Side{Passes: 1, Completed: 1, Corners: 1, Box: 1}},
		{"shot without details", at(1, time.Minute, homeTeam, statsbomb.TypeShot), Side{Shots: 1}},
		{"pass without details", at(1, time.Minute, homeTeam, statsbomb.TypePass), Side{Passes: 1}},
	} {
		s := NewState(homeTeam, awayTeam)
		s.Observe(&tt.event)
		if s.Home != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, s.Home, tt.want)
		}
	}
}

func TestMinuteAndEnd(t *testing.T) {
	s := NewState(homeTeam, awayTeam)
	for _, tt := range []struct {
		event  statsbomb.Event
		minute int
		over   bool
	}{
		{at(1, 59*time.Second, homeTeam, statsbomb.TypePressure), 0, false},
		{at(1, 30*time.Minute, awayTeam, statsbomb.TypePressure), 30, false},
		{at(1, 29*time.Minute, awayTeam, statsbomb.TypePressure), 30, false}, // a step back
		{at(1, 49*time.Minute, homeTeam, statsbomb.TypeHalfEnd), 45, false},
		{at(2, 0, homeTeam, statsbomb.TypeHalfStart), 45, false},
		{at(2, 45*time.Minute+time.Second, homeTeam, statsbomb.TypePressure), 90, false},
		{at(2, 48*time.Minute, homeTeam, statsbomb.TypeHalfEnd), 93, true},
		{shot(3, time.Minute, homeTeam, 97, 0.5), 93, true},
	} {
		s.Observe(&tt.event)
		if s.Minute() != tt.minute || s.Over() != tt.over {
			t.Errorf("after period %d, %v: got minute %d, over %v; want %d, %v", tt.event.Period, tt.event.Timestamp, s.Minute(), s.Over(), tt.minute, tt.over)
		}
	}
	if s.Home.Goals != 0 {
		t.Error("a goal of extra time was counted")
	}
}

// TestUnknownTeams must not count for anybody, not even where the teams of the match are unknown as well.
func TestUnknownTeams(t *testing.T) {
	for _, s := range []State{NewState(0, 0), NewState(homeTeam, awayTeam)} {
		goal := shot(1, time.Minute, 0, 97, 0.5)
		if s.Observe(&goal) || s.Home != (Side{}) || s.Away != (Side{}) {
			t.Errorf("a goal of no team was counted: %+v", s)
		}
	}
}

// TestStateDoesNotDependOnOrder shuffles a match.
func TestStateDoesNotDependOnOrder(t *testing.T) {
	events := busy(1)
	want := finalState(homeTeam, awayTeam, events)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	if got := finalState(homeTeam, awayTeam, events); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestSnapshotsFollowTheProtocol compares with the protocol written down once more, as a question about each event.
func TestSnapshotsFollowTheProtocol(t *testing.T) {
	events := busy(2)
	states := snapshots(homeTeam, awayTeam, events)
	if len(states) != LastMinute+1 {
		t.Fatalf("got %d rows, want %d", len(states), LastMinute+1)
	}
	for m, got := range states {
		want := NewState(homeTeam, awayTeam)
		for i := range events {
			e := &events[i]
			seen := e.Period == 1 && (m >= 45 || e.Minute < m) || e.Period == 2 && m > 45 && e.Minute < m
			if seen {
				want.Observe(e)
			}
		}
		if got.Home != want.Home || got.Away != want.Away {
			t.Fatalf("minute %d: got %+v and %+v, want %+v and %+v", m, got.Home, got.Away, want.Home, want.Away)
		}
		if got.Minute() != m || got.Over() {
			t.Fatalf("row %d stands at minute %d, over %v", m, got.Minute(), got.Over())
		}
	}
}

// TestRowsDoNotSeeTheFuture changes everything from a minute on: the rows up to it must stay as they are.
func TestRowsDoNotSeeTheFuture(t *testing.T) {
	for _, cut := range []int{10, 44, 45, 60, 89} {
		events := busy(3)
		before := snapshots(homeTeam, awayTeam, events)
		for i := range events {
			e := &events[i]
			later := e.Period > 2 || e.Period == 2 && e.Minute >= cut || e.Period == 1 && cut < 45 && e.Minute >= cut
			if later {
				*e = shot(e.Period, e.Timestamp, awayTeam, 97, 1)
			}
		}
		after := snapshots(homeTeam, awayTeam, events)
		for m := range cut + 1 {
			if before[m] != after[m] {
				t.Fatalf("row %d changed with events from minute %d on", m, cut)
			}
		}
	}
}

// TestExpectedGoalsOfNoProbability observes shots whose expected goals no reader should let through.
func TestExpectedGoalsOfNoProbability(t *testing.T) {
	for xg, want := range map[float64]float64{0.25: 0.25, 1e300: 1, math.Inf(1): 1, -5: 0, math.NaN(): 0} {
		s, e := NewState(homeTeam, awayTeam), shot(1, time.Minute, homeTeam, statsbomb.OutcomeSaved, xg)
		if s.Observe(&e); s.Home.xg() != want {
			t.Errorf("%v: got %v, want %v", xg, s.Home.xg(), want)
		}
	}
}
