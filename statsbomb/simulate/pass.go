package simulate

import (
	"math"

	"cancha/statsbomb"
)

// aim is a pass before its outcome is known.
type aim struct {
	end     statsbomb.Point
	height  int // 1 ground, 2 low, 3 high
	odds    float64
	cross   bool
	through bool
	kind    statsbomb.Ref // of a restart
}

// pass is a pass in open play.
func (g *game) pass(pressed bool) {
	a := g.choose()
	a.odds = g.passOdds(a, pressed)
	g.send(a, pressed)
}

// choose picks where to.
func (g *game) choose() aim {
	wide := math.Abs(g.ball.Y-40) > 19
	switch {
	case g.ball.X > 92 && wide && g.d.chance(.20*math.Sqrt(g.hazard())):
		return aim{end: g.inBox(), height: 3, cross: true}
	case g.ball.X > 62 && g.ball.X < 100 && g.d.chance(.018):
		return aim{end: statsbomb.Point{X: clamp(g.ball.X+g.d.between(10, 24), 80, 114), Y: clamp(g.d.normal(40, 12), 8, 72)}, height: 1, through: true}
	case g.ball.X < 30 && g.d.chance(.17):
		return g.longBall()
	}
	length := clamp(g.d.logNormal(14.6, .52), 2, 60)
	angle := g.d.normal(0, 1.42) * g.d.between(.75, 1.25)
	end := statsbomb.Point{X: g.ball.X + length*math.Cos(angle), Y: g.ball.Y + length*math.Sin(angle)}
	end.X = clamp(end.X, 3, 114)
	switch {
	case end.Y < 2:
		end.Y = min(78, 4-end.Y)
	case end.Y > 78:
		end.Y = max(2, 156-end.Y)
	}
	return aim{end: end, height: 1 + g.d.pick(.80, .11, .09)}
}

func (g *game) inBox() statsbomb.Point {
	return statsbomb.Point{X: g.d.between(106, 114), Y: clamp(g.d.normal(40, 6.5), 24, 56)}
}

func (g *game) longBall() aim {
	return aim{end: statsbomb.Point{X: clamp(g.ball.X+g.d.between(32, 62), 40, 110), Y: clamp(g.d.normal(40, 20), 3, 77)}, height: 3}
}

// passOdds is the chance that a pass arrives: long, high, forward and pressed passes fail more often.
func (g *game) passOdds(a aim, pressed bool) float64 {
	z := 3.12 - .034*distance(g.ball, a.end) - .020*max(0, a.end.X-55) - .010*max(0, a.end.X-g.ball.X)
	z -= [...]float64{0, 0, .45, 1.25}[a.height]
	if pressed {
		z -= .62
	}
	if a.cross {
		z = -.45
	}
	if a.through {
		z -= .6
	}
	if near := distance(a.end, statsbomb.Point{X: 120, Y: 40}); near < 22 {
		z -= .16 * (22 - near) // the box is crowded
	}
	// The better side on the ball has more of it, but near the goal that counts for less.
	return logistic(z + g.grip()*(1-.95*clamp((a.end.X-40)/38, 0, 1)))
}

// send plays the pass and what follows from it.
func (g *game) send(a aim, pressed bool) {
	complete := g.d.chance(a.odds)
	if !complete {
		spread := 1 + .12*distance(g.ball, a.end)
		a.end.X = a.end.X + g.d.normal(0, spread)
		a.end.Y = a.end.Y + g.d.normal(0, spread)
	}
	outside := a.end.X < 0 || a.end.X > statsbomb.Length || a.end.Y < 0 || a.end.Y > statsbomb.Width
	a.end.X, a.end.Y = clamp(a.end.X, .1, 120), clamp(a.end.Y, .1, 80)
	recipient := g.nearest(g.has, a.end, g.holder)
	duration := g.flight(distance(g.ball, a.end))
	e := g.own(statsbomb.TypePass)
	index := g.rec.index
	e.UnderPressure, e.Duration = pressed, decimals6(duration)
	p := g.fillPass(e, a)
	switch {
	case complete:
		p.Recipient = g.sides[g.has].club.squad[recipient].ref
		g.clock += duration
		g.arrives(a, index, recipient)
	case outside || g.d.chance(.05):
		p.Outcome, e.Out = statsbomb.Ref{ID: 75, Name: "Out"}, true
		g.clock += duration
		g.ball = a.end
		g.out(1 - g.has)
	case a.end.X > 70 && g.d.chance(.035):
		p.Outcome = statsbomb.Ref{ID: 76, Name: "Pass Offside"}
		g.clock += duration
		g.ball = a.end
		g.offside()
	default:
		p.Outcome = statsbomb.Ref{ID: 9, Name: "Incomplete"}
		p.Recipient = g.sides[g.has].club.squad[recipient].ref
		g.fails(a, index, recipient, duration)
	}
}

func (g *game) fillPass(e *statsbomb.Event, a aim) *statsbomb.Pass {
	p := g.rec.pass()
	e.Pass = p
	p.End = g.rec.point(a.end.X, a.end.Y, 0)
	dx, dy := a.end.X-g.ball.X, a.end.Y-g.ball.Y
	p.Length, p.Angle = decimals6(math.Hypot(dx, dy)), decimals6(math.Atan2(dy, dx))
	p.Height = statsbomb.Ref{ID: a.height, Name: [...]string{"", "Ground Pass", "Low Pass", "High Pass"}[a.height]}
	p.BodyPart = foot(g.d)
	p.Type = a.kind
	p.Cross, p.ThroughBall = a.cross, a.through
	p.Switch = math.Abs(dy) > 36
	return p
}

func foot(d dice) statsbomb.Ref {
	if d.chance(.65) {
		return statsbomb.Ref{ID: 40, Name: "Right Foot"}
	}
	return statsbomb.Ref{ID: 38, Name: "Left Foot"}
}

// arrives lets the recipient have the ball.
func (g *game) arrives(a aim, pass, recipient int) {
	g.settles()
	g.ball, g.holder, g.lastPass = a.end, recipient, pass
	g.crossed = a.cross || a.kind.ID == passCorner
	if g.d.chance(.985) {
		g.own(statsbomb.TypeBallReceipt).UnderPressure = g.d.chance(.09)
		g.rec.relate(pass, g.rec.index)
	}
}

// fails lets the other side have a say in where the ball goes.
func (g *game) fails(a aim, pass, recipient int, duration float64) {
	if g.d.chance(.14) { // blocked soon after it left the foot
		g.ball.X = min(112, g.ball.X+g.d.between(1, 4))
		g.clock += g.d.between(.1, .5)
		g.blocked(pass)
		return
	}
	g.clock += duration
	g.ball = a.end
	if g.d.chance(.88) {
		e := g.emit(statsbomb.TypeBallReceipt, g.has, recipient, &g.ball)
		g.detail(e, statsbomb.Ref{}, statsbomb.Ref{ID: 9, Name: "Incomplete"})
		g.rec.relate(pass, g.rec.index)
	}
	danger := g.ball.X > 94
	keeper := g.ball.X > 104 && math.Abs(g.ball.Y-40) < 18 && g.d.chance(.22)
	switch {
	case keeper:
		g.collects()
	case g.d.chance(.10):
		g.intercepts(pass)
	case g.d.chance(.07 + boolTo(.15, a.height == 3) + boolTo(.30, danger)):
		g.clears(a.height == 3)
	case a.height == 3 && g.d.chance(.62):
		g.aerial()
	default:
		g.loose(.84)
	}
}

// blocked is a pass that hits a defender.
func (g *game) blocked(pass int) {
	g.against(statsbomb.TypeBlock)
	g.rec.relate(pass, g.rec.index)
	g.clock += g.d.between(.2, .8)
	if g.ownGoal(.004) {
		return
	}
	if g.d.chance(.34) {
		if g.ball.X > 95 && g.d.chance(.6) {
			g.ball.X = 118
		}
		g.out(g.has)
		return
	}
	g.loose(.55)
}

func (g *game) intercepts(pass int) {
	e, who := g.against(statsbomb.TypeInterception)
	g.rec.relate(pass, g.rec.index)
	g.clock += g.d.between(.2, .6)
	if g.d.chance(.58) {
		g.detail(e, statsbomb.Ref{}, statsbomb.Ref{ID: 4, Name: "Won"})
		g.wins(1-g.has, who)
		return
	}
	g.detail(e, statsbomb.Ref{}, statsbomb.Ref{ID: 13, Name: "Lost In Play"})
	g.loose(.5)
}

// clears is a defender who only wants the ball away.
func (g *game) clears(high bool) {
	e, _ := g.against(statsbomb.TypeClearance)
	e.UnderPressure = true
	d := g.rec.detail()
	e.Detail = d
	if high && g.d.chance(.7) {
		d.BodyPart, d.Flags = statsbomb.Ref{ID: 37, Name: "Head"}, statsbomb.FlagHead
	} else {
		d.BodyPart, d.Flags = statsbomb.Ref{ID: 40, Name: "Right Foot"}, statsbomb.FlagRightFoot
	}
	g.clock += g.d.between(.6, 1.8)
	if g.ownGoal(.005) {
		return
	}
	far := g.d.between(8, 38)
	if g.d.chance(.22) {
		g.ball.X = max(60, g.ball.X-.4*far)
		if g.ball.X > 88 && g.d.chance(.75) {
			g.ball.X = 118
		}
		g.out(g.has)
		return
	}
	g.ball.X = max(30, g.ball.X-far)
	g.ball.Y = clamp(g.ball.Y+g.d.normal(0, 12), 2, 78)
	g.loose(.45)
}

// aerial is a high ball that the other side wins.
func (g *game) aerial() {
	e := g.emit(statsbomb.TypeDuel, g.has, g.nearest(g.has, g.ball, g.holder), &g.ball)
	e.UnderPressure = true
	g.detail(e, statsbomb.Ref{ID: 10, Name: "Aerial Lost"}, statsbomb.Ref{})
	lost := g.rec.index
	e, who := g.against(statsbomb.TypeClearance)
	e.UnderPressure = true
	d := g.rec.detail()
	d.BodyPart, d.Flags = statsbomb.Ref{ID: 37, Name: "Head"}, statsbomb.FlagHead|statsbomb.FlagAerialWon
	e.Detail = d
	g.rec.relate(lost, g.rec.index)
	g.clock += g.d.between(.5, 1.5)
	if g.d.chance(.3) {
		g.wins(1-g.has, who)
		return
	}
	g.loose(.6)
}

// collects is a goalkeeper who comes for the ball.
func (g *game) collects() {
	at := flip(g.ball)
	keeper := g.keeper(1 - g.has)
	e := g.emit(statsbomb.TypeGoalKeeper, 1-g.has, keeper, &at)
	if g.d.chance(.3) {
		g.detail(e, statsbomb.Ref{ID: 30, Name: "Punch"}, statsbomb.Ref{ID: 53, Name: "In Play Safe"})
		g.clock += g.d.between(.5, 1.5)
		g.ball.X -= g.d.between(8, 20)
		g.loose(.5)
		return
	}
	g.detail(e, statsbomb.Ref{ID: 25, Name: "Collected"}, statsbomb.Ref{ID: 15, Name: "Success"})
	g.stops(keeperThrow, 1-g.has, at)
	g.holder = keeper
}
