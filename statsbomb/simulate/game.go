package simulate

import (
	"math"

	"cancha/statsbomb"
)

// game is a match while it is played. Places are in the frame of the side that has the ball, which attacks towards x = 120.
type game struct {
	d      dice
	rec    recorder
	camera camera
	sides  [2]side
	score  [2]int
	tempo  float64 // factor on the hazard of shots, common to both sides

	period     int
	clock      float64 // seconds of the period
	lost       float64 // seconds of the period that the referee adds
	has        int     // the side with the ball
	holder     int     // who holds it: an index of the club's squad
	ball       statsbomb.Point
	restart    restart
	possession int
	owner      int // the side that the running possession is counted for
	pattern    statsbomb.Ref
	lastPass   int // index of the pass that brought the ball, 0 if none
	crossed    bool
}

// side is a club on the day.
type side struct {
	club    *club
	on      []int // who is on the pitch, of the club's squad; the goalkeeper first
	bench   []int
	booked  [squadSize]bool
	plan    []float64 // minutes of the substitutions still to come
	attack  float64
	defence float64
	control float64
	finish  float64 // factor on true quality, of the day
	short   int     // players sent off
}

// restart tells how the ball comes back into play; playOn means that it is in play.
type restart int

const (
	playOn restart = iota
	kickOff
	throwIn
	goalKick
	corner
	freeKick
	penaltyKick
	keeperThrow
	dropBall
)

// prepare draws what the day brings.
func (g *game) prepare(strengths [2]strength) {
	g.tempo = g.d.logNormal(1, .13)
	const homeAttack, homeControl = .14, .04
	for i := range g.sides {
		s, t := &g.sides[i], strengths[i]
		form := g.d.normal(0, .13)
		s.attack = t.attack + form + g.d.normal(0, .08)
		s.defence = t.defence + .7*form + g.d.normal(0, .10)
		s.control = t.control + .6*form + g.d.normal(0, .10)
		s.finish = g.d.logNormal(1, .12)
		s.pickTeam(g.d)
	}
	g.sides[0].attack += homeAttack
	g.sides[1].attack -= homeAttack
	g.sides[0].control += homeControl
	g.sides[1].control -= homeControl
}

// pickTeam chooses eleven and plans the substitutions.
func (s *side) pickTeam(d dice) {
	for i := range squadSize {
		if i < starters {
			s.on = append(s.on, i)
		} else {
			s.bench = append(s.bench, i)
		}
	}
	for k := 1; k < len(s.bench); k++ { // the first of the bench is the other goalkeeper
		if d.chance(.3) {
			role := benchRole(s.bench[k])
			s.on[role], s.bench[k] = s.bench[k], s.on[role]
		}
	}
	if d.chance(.08) {
		s.plan = append(s.plan, d.between(5, 44)) // an injury
	}
	if d.chance(.14) {
		s.plan = append(s.plan, 45)
	}
	late := 2 + d.pick(.38, .42, .14, .06)
	for len(s.plan) < late {
		s.plan = append(s.plan, clamp(d.normal(71, 10), 50, 91))
	}
}

// play plays the match.
func (g *game) play() {
	first := g.d.IntN(2)
	g.startingXI()
	for g.period = 1; g.period <= 2; g.period++ {
		g.half((first + g.period - 1) % 2)
	}
}

// half plays a period that a side kicks off.
func (g *game) half(kicks int) {
	g.clock, g.lost = 0, 0
	g.pattern = statsbomb.Ref{ID: 1, Name: "Regular Play"}
	g.possession++
	g.has, g.owner = kicks, kicks
	g.both(statsbomb.TypeHalfStart)
	g.clock += g.d.between(.3, 1.2)
	g.restart = kickOff
	end := 0.0
	for {
		g.step()
		if g.clock < 45*60 {
			continue
		}
		if end == 0 {
			end = g.fullTime()
		}
		// The referee lets an attack near the goal end.
		attack := g.restart == penaltyKick || g.restart == playOn && g.ball.X > 85 && g.clock < end+60
		if g.clock > end && !attack {
			break
		}
	}
	g.both(statsbomb.TypeHalfEnd)
}

// fullTime returns the second of the period at which the referee ends it.
func (g *game) fullTime() float64 {
	if g.period == 1 {
		return 45*60 + clamp(g.d.normal(50, 30)+.45*g.lost, 5, 480)
	}
	return 45*60 + clamp(g.d.normal(120, 35)+.45*g.lost, 60, 600)
}

// step plays on from a restart or a touch.
func (g *game) step() {
	if g.restart == playOn {
		g.touch()
		return
	}
	g.deadBall()
	r := g.restart
	g.restart = playOn
	g.crossed = false
	switch r {
	case penaltyKick:
		g.penalty()
	case corner:
		g.cornerKick()
	case freeKick:
		g.freeKick()
	default:
		g.restartPass(r)
	}
}

// minute is the match minute as published: each half starts anew at 0 or 45.
func (g *game) minute() float64 { return 45*float64(g.period-1) + g.clock/60 }

// played is about how much of the match is over, from 0 to 1.
func (g *game) played() float64 { return clamp(g.minute()/94, 0, 1) }

// lead is how many goals a side is ahead.
func (g *game) lead(team int) int { return g.score[team] - g.score[1-team] }

// push is the factor on the hazard of shots that comes of the score and the clock: who trails, dares.
func (g *game) push(team int) float64 {
	late := 0.0
	if p := g.played(); p > .55 {
		late = (p - .55) / .45
	}
	calm := .86 + .26*g.played()
	switch lead := g.lead(team); {
	case lead <= -3:
		return calm * .98
	case lead < 0:
		return calm * (1.08 + .16*late)
	case lead == 0:
		return calm * (1 + .04*late)
	case lead == 1:
		return calm * (.95 - .10*late)
	}
	return calm * .93
}

// hazard is the factor on shots and on getting forward.
func (g *game) hazard() float64 {
	own, other := &g.sides[g.has], &g.sides[1-g.has]
	men := math.Pow(.72, float64(own.short)) * math.Pow(1.22, float64(other.short))
	// Having the ball is not yet danger: a side that keeps it well meets a side that stands deep.
	patience := -.55 * (own.control - other.control)
	return g.tempo * g.push(g.has) * men * math.Exp(.5*(own.attack-other.defence)+patience)
}

// quality is what a side's chances are worth beyond their place, as a logit: better sides make better ones, and a side that
// throws men forward late leaves room behind.
func (g *game) quality() float64 {
	own, other := &g.sides[g.has], &g.sides[1-g.has]
	q := .2*(own.attack-other.defence) + .12*float64(other.short)
	if lead := g.lead(g.has); lead > 0 {
		q += .10 + .30*max(0, g.played()-.6)
	}
	return q
}

// grip is how well the side with the ball keeps it, as a logit around 0.
func (g *game) grip() float64 {
	own, other := &g.sides[g.has], &g.sides[1-g.has]
	sit := 0.0
	if lead := g.lead(g.has); lead != 0 {
		sit = -.05 * clamp(float64(lead), -2, 2) * g.played() // who leads leaves the ball to the other
	}
	return 3.4*(own.control-other.control) + .22*float64(other.short-own.short) + sit
}

// keeper is the goalkeeper of a side.
func (g *game) keeper(team int) int { return g.sides[team].on[0] }

// nearest picks a player of a side near a place in that side's frame; not the goalkeeper, not the one named.
func (g *game) nearest(team int, at statsbomb.Point, not int) int {
	s := &g.sides[team]
	best, least := s.on[len(s.on)-1], math.Inf(1)
	for _, i := range s.on[1:] {
		if i == not {
			continue
		}
		home := &s.club.squad[i].home
		// The block moves with the ball; the draw makes it a likely player, not always the same.
		dx, dy := home.X+.5*(at.X-60)-at.X, home.Y-at.Y
		if far := dx*dx + dy*dy + 700*g.d.Float64(); far < least {
			best, least = i, far
		}
	}
	return best
}

// flip gives a place as the other side sees it.
func flip(p statsbomb.Point) statsbomb.Point {
	return statsbomb.Point{X: statsbomb.Length - p.X, Y: statsbomb.Width - p.Y, Z: p.Z}
}
