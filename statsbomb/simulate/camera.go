package simulate

import (
	"math"

	"cancha/statsbomb"
)

// camera takes 360 frames. It draws from a generator of its own, so that play is the same without it.
type camera struct {
	d  dice
	on bool
}

// shoot gives an event the frame of the moment, if there is one. About 87 % of the published events have one.
func (c *camera) shoot(g *game, e *statsbomb.Event, team, who int) {
	if !c.on || g.rec.silent || c.d.chance(c.missing(e.Type.ID)) {
		return
	}
	ball := *e.Location
	e.VisibleArea = c.visible(ball)
	e.FreezeFrame = make([]statsbomb.FramePlayer, 0, 18)
	e.FreezeFrame = append(e.FreezeFrame, statsbomb.FramePlayer{
		Location: ball, Teammate: true, Actor: true, Keeper: who >= 0 && who == g.keeper(team)})
	c.seen(g, team, ball, func(side, i int, at statsbomb.Point) {
		if side != team || i != who {
			e.FreezeFrame = append(e.FreezeFrame, statsbomb.FramePlayer{Location: at, Teammate: side == team, Keeper: i == g.keeper(side)})
		}
	})
}

func (c *camera) missing(typeID int) float64 {
	switch typeID {
	case statsbomb.TypePass:
		return .17
	case statsbomb.TypeCarry:
		return .08
	case statsbomb.TypeShot:
		return .02
	}
	return .12
}

// The camera stands at the middle of the y = 80 side line, high up: it sees more of the far side.
const (
	nearHalf = 18.5
	farHalf  = 40.5
)

// visible is the part of the pitch in the picture around the ball, a closed polygon.
func (c *camera) visible(ball statsbomb.Point) []float64 {
	x := clamp(ball.X+c.d.normal(0, 3), 14, 106)
	edge := func(v float64) float64 { return tenth(clamp(v, 0, statsbomb.Length)) }
	return []float64{edge(x - farHalf), 80, edge(x - nearHalf), 0, edge(x + nearHalf), 0, edge(x + farHalf), 80, edge(x - farHalf), 80}
}

// seen calls for each player in the picture, with his place in the frame of a side.
func (c *camera) seen(g *game, team int, ball statsbomb.Point, yield func(side, player int, at statsbomb.Point)) {
	for side := range g.sides {
		here := ball
		if side != team {
			here = flip(ball)
		}
		for _, i := range g.sides[side].on {
			at := c.stands(&g.sides[side].club.squad[i], here)
			if side != team {
				at = flip(at)
			}
			// A few beyond the edges are in the published frames too.
			half := nearHalf + (farHalf-nearHalf)*at.Y/statsbomb.Width + 1
			if math.Abs(at.X-ball.X) < half {
				yield(side, i, statsbomb.Point{X: tenth(at.X), Y: tenth(at.Y)})
			}
		}
	}
}

// stands is where a player is when the ball is at a place, in his own side's frame.
func (c *camera) stands(p *player, ball statsbomb.Point) statsbomb.Point {
	if p.position.ID == 1 {
		return statsbomb.Point{X: clamp(2+.13*ball.X+c.d.between(-1, 1), .5, 25), Y: 40 + .12*(ball.Y-40) + c.d.between(-1.5, 1.5)}
	}
	return statsbomb.Point{
		X: clamp(8+.72*p.home.X+.52*(ball.X-60)+c.d.normal(0, 5), 1, 119),
		Y: clamp(40+.78*(p.home.Y-40)+.32*(ball.Y-40)+c.d.normal(0, 4.5), 0, 80),
	}
}

// shotFrame is a shot's own freeze frame, with names: everyone in the attacked third.
func (c *camera) shotFrame(g *game) []statsbomb.ShotPlayer {
	out := make([]statsbomb.ShotPlayer, 0, 16)
	c.seen(g, g.has, g.ball, func(side, i int, at statsbomb.Point) {
		if (side == g.has && i == g.holder) || at.X < 80 && i != g.keeper(side) {
			return
		}
		p := &g.sides[side].club.squad[i]
		out = append(out, statsbomb.ShotPlayer{Location: at, Player: p.ref, Position: p.position, Teammate: side == g.has})
	})
	return out
}
