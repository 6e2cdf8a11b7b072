package simulate

import (
	"time"

	"cancha/statsbomb"
)

// lineup tells who of a squad played where, by the events of the match.
func lineup(c *club, events []statsbomb.Event) statsbomb.Lineup {
	l := statsbomb.Lineup{Team: c.ref, Players: make([]statsbomb.LineupPlayer, len(c.squad))}
	byID := make(map[int]*statsbomb.LineupPlayer, len(c.squad))
	for i := range c.squad {
		p := &l.Players[i]
		*p = statsbomb.LineupPlayer{Player: c.squad[i].ref, Jersey: c.squad[i].jersey,
			Cards: []statsbomb.LineupCard{}, Positions: []statsbomb.LineupPosition{}}
		byID[p.Player.ID] = p
	}
	for i := range events {
		if e := &events[i]; e.Team.ID == c.ref.ID {
			note(byID, e)
		}
	}
	for i := range l.Players {
		leave(&l.Players[i], nil, "Final Whistle")
	}
	return l
}

// note enters what one event says of line-ups.
func note(players map[int]*statsbomb.LineupPlayer, e *statsbomb.Event) {
	switch e.Type.ID {
	case statsbomb.TypeStartingXI:
		for _, t := range e.Tactics.Lineup {
			enter(players[t.Player.ID], t.Position, e, "Starting XI")
		}
	case statsbomb.TypeSubstitution:
		on := players[e.Substitution.Replacement.ID]
		leave(players[e.Player.ID], e, "Substitution - Off ("+e.Substitution.Outcome.Name+")")
		enter(on, e.Position, e, "Substitution - On ("+e.Substitution.Outcome.Name+")")
	}
	if e.Card == (statsbomb.Ref{}) {
		return
	}
	p := players[e.Player.ID]
	p.Cards = append(p.Cards, statsbomb.LineupCard{Time: matchClock(e), Card: e.Card.Name, Reason: e.Type.Name, Period: e.Period})
	if e.Red() {
		leave(p, e, "Player Off")
	}
}

func enter(p *statsbomb.LineupPlayer, position statsbomb.Ref, e *statsbomb.Event, reason string) {
	p.Positions = append(p.Positions, statsbomb.LineupPosition{
		ID: position.ID, Position: position.Name, From: matchClock(e), FromPeriod: e.Period, StartReason: reason})
}

// leave ends a player's spell, if he is on the pitch; without an event it lasts until the end.
func leave(p *statsbomb.LineupPlayer, e *statsbomb.Event, reason string) {
	if len(p.Positions) == 0 || p.Positions[len(p.Positions)-1].EndReason != "" {
		return
	}
	spell := &p.Positions[len(p.Positions)-1]
	spell.EndReason = reason
	if e != nil {
		spell.To, spell.ToPeriod = matchClock(e), e.Period
	}
}

func matchClock(e *statsbomb.Event) string {
	return clockFace(45*60*(e.Period-1) + int(e.Timestamp/time.Second))
}
