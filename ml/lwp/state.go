package lwp

import (
	"math"
	"time"

	"cancha/statsbomb"
)

// Side is what one team has done so far in the 90 minutes. Everything is counted in whole numbers, so that a sum does
// not depend on the order in which events arrive.
type Side struct {
	Goals         int32
	Reds, Yellows int32 // a second yellow card is a red
	Shots         int32
	OnTarget      int32 // shots that were goals or saved
	XG            int64 // expected goals of the shots, in billionths
	Passes        int32
	Completed     int32
	FinalThird    int32 // completed passes from outside into the last 40 yards
	Box           int32 // completed passes from outside into the penalty area
	Corners       int32
	Fouls         int32
}

// xgUnit is one expected goal in Side.XG.
const xgUnit = 1_000_000_000

// State is a match as far as its events have been seen: the same in a stream and in a table, because it depends only on
// which events were seen and not on their order. Create it with NewState. Extra time and shoot-outs are not part of it:
// the question is the result after 90 minutes.
type State struct {
	Home, Away Side
	homeID     int
	awayID     int
	minute     int32 // whole minutes played by the latest event
	over       bool  // the second half has ended
}

// NewState returns the state before kick-off of a match between two teams, named by their StatsBomb ids.
func NewState(home, away int) State { return State{homeID: home, awayID: away} }

// Minute returns how many whole minutes have been played by the latest event: 0..45 in the first half, 45 and up in the
// second. The stoppage time of the first half counts as its 45th minute.
func (s *State) Minute() int { return int(s.minute) }

// Over reports whether the 90 minutes are over.
func (s *State) Over() bool { return s.over }

// Observe adds an event and reports whether it counted: events of extra time, of a shoot-out, or of neither team move
// nothing, except that a third period ends the 90 minutes.
func (s *State) Observe(e *statsbomb.Event) bool {
	if e.Period > 2 || e.Period == 2 && e.Type.ID == statsbomb.TypeHalfEnd {
		s.over = true
	}
	if e.Period < 1 || e.Period > 2 {
		return false
	}
	s.minute = max(s.minute, playedMinutes(e.Period, e.Timestamp))
	switch {
	case e.Team.ID == 0: // no team, even where the match's teams are unknown
		return false
	case e.Team.ID == s.homeID:
		s.Home.observe(e)
	case e.Team.ID == s.awayID:
		s.Away.observe(e)
	default:
		return false
	}
	return true
}

// looks is the part of a state that rows are made of: no count that does not enter a column.
type looks struct {
	homeGoals, awayGoals, homeReds, awayReds, homeOnTarget, awayOnTarget int32
	homeThird, awayThird, homeBox, awayBox, minute                       int32
	homeXG, awayXG                                                       int64
	over                                                                 bool
}

func (s *State) looks() looks {
	h, a := &s.Home, &s.Away
	return looks{h.Goals, a.Goals, h.Reds, a.Reds, h.OnTarget, a.OnTarget, h.FinalThird, a.FinalThird, h.Box, a.Box, s.minute, h.XG, a.XG, s.over}
}

// sameRow reports whether two states of a match give the same row, whatever else differs.
func (s *State) sameRow(t *State) bool { return s.looks() == t.looks() }

// playedMinutes returns the whole minutes of play before a timestamp of a half.
func playedMinutes(period int, timestamp time.Duration) int32 {
	m := int32(timestamp / time.Minute)
	if period == 1 {
		return min(m, 45)
	}
	return 45 + m
}

// observe adds an event of this side.
func (s *Side) observe(e *statsbomb.Event) {
	if e.Goal() {
		s.Goals++
	}
	switch {
	case e.Red():
		s.Reds++
	case e.Card.ID == statsbomb.CardYellow:
		s.Yellows++
	}
	switch e.Type.ID {
	case statsbomb.TypeShot:
		s.shot(e)
	case statsbomb.TypePass:
		s.pass(e)
	case statsbomb.TypeFoulCommitted:
		s.Fouls++
	}
}

// savedToPost is the outcome of a shot that a goalkeeper turned onto the post: on target, beside Goal and Saved.
const savedToPost = 116

func (s *Side) shot(e *statsbomb.Event) {
	s.Shots++
	if e.Shot == nil {
		return
	}
	if xg := e.Shot.XG; xg > 0 { // also of a record that holds no probability: beyond 1 it counts as 1, NaN as none
		s.XG += int64(math.Round(min(xg, 1) * xgUnit))
	}
	switch e.Shot.Outcome.ID {
	case statsbomb.OutcomeGoal, statsbomb.OutcomeSaved, savedToPost:
		s.OnTarget++
	}
}

// passCorner is the type of a pass that is a corner kick.
const passCorner = 61

func (s *Side) pass(e *statsbomb.Event) {
	s.Passes++
	if e.Pass == nil {
		return
	}
	if e.Pass.Type.ID == passCorner {
		s.Corners++
	}
	if e.Pass.Outcome.ID != 0 {
		return
	}
	s.Completed++
	if e.Location == nil || e.Pass.End == nil {
		return
	}
	if e.Location.X < finalThirdX && e.Pass.End.X >= finalThirdX {
		s.FinalThird++
	}
	if !inBox(e.Location) && inBox(e.Pass.End) {
		s.Box++
	}
}

// finalThirdX is where the last third of the pitch begins, in yards.
const finalThirdX = 80

// inBox reports whether a point lies in the opponent's penalty area: 18 yards deep and 44 wide.
func inBox(p *statsbomb.Point) bool {
	return p.X >= statsbomb.Length-18 && p.Y >= 18 && p.Y <= statsbomb.Width-18
}
