package simulate

import (
	"math"
	"slices"

	"cancha/statsbomb"
)

// fouled is a foul in a duel for the ball: by the side without it as a rule, else by the holder.
func (g *game) fouled() {
	inBox := g.ball.X > 102 && math.Abs(g.ball.Y-40) < 18
	if inBox && g.d.chance(.72) { // defenders take care there, and so do referees
		g.pass(true)
		return
	}
	if g.d.chance(.25) {
		g.attackerFouls()
		return
	}
	g.settles()
	e, who := g.against(statsbomb.TypeFoulCommitted)
	committed := g.rec.index
	card := g.cardFor(1-g.has, who, .102+boolTo(.2, inBox), .0028)
	e.Card, e.Penalty = card, inBox
	won := g.own(statsbomb.TypeFoulWon)
	if inBox {
		won.Detail = g.rec.detail()
		won.Detail.Flags = statsbomb.FlagPenalty
	}
	g.rec.relate(committed, g.rec.index)
	g.clock += g.d.between(.5, 2)
	g.punish(1-g.has, who, card)
	if inBox {
		g.stops(penaltyKick, g.has, statsbomb.Point{X: 108, Y: 40})
		return
	}
	g.stops(freeKick, g.has, g.ball)
}

func (g *game) attackerFouls() {
	e := g.own(statsbomb.TypeFoulCommitted)
	committed, who := g.rec.index, g.holder
	card := g.cardFor(g.has, who, .075, .0015)
	e.Card = card
	e.Detail = g.rec.detail()
	e.Detail.Flags = statsbomb.FlagOffensive
	g.against(statsbomb.TypeFoulWon)
	g.rec.relate(committed, g.rec.index)
	g.clock += g.d.between(.5, 2)
	g.punish(g.has, who, card)
	g.stops(freeKick, 1-g.has, flip(g.ball))
}

// cardFor draws what the referee shows. A booked player is careful, and the referee lenient with him.
func (g *game) cardFor(team, who int, yellow, red float64) statsbomb.Ref {
	yellow *= .75 + .6*g.played()
	s := &g.sides[team]
	if s.booked[who] {
		yellow *= .52
	}
	switch {
	case g.d.chance(red):
		return statsbomb.Ref{ID: statsbomb.CardRed, Name: "Red Card"}
	case !g.d.chance(yellow):
		return statsbomb.Ref{}
	case s.booked[who]:
		return statsbomb.Ref{ID: statsbomb.CardSecondYellow, Name: "Second Yellow"}
	}
	return statsbomb.Ref{ID: statsbomb.CardYellow, Name: "Yellow Card"}
}

// punish books a player or sends him off.
func (g *game) punish(team, who int, card statsbomb.Ref) {
	if card == (statsbomb.Ref{}) {
		return
	}
	g.lost += 15
	s := &g.sides[team]
	s.booked[who] = true
	if card.ID == statsbomb.CardYellow {
		return
	}
	g.lost += 30
	if k := slices.Index(s.on, who); k >= 0 && len(s.on) > 7 { // fewer than seven would end the match
		s.on = slices.Delete(s.on, k, k+1)
		s.short++
	}
}

// badBehaviour is a card for anything but a foul.
func (g *game) badBehaviour() {
	team := g.d.IntN(2)
	on := g.sides[team].on
	who := on[1+g.d.IntN(len(on)-1)]
	card := g.cardFor(team, who, 2, .02)
	e := g.emit(statsbomb.TypeBadBehaviour, team, who, nil)
	e.Card = card
	g.punish(team, who, card)
}
