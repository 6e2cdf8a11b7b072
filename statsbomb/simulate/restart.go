package simulate

import (
	"math"

	"cancha/statsbomb"
)

// restartPass brings the ball back by a pass: throw-in, goal kick, kick-off, goalkeeper's throw, dropped ball.
func (g *game) restartPass(r restart) {
	a := aim{height: 1}
	switch r {
	case throwIn:
		g.begins(4, "From Throw In")
		g.holder = g.nearest(g.has, g.ball, -1)
		a = g.short(13, .5)
		a.height, a.kind = 2+g.d.IntN(2), statsbomb.Ref{ID: passThrowIn, Name: "Throw-in"}
		a.odds = logistic(1.65 - .012*max(0, g.ball.X-60) + .6*g.grip())
	case goalKick:
		g.begins(7, "From Goal Kick")
		a = g.fromKeeper(.5)
		a.kind = statsbomb.Ref{ID: passGoalKick, Name: "Goal Kick"}
	case kickOff:
		g.begins(9, "From Kick Off")
		g.ball = statsbomb.Point{X: 60, Y: 40}
		g.holder = g.sides[g.has].on[len(g.sides[g.has].on)-1]
		a.end = statsbomb.Point{X: g.d.between(44, 54), Y: g.d.between(30, 50)}
		a.kind, a.odds = statsbomb.Ref{ID: passKickOff, Name: "Kick Off"}, .985
	case keeperThrow:
		g.begins(8, "From Keeper")
		a = g.fromKeeper(.35)
	default:
		g.begins(5, "Other")
		g.emit(statsbomb.TypeRefereeBallDrop, g.has, -1, &g.ball)
		g.clock += g.d.between(.5, 1.5)
		g.holder = g.nearest(g.has, g.ball, -1)
		a = g.short(14, .5)
		a.odds = .93
	}
	g.send(a, false)
}

// short is a pass to a man nearby, more or less forward.
func (g *game) short(length, forward float64) aim {
	far, angle := g.d.logNormal(length, .4), g.d.normal(0, 2-forward)
	end := statsbomb.Point{X: clamp(g.ball.X+far*math.Cos(angle), 3, 117), Y: g.ball.Y + far*math.Sin(angle)}
	if end.Y < 2 || end.Y > 78 {
		end.Y = clamp(g.ball.Y-far*math.Sin(angle), 2, 78)
	}
	return aim{end: end, height: 1}
}

// fromKeeper is a goalkeeper's pass: long with the odds given.
func (g *game) fromKeeper(long float64) aim {
	g.holder = g.keeper(g.has)
	if g.d.chance(long) {
		a := g.longBall()
		a.odds = logistic(-.15 + g.grip())
		return a
	}
	return aim{end: statsbomb.Point{X: g.d.between(12, 30), Y: g.d.between(12, 68)}, height: 1, odds: .975}
}

// freeKick is a shot at goal, a ball into the box, or a pass.
func (g *game) freeKick() {
	g.begins(3, "From Free Kick")
	g.holder = g.nearest(g.has, g.ball, -1)
	far := distance(g.ball, statsbomb.Point{X: 120, Y: 40})
	if far < 34 && math.Abs(g.ball.Y-40) < 22 && g.d.chance(.52) {
		g.shoot(fromFreeKick, false)
		return
	}
	a := g.short(17, .7)
	a.odds = logistic(2.3 + g.grip())
	if g.ball.X > 78 && g.d.chance(.62) {
		a = aim{end: g.inBox(), height: 3, cross: true, odds: logistic(-.75)}
	} else if g.d.chance(.2) {
		a = g.longBall()
		a.odds = logistic(-.1 + g.grip())
	}
	a.kind = statsbomb.Ref{ID: passFreeKick, Name: "Free Kick"}
	g.send(a, false)
}

// cornerKick goes into the box, or short.
func (g *game) cornerKick() {
	g.begins(2, "From Corner")
	g.holder = g.nearest(g.has, g.ball, -1)
	a := aim{end: g.inBox(), height: 3, odds: logistic(-.62)}
	if g.d.chance(.18) {
		a = g.short(12, 0)
		a.odds = .93
	}
	a.kind = statsbomb.Ref{ID: passCorner, Name: "Corner"}
	g.send(a, false)
}

// offside stops play for the other side.
func (g *game) offside() {
	if g.d.chance(.09) {
		g.emit(statsbomb.TypeOffside, g.has, g.nearest(g.has, g.ball, g.holder), &g.ball)
	}
	g.clock += g.d.between(1, 3)
	at := flip(g.ball)
	g.stops(freeKick, 1-g.has, at)
}

// deadBall lets the time pass until a restart, and what happens meanwhile.
func (g *game) deadBall() {
	for team := range g.sides {
		g.substitutions(team)
	}
	if g.d.chance(.0048) {
		g.badBehaviour()
	}
	if g.d.chance(.030) {
		g.injury()
	}
	mean := [...]float64{playOn: 0, kickOff: 1, throwIn: 12, goalKick: 24, corner: 29, freeKick: 26, penaltyKick: 75, keeperThrow: 8, dropBall: 14}[g.restart]
	g.clock += mean * g.d.between(.5, 1.5)
	if g.restart == freeKick && g.d.chance(.012) {
		g.restart = dropBall
	}
}

func (g *game) injury() {
	team := g.d.IntN(2)
	on := g.sides[team].on
	g.emit(statsbomb.TypeInjuryStoppage, team, on[g.d.IntN(len(on))], nil)
	pause := g.d.between(20, 90)
	g.clock += pause
	g.lost += pause
}

// substitutions brings on whom the plan has due. All at once as a rule, so that a side stops play seldom.
func (g *game) substitutions(team int) {
	s := &g.sides[team]
	for k := 0; k < len(s.plan); {
		if due := s.plan[k]; due > g.minute() || due >= 45 && g.period == 1 {
			k++
			continue
		}
		early := s.plan[k] < 45
		s.plan = append(s.plan[:k], s.plan[k+1:]...)
		g.substitute(team, early)
	}
}

func (g *game) substitute(team int, injured bool) {
	s := &g.sides[team]
	slot := 1 + g.d.IntN(len(s.on)-1)
	off := s.on[slot]
	best, least := -1, math.Inf(1)
	for k := 1; k < len(s.bench); k++ { // the other goalkeeper stays
		if far := distance(s.club.squad[s.bench[k]].home, s.club.squad[off].home) + g.d.between(0, 20); far < least {
			best, least = k, far
		}
	}
	if best < 0 {
		return
	}
	on := s.bench[best]
	s.bench = append(s.bench[:best], s.bench[best+1:]...)
	s.on[slot] = on
	outcome := statsbomb.Ref{ID: 103, Name: "Tactical"}
	if injured || g.d.chance(.05) {
		outcome = statsbomb.Ref{ID: 102, Name: "Injury"}
	}
	e := g.emit(statsbomb.TypeSubstitution, team, off, nil)
	e.Substitution = &statsbomb.Substitution{Replacement: s.club.squad[on].ref, Outcome: outcome}
	if g.d.chance(.06) && e.Timestamp > milliseconds(1) {
		e.Timestamp -= milliseconds(.4) // real data step back now and then: here, as there, where play rests
	}
	g.clock += g.d.between(2, 9)
	g.lost += 18
	if g.d.chance(.28) {
		g.emit(statsbomb.TypeTacticalShift, team, -1, nil).Tactics = g.tactics(team)
	}
}
