package simulate

import (
	"math"

	"cancha/statsbomb"
)

// emit records an event of a side's player at a place in that side's frame, now. who is -1 for an event of the side alone,
// at is nil for an event without a place.
func (g *game) emit(typeID, team, who int, at *statsbomb.Point) *statsbomb.Event {
	e := g.rec.add()
	if g.rec.silent {
		return e
	}
	e.Period = g.period
	e.Timestamp = milliseconds(g.clock)
	seconds := int(e.Timestamp.Seconds())
	e.Minute, e.Second = 45*(g.period-1)+seconds/60, seconds%60
	e.Type = g.rec.types[typeID]
	e.Possession, e.PlayPattern = g.possession, g.pattern
	e.PossessionTeam = g.sides[g.owner].club.ref
	e.Team = g.sides[team].club.ref
	if who >= 0 {
		p := &g.sides[team].club.squad[who]
		e.Player, e.Position = p.ref, p.position
	}
	if at != nil {
		e.Location = g.rec.point(clamp(at.X, .1, 120), clamp(at.Y, .1, 80), 0)
		g.camera.shoot(g, e, team, who)
	}
	return e
}

// both records an event of each side, the one with the ball first, and relates them.
func (g *game) both(typeID int) {
	g.emit(typeID, g.has, -1, nil)
	a := g.rec.index
	g.emit(typeID, 1-g.has, -1, nil)
	g.rec.relate(a, g.rec.index)
}

// startingXI records who starts.
func (g *game) startingXI() {
	g.period, g.possession = 1, 1
	g.pattern = statsbomb.Ref{ID: 1, Name: "Regular Play"}
	for team := range g.sides {
		e := g.emit(statsbomb.TypeStartingXI, team, -1, nil)
		e.Tactics = g.tactics(team)
	}
	g.possession = 0
}

// tactics lists who plays where.
func (g *game) tactics(team int) *statsbomb.Tactics {
	if g.rec.silent {
		return nil
	}
	s := &g.sides[team]
	t := &statsbomb.Tactics{Formation: s.club.formation}
	for _, i := range s.on {
		p := &s.club.squad[i]
		t.Lineup = append(t.Lineup, statsbomb.TacticsPlayer{Player: p.ref, Position: p.position, Jersey: p.jersey})
	}
	return t
}

// own records an event of the holder at the ball.
func (g *game) own(typeID int) *statsbomb.Event { return g.emit(typeID, g.has, g.holder, &g.ball) }

// against records an event of the side without the ball near the ball, and returns who did it.
func (g *game) against(typeID int) (*statsbomb.Event, int) {
	at := flip(g.ball)
	who := g.nearest(1-g.has, at, -1)
	return g.emit(typeID, 1-g.has, who, &at), who
}

// detail gives an event its qualifiers.
func (g *game) detail(e *statsbomb.Event, kind, outcome statsbomb.Ref) *statsbomb.Detail {
	e.Detail = g.rec.detail()
	e.Detail.Kind, e.Detail.Outcome = kind, outcome
	return e.Detail
}

// wins gives the ball to a side's player, in open play. If the side did not have it, the possession goes on in the other's
// name until a pass arrives: see settles. A ball won and lost at once makes no possession, in the published data too.
func (g *game) wins(team, who int) {
	if team != g.has {
		g.ball = flip(g.ball)
		g.has = team
	}
	g.holder, g.lastPass, g.crossed = who, 0, false
}

// settles starts a new possession if the side with the ball won it in open play.
func (g *game) settles() {
	if g.owner != g.has {
		g.begins(1, "Regular Play")
	}
}

// begins starts a possession of the side with the ball.
func (g *game) begins(pattern int, name string) {
	g.possession++
	g.owner = g.has
	g.pattern = statsbomb.Ref{ID: pattern, Name: name}
}

// stops makes the ball dead: a side restarts at a place in its own frame.
func (g *game) stops(r restart, team int, at statsbomb.Point) {
	g.has, g.restart, g.ball, g.lastPass, g.crossed = team, r, at, 0, false
}

// flight is how long the ball takes over a distance.
func (g *game) flight(yards float64) float64 { return (.36 + .045*yards) * g.d.between(.8, 1.25) }

func distance(a, b statsbomb.Point) float64 { return math.Hypot(a.X-b.X, a.Y-b.Y) }
