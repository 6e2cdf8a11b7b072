package lwp

import (
	"cmp"
	"math"
	"slices"
)

// Prior is what was known of the two teams before kick-off, from earlier results only.
type Prior struct {
	Elo     float64 // Elo rating of the home team less that of the away team, without home advantage
	Home    float64 // goals expected of the home team in 90 minutes
	Away    float64 // goals expected of the away team in 90 minutes
	Neutral bool    // neither side is at home
	// Goals are Home and Away once more, by each of the strengths that [Average] looks at; 0 and 0: as Home and Away.
	Goals [strengths][2]float64
}

// goals returns the goals expected by one measure of strength.
func (p Prior) goals(measure int) (home, away float64) {
	if g := p.Goals[measure]; g[0] > 0 && g[1] > 0 {
		return g[0], g[1]
	}
	return p.Home, p.Away
}

// Rating is one team's standing. The zero Rating is that of a team nobody has seen.
type Rating struct {
	Team    int     // StatsBomb id
	Elo     float64 // above or below the average
	Attack  float64 // logarithm of how many times the average it scores
	Defence float64 // logarithm of by how many times it lowers what its opponents score
	Played  int     // matches rated
	// Strengths are attack and defence by goals and expected goals, by these and passes into the box, and by these and passes
	// into the final third; each with its variance.
	Strengths [strengths]Strength
	seen      int32 // the day of its last match, since 1970: what Strengths are of
}

// Ratings follow all teams through their matches in order of date. Elo is the usual one (Elo 1978; margin of victory
// as in the World Football Elo ratings); attack and defence take one gradient step of a Poisson log likelihood per
// match, on a mean of goals and expected goals, which say more than goals alone. The strengths know beside it how far they
// are known.
type Ratings struct {
	teams map[int]*Rating
	// Base is the logarithm of the goals an average team scores against another on neutral ground, Advantage what is
	// added for the home team and taken from the away team. Both follow the matches slowly.
	Base, Advantage float64
	levels          [strengths]level
	today           int32 // days since 1970
}

// Constants of the ratings. Steps, fading start and the share of expected goals are the best of a small grid by what
// the ratings say before kick-off of the open data's matches before July 2020 (log loss .8865 after a regression on
// them; half or twice the steps .8866 to .8922). Elo's K hardly matters between 10 and 40 (.8865 to .8860).
const (
	eloStep      = 20.0  // K of Elo
	eloAdvantage = 60.0  // points of the home side
	rateStep     = 0.02  // gradient step of attack and defence
	rateStart    = 0.1   // more while a team is new, fading over rateFade matches
	rateFade     = 8.0   // matches
	baseStep     = 0.002 // gradient step of Base and Advantage
	xgShare      = 0.7   // weight of expected goals where there are any, against goals
)

// NewRatings returns ratings that know no team: 1.35 goals a side, 15 % more at home and less away.
func NewRatings() *Ratings {
	r := &Ratings{teams: map[int]*Rating{}, Base: math.Log(1.35), Advantage: 0.14}
	for k := range r.levels {
		r.levels[k] = level{r.Base, r.Advantage}
	}
	return r
}

// newRating is the standing of a team that nobody has seen.
func newRating(id int) Rating {
	t := Rating{Team: id}
	for k := range t.Strengths {
		t.Strengths[k] = Strength{AttackVariance: unknown, DefenceVariance: unknown}
	}
	return t
}

// team returns the rating of a team, a new one if it was never seen.
func (r *Ratings) team(id int) *Rating {
	t := r.teams[id]
	if t == nil {
		fresh := newRating(id)
		t = &fresh
		r.teams[id] = t
	}
	return t
}

// Prior returns what the ratings say before a match on the day of the last one rated. Teams never seen count as average.
func (r *Ratings) Prior(home, away int, neutral bool) Prior {
	h, a := Rating{}, Rating{}
	if t := r.teams[home]; t != nil {
		h = *t
	}
	if t := r.teams[away]; t != nil {
		a = *t
	}
	advantage := r.Advantage
	if neutral {
		advantage = 0
	}
	p := Prior{Elo: h.Elo - a.Elo, Neutral: neutral,
		Home: math.Exp(r.Base + advantage + h.Attack - a.Defence),
		Away: math.Exp(r.Base - advantage + a.Attack - h.Defence)}
	for k, l := range r.levels {
		p.Goals[k][0], p.Goals[k][1] = l.expected(r.strength(&h, k), r.strength(&a, k), neutral)
	}
	return p
}

// Result is a finished match for the ratings. XG is negative, or NaN, where it is unknown.
type Result struct {
	Home, Away int // team ids
	Neutral    bool
	Date       string     // YYYY-MM-DD; empty: the day of the match before
	Goals      [2]int     // home, away
	XG         [2]float64 // home, away
	// Completed passes from outside into the penalty area and the final third; of no account where XG is unknown.
	Box, FinalThird [2]int
}

// Update takes one finished match into the ratings. More than 20 goals or expected goals of a side count as 20, fewer than
// 0 goals as 0, and so do passes beyond 0 to 200: those of a slip in a list would send the ratings, and all that rests on them, to infinity.
func (r *Ratings) Update(m Result) {
	for side := range m.Goals {
		m.Goals[side] = min(max(m.Goals[side], 0), mostGoals)
		if m.XG[side] = min(m.XG[side], mostGoals); math.IsNaN(m.XG[side]) {
			m.XG[side] = -1
		}
		m.Box[side], m.FinalThird[side] = min(max(m.Box[side], 0), mostEntries), min(max(m.FinalThird[side], 0), mostEntries)
	}
	r.advance(m.Date)
	before := r.Prior(m.Home, m.Away, m.Neutral)
	h, a := r.team(m.Home), r.team(m.Away)
	r.updateElo(h, a, before, m)
	r.updateStrengths(h, a, m)
	homeMiss := scored(m, 0) - before.Home
	awayMiss := scored(m, 1) - before.Away
	hs, as := step(h), step(a)
	h.Attack += hs * homeMiss
	a.Defence -= as * homeMiss
	a.Attack += as * awayMiss
	h.Defence -= hs * awayMiss
	r.Base += baseStep * (homeMiss + awayMiss)
	if !m.Neutral {
		r.Advantage += baseStep * (homeMiss - awayMiss)
	}
	h.Played++
	a.Played++
}

// mostEntries is more entries than a side makes in a match.
const mostEntries = 200

// step is how far one match moves a team.
func step(t *Rating) float64 { return rateStep + rateStart/(1+float64(t.Played)/rateFade) }

// scored is what a side scored: goals, mixed with expected goals where they are known.
func scored(m Result, side int) float64 {
	if m.XG[side] < 0 {
		return float64(m.Goals[side])
	}
	return xgShare*m.XG[side] + (1-xgShare)*float64(m.Goals[side])
}

// updateElo moves both teams by the surprise of the result.
func (r *Ratings) updateElo(h, a *Rating, before Prior, m Result) {
	advantage := eloAdvantage
	if m.Neutral {
		advantage = 0
	}
	expected := 1 / (1 + math.Pow(10, -(before.Elo+advantage)/400))
	margin := m.Goals[0] - m.Goals[1]
	got := 0.5
	if margin > 0 {
		got = 1
	} else if margin < 0 {
		got = 0
	}
	move := eloStep * marginFactor(margin) * (got - expected)
	h.Elo += move
	a.Elo -= move
}

// marginFactor weighs a result by its margin: 1, 1.5, 1.75, then an eighth more for each goal (World Football Elo).
func marginFactor(margin int) float64 {
	if margin < 0 {
		margin = -margin
	}
	switch {
	case margin <= 1:
		return 1
	case margin == 2:
		return 1.5
	}
	return (11 + float64(margin)) / 8
}

// Teams returns the ratings of all teams, ordered by id.
func (r *Ratings) Teams() []Rating {
	out := make([]Rating, 0, len(r.teams))
	for _, t := range r.teams {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Rating) int { return cmp.Compare(a.Team, b.Team) })
	return out
}
