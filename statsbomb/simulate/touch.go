package simulate

import (
	"math"

	"cancha/statsbomb"
)

// touch is what a player does with the ball: carry it, and then one of the ends of a touch.
func (g *game) touch() {
	pressed := g.carry()
	if g.restart != playOn {
		return
	}
	deep := clamp((g.ball.X-20)/90, 0, 1)
	switch {
	case g.d.chance(g.shotOdds()):
		g.shoot(openPlay, pressed)
	case g.d.chance(.0175 + boolTo(.022, pressed)):
		g.fouled()
	case g.d.chance(.012 + .034*deep + boolTo(.018, pressed)):
		g.dribble()
	case g.d.chance(.006 + .012*deep + boolTo(.030, pressed)):
		g.dispossessed()
	case g.d.chance(.017 + .014*deep + boolTo(.012, pressed)):
		g.miscontrol()
	default:
		g.pass(pressed)
	}
}

func boolTo(v float64, yes bool) float64 {
	if yes {
		return v
	}
	return 0
}

// shotOdds is the hazard of a shot at a touch. By the constants a touch at the penalty spot is a shot in about one of three, one
// from 25 yards in thirty.
func (g *game) shotOdds() float64 {
	d := distance(g.ball, statsbomb.Point{X: 120, Y: 40})
	if d > 36 {
		return 0
	}
	wide := math.Abs(g.ball.Y-40) / max(1, 120-g.ball.X)
	odds := .99 * math.Exp(-d/13) / (1 + .8*wide*wide)
	odds += .018 * clamp((36-d)/14, 0, 1)
	if g.crossed {
		odds *= 2.4
	}
	return min(.85, odds*g.hazard())
}

// carry moves the ball with the holder's feet, or not at all, and reports whether he is under pressure at the end.
func (g *game) carry() bool {
	goes := !g.crossed && g.d.chance(.84)
	pressed := g.d.chance(.25 + .12*clamp((g.ball.X-20)/80, 0, 1))
	switch {
	case goes:
		g.carries(pressed)
	case pressed:
		g.pressure()
	}
	g.clock += g.d.between(.03, .3)
	return pressed
}

func (g *game) carries(pressed bool) {
	length := max(0, g.d.logNormal(3.4, .95)-.6)
	length = min(length, 45)
	angle := g.d.normal(0, .95)
	end := statsbomb.Point{X: clamp(g.ball.X+length*math.Cos(angle), 1, 118.5), Y: clamp(g.ball.Y+length*math.Sin(angle), 1, 79)}
	if near := distance(end, statsbomb.Point{X: 120, Y: 40}); near < 15 {
		end = g.ball // defenders close the way to the goal
	}
	duration := (.45 + .25*length) * g.d.between(.7, 1.5)
	e := g.own(statsbomb.TypeCarry)
	carry := g.rec.index
	e.Carry = g.rec.carry()
	e.Carry.End = g.rec.point(end.X, end.Y, 0)
	e.Duration, e.UnderPressure = decimals6(duration), pressed
	if pressed {
		g.clock += .4 * duration
		g.pressure()
		g.rec.relate(carry, g.rec.index)
		g.clock += .6 * duration
	} else {
		g.clock += duration
	}
	g.ball = end
}

// pressure records that someone presses the holder.
func (g *game) pressure() {
	e, _ := g.against(statsbomb.TypePressure)
	e.Duration = decimals6(g.d.between(.2, 1.3))
	e.CounterPress = g.d.chance(.18)
}

// dribble is an attempt to beat a man.
func (g *game) dribble() {
	won := g.d.chance(.56)
	if won {
		g.against(statsbomb.TypeDribbledPast)
		past := g.rec.index
		e := g.own(statsbomb.TypeDribble)
		e.UnderPressure = true
		g.detail(e, statsbomb.Ref{}, statsbomb.Ref{ID: 8, Name: "Complete"})
		g.rec.relate(past, g.rec.index)
		g.ball.X = min(112, g.ball.X+g.d.between(1, 5))
		g.clock += g.d.between(.5, 1.4)
		return
	}
	e := g.own(statsbomb.TypeDribble)
	e.UnderPressure = true
	g.detail(e, statsbomb.Ref{}, statsbomb.Ref{ID: 9, Name: "Incomplete"})
	g.tackle(g.rec.index)
}

// dispossessed loses the ball to a tackle.
func (g *game) dispossessed() {
	g.own(statsbomb.TypeDispossessed).UnderPressure = true
	g.tackle(g.rec.index)
}

// tackle is won by the side without the ball; where the ball goes is another matter.
func (g *game) tackle(related int) {
	e, who := g.against(statsbomb.TypeDuel)
	g.rec.relate(related, g.rec.index)
	outcomes := [...]statsbomb.Ref{{ID: 4, Name: "Won"}, {ID: 16, Name: "Success In Play"}, {ID: 13, Name: "Lost In Play"}, {ID: 14, Name: "Lost Out"}}
	k := g.d.pick(.27, .40, .20, .13)
	e.UnderPressure = true
	g.detail(e, statsbomb.Ref{ID: 11, Name: "Tackle"}, outcomes[k])
	g.clock += g.d.between(.3, 1)
	switch k {
	case 0:
		g.wins(1-g.has, who)
	case 1:
		g.loose(.8)
	case 2:
		g.loose(.1)
	default:
		g.out(g.has)
	}
}

// miscontrol lets the ball run away.
func (g *game) miscontrol() {
	g.own(statsbomb.TypeMiscontrol)
	g.clock += g.d.between(.4, 1.2)
	if g.d.chance(.25) {
		g.out(1 - g.has)
		return
	}
	g.loose(.72)
}

// loose is a ball that belongs to nobody; the side that lost it gets it back with one minus the odds given.
func (g *game) loose(odds float64) {
	switch {
	case g.d.chance(.10):
		g.out(g.d.IntN(2))
		return
	case g.d.chance(.007):
		g.fiftyFifty()
	}
	team := g.has
	if g.d.chance(odds) {
		team = 1 - g.has
	}
	g.ball.X = clamp(g.ball.X+g.d.normal(0, 4), 1, 113)
	g.ball.Y = clamp(g.ball.Y+g.d.normal(0, 4), 1, 79)
	at := g.ball
	if team != g.has {
		at = flip(at)
	}
	who := g.nearest(team, at, -1)
	g.clock += g.d.between(.5, 2)
	g.wins(team, who)
	if g.d.chance(.58) {
		g.own(statsbomb.TypeBallRecovery)
		g.clock += g.d.between(.1, .5)
	}
}

// fiftyFifty is a ball that two reach at once.
func (g *game) fiftyFifty() {
	e := g.own(statsbomb.TypeFiftyFifty)
	g.detail(e, statsbomb.Ref{}, statsbomb.Ref{ID: 1, Name: "Lost"})
	first := g.rec.index
	e, _ = g.against(statsbomb.TypeFiftyFifty)
	g.detail(e, statsbomb.Ref{}, statsbomb.Ref{ID: 4, Name: "Won"})
	g.rec.relate(first, g.rec.index)
}

// out is a ball over the nearest line, last touched by the other side than the one that restarts.
func (g *game) out(restarts int) {
	at := g.ball
	if restarts != g.has {
		at = flip(at)
	}
	switch {
	case at.X < 14 && math.Abs(at.Y-40) < 34:
		g.stops(goalKick, restarts, statsbomb.Point{X: 6, Y: g.d.between(34, 46)})
	case at.X > 112 && math.Abs(at.Y-40) < 36:
		g.stops(corner, restarts, cornerFlag(at.Y))
	default:
		g.stops(throwIn, restarts, statsbomb.Point{X: at.X, Y: touchline(at.Y)})
	}
}

func cornerFlag(y float64) statsbomb.Point { return statsbomb.Point{X: 120, Y: touchline(y)} }

func touchline(y float64) float64 {
	if y < statsbomb.Width/2 {
		return .1
	}
	return statsbomb.Width
}
