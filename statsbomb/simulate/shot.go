package simulate

import (
	"math"

	"cancha/statsbomb"
)

// Shot types, goalkeepers' acts and the pass types that code asks for, by StatsBomb's ids.
const (
	openPlay     = 87
	fromFreeKick = 62
	fromPenalty  = 88

	passCorner   = 61
	passFreeKick = 62
	passGoalKick = 63
	passKickOff  = 65
	passThrowIn  = 67
)

// penaltyXG is what StatsBomb gives every penalty.
const penaltyXG = .7835

// shot is a chance and what became of it.
type shot struct {
	kind      int
	header    bool
	published float64 // xG
	odds      float64 // of a goal
	outcome   int
}

// shoot is a shot of the holder.
func (g *game) shoot(kind int, pressed bool) {
	s := shot{kind: kind, header: g.crossed && kind == openPlay && g.d.chance(.62)}
	truth := g.chanceQuality(s) + g.d.normal(0, .58) + g.quality()
	s.published = clamp(logistic(truth+g.d.normal(0, .30)), .004, .97)
	s.odds = logistic(truth)
	g.finish(s, pressed)
}

// chanceQuality is the logit of a chance's worth by its place alone: rounded from a fit of ln(distance), the angle between the
// posts and head or foot to the xG of 7,591 published shots (residual .70).
func (g *game) chanceQuality(s shot) float64 {
	dx, dy := statsbomb.Length-g.ball.X, g.ball.Y-statsbomb.Width/2
	angle := math.Atan2(8*dx, dx*dx+dy*dy-16)
	if angle < 0 {
		angle += math.Pi
	}
	z := 2.40 - 1.86*math.Log(max(.8, math.Hypot(dx, dy))) + .54*angle
	if s.header {
		z -= 1.12
	}
	if s.kind == fromFreeKick {
		z += .25
	}
	return z
}

// penalty is a shot from the spot.
func (g *game) penalty() {
	g.begins(3, "From Free Kick")
	g.ball = statsbomb.Point{X: 108, Y: 40}
	g.holder = g.sides[g.has].on[len(g.sides[g.has].on)-1]
	g.finish(shot{kind: fromPenalty, published: penaltyXG, odds: .77}, false)
}

// finish settles a shot.
func (g *game) finish(s shot, pressed bool) {
	g.settles()
	side := &g.sides[g.has]
	s.odds = min(.98, s.odds*side.finish*side.club.squad[g.holder].finishing)
	s.outcome = g.shotOutcome(s)
	end, far := g.shotEnd(s)
	e := g.own(statsbomb.TypeShot)
	index := g.rec.index
	duration := far / g.d.between(17, 28)
	e.Duration, e.UnderPressure = decimals6(duration), pressed
	if !g.rec.silent {
		g.describe(e, s, end)
		g.assist(index, s.outcome == statsbomb.OutcomeGoal)
	}
	g.clock += duration
	g.follow(s, index)
}

// shotOutcome draws an outcome id.
func (g *game) shotOutcome(s shot) int {
	if g.d.chance(s.odds) {
		return statsbomb.OutcomeGoal
	}
	if s.kind == fromPenalty {
		return [...]int{statsbomb.OutcomeSaved, 98, 99}[g.d.pick(.7, .2, .1)]
	}
	return [...]int{98, 96, statsbomb.OutcomeSaved, 101, 99, 115, 116}[g.d.pick(.355, .297, .26, .054, .024, .006, .003)]
}

// shotEnd draws where the shot ends, and how far that is.
func (g *game) shotEnd(s shot) (statsbomb.Point, float64) {
	end := statsbomb.Point{X: 120, Y: g.d.between(36.4, 43.6), Z: g.d.between(.1, 2.5)}
	switch s.outcome {
	case 96:
		part := g.d.between(.08, .5)
		end = statsbomb.Point{X: g.ball.X + part*(120-g.ball.X), Y: g.ball.Y + part*(40-g.ball.Y)}
	case statsbomb.OutcomeSaved, 115, 116:
		end.X = g.d.between(116, 119)
	case 98, 101:
		end.Y, end.Z = g.d.normal(40, 6), g.d.between(.2, 6)
		if math.Abs(end.Y-40) < 4 && end.Z < 2.7 {
			end.Z += 2.7
		}
	case 99:
		end.Y = 40 + 4*math.Copysign(1, g.d.Float64()-.5)
	}
	end.Y = clamp(end.Y, 5, 75)
	return end, distance(g.ball, end)
}

func (g *game) describe(e *statsbomb.Event, s shot, end statsbomb.Point) {
	body := foot(g.camera.d)
	if s.header {
		body = statsbomb.Ref{ID: 37, Name: "Head"}
	}
	names := map[int]string{fromPenalty: "Penalty", fromFreeKick: "Free Kick", openPlay: "Open Play"}
	e.Shot = &statsbomb.Shot{
		XG: decimals6(s.published), End: g.rec.point(end.X, end.Y, end.Z), Outcome: outcomeRef(s.outcome),
		Type: statsbomb.Ref{ID: s.kind, Name: names[s.kind]}, BodyPart: body, Technique: statsbomb.Ref{ID: 93, Name: "Normal"},
		FirstTime: s.header || g.crossed,
	}
	if s.kind != fromPenalty {
		e.Shot.FreezeFrame = g.camera.shotFrame(g)
	}
}

func outcomeRef(id int) statsbomb.Ref {
	names := map[int]string{96: "Blocked", 97: "Goal", 98: "Off T", 99: "Post", 100: "Saved", 101: "Wayward", 115: "Saved Off Target", 116: "Saved to Post"}
	return statsbomb.Ref{ID: id, Name: names[id]}
}

// assist ties a shot to the pass before it.
func (g *game) assist(index int, goal bool) {
	pass, made := g.rec.event(g.lastPass), g.rec.event(index)
	if pass == nil || pass.Pass == nil {
		return
	}
	made.Shot.KeyPass = pass.ID
	pass.Pass.AssistedShot = made.ID
	pass.Pass.GoalAssist, pass.Pass.ShotAssist = goal, !goal
}

// follow lets the other side answer a shot.
func (g *game) follow(s shot, index int) {
	switch s.outcome {
	case statsbomb.OutcomeGoal:
		g.keeps(index, 26, "Goal Conceded", "No Touch")
		g.scores(g.has)
	case statsbomb.OutcomeSaved, 115, 116:
		g.saved(s, index)
	case 96:
		g.against(statsbomb.TypeBlock)
		g.rec.relate(index, g.rec.index)
		g.clock += g.d.between(.3, .9)
		g.ball.X = min(112, g.ball.X+2)
		if g.ownGoal(.003) {
			return
		}
		if g.d.chance(.30) {
			g.stops(corner, g.has, cornerFlag(g.ball.Y))
			return
		}
		g.loose(.58)
	case 99:
		g.keeps(index, 32, "Shot Faced", "")
		g.ball.X = min(111, g.ball.X+3)
		g.loose(.55)
	default:
		g.keeps(index, 32, "Shot Faced", "")
		g.clock += g.d.between(1, 3)
		g.stops(goalKick, 1-g.has, statsbomb.Point{X: 6, Y: g.d.between(35, 45)})
	}
}

// keeps records the goalkeeper's act.
func (g *game) keeps(shot, id int, kind, outcome string) {
	at := statsbomb.Point{X: g.d.between(1, 5), Y: g.d.between(36, 44)}
	e := g.emit(statsbomb.TypeGoalKeeper, 1-g.has, g.keeper(1-g.has), &at)
	d := g.detail(e, statsbomb.Ref{ID: id, Name: kind}, statsbomb.Ref{})
	d.Position = statsbomb.Ref{ID: 44, Name: "Set"}
	switch outcome {
	case "No Touch":
		d.Outcome = statsbomb.Ref{ID: 55, Name: outcome}
	case "Success":
		d.Outcome = statsbomb.Ref{ID: 15, Name: outcome}
	case "Touched Out":
		d.Outcome = statsbomb.Ref{ID: 59, Name: outcome}
	}
	g.rec.relate(shot, g.rec.index)
}

func (g *game) saved(s shot, index int) {
	id, kind := 33, "Shot Saved"
	if s.kind == fromPenalty {
		id, kind = 29, "Penalty Saved"
	}
	switch g.d.pick(.56, .24, .20) {
	case 0:
		g.keeps(index, id, kind, "Success")
		at := statsbomb.Point{X: 5, Y: 40}
		g.stops(keeperThrow, 1-g.has, at)
		g.holder = g.keeper(g.has)
	case 1:
		g.keeps(index, id, kind, "Touched Out")
		g.clock += g.d.between(.5, 2)
		g.stops(corner, g.has, cornerFlag(g.d.between(0, 80)))
	default:
		g.keeps(index, id, kind, "")
		g.ball = statsbomb.Point{X: g.d.between(104, 113), Y: g.d.normal(40, 9)}
		g.loose(.6)
	}
}

// scores counts a goal of a side; the other kicks off.
func (g *game) scores(team int) {
	g.score[team]++
	pause := g.d.between(38, 75)
	g.clock += pause
	g.lost += .6 * pause
	g.stops(kickOff, 1-team, statsbomb.Point{X: 60, Y: 40})
}

// ownGoal lets a defender who touches the ball near his goal put it in, with the odds given.
func (g *game) ownGoal(odds float64) bool {
	if g.ball.X < 104 || math.Abs(g.ball.Y-40) > 14 || !g.d.chance(odds*1.6) {
		return false
	}
	g.against(statsbomb.TypeOwnGoalAgainst)
	index := g.rec.index
	at, who := &g.ball, -1 // half of the published events name nobody, some no place
	if g.d.chance(.47) {
		who = g.holder
	}
	if g.d.chance(.08) {
		at = nil
	}
	g.emit(statsbomb.TypeOwnGoalFor, g.has, who, at)
	g.rec.relate(index, g.rec.index)
	g.scores(g.has)
	return true
}
