package lwp

import (
	"math"

	"cancha/ml"
)

// richColumns name the columns of the Poisson regressions in Average: those of Poisson + xG by one measure of strength, and
// what goals alone need not follow: the other side's prior, neutral ground, trailing by one goal and by more, and the ratio
// of expected goals.
func richColumns() []string {
	return append(rateColumns(), "log_against", "log_against_elapsed", "neutral", "trails_by_one", "trails_by_more", "log_xg_ratio", "log_xg_ratio_elapsed")
}

// appendRichRow appends one row of richColumns.
func appendRichRow(dst []float32, v view) []float32 {
	against, ratio, elapsed := math.Log(v.against), math.Log((v.own.xg()+halfXG)/(v.other.xg()+halfXG)), v.elapsed()
	return append(appendRateRow(dst, v), float32(against), float32(against*elapsed), float32(1-math.Abs(v.home)),
		truth32(v.lead() == -1), truth32(v.lead() < -1), float32(ratio), float32(ratio*elapsed))
}

// halfXG keeps the ratio of expected goals near 1 while there are few.
const halfXG = 0.5

func truth32(yes bool) float32 {
	if yes {
		return 1
	}
	return 0
}

// by returns both views with the priors of one measure of strength.
func (p Prior) by(s *State, measure int) (home, away view) {
	p.Home, p.Away = p.goals(measure)
	return views(s, p)
}

// middle returns the prior whose goals are the geometric means of all measures.
func (p Prior) middle() Prior {
	home, away := 1.0, 1.0
	for k := range strengths {
		h, a := p.goals(k)
		home, away = home*h, away*a
	}
	p.Home, p.Away = math.Cbrt(home), math.Cbrt(away)
	return p
}

// richDataset returns two rows for every third minute of each match, with the remaining goals, and the logarithm of the time
// left. Without Elo its column is 0, and so will be its coefficient.
func richDataset(ms *Matches, measure int, elo bool) (*ml.Dataset, []float64) {
	d, offset := &ml.Dataset{Features: richColumns()}, []float64(nil)
	eachState(ms, averageStep, func(m *Match, s *State) {
		p := m.Prior
		if !elo {
			p.Elo = 0
		}
		for side, v := range sides(p.by(s, measure)) {
			d.Values = appendRichRow(d.Values, v)
			d.Targets = append(d.Targets, m.remaining(s, side))
			offset = append(offset, math.Log(v.left/fullTime))
		}
	})
	return d, offset
}

// sides returns both views as an array, home first.
func sides(home, away view) [2]view { return [2]view{home, away} }

// remaining returns the goals that a side, 0 home or 1 away, still scores within the 90 minutes.
func (m *Match) remaining(s *State, side int) float64 {
	if side == 0 {
		return float64(m.Final.Home.Goals - s.Home.Goals)
	}
	return float64(m.Final.Away.Goals - s.Away.Goals)
}

// eachState calls f for every step-th minute of each match.
func eachState(ms *Matches, step int, f func(m *Match, s *State)) {
	for i := range ms.Matches {
		m := &ms.Matches[i]
		for k := 0; k < len(m.States); k += step {
			f(m, &m.States[k])
		}
	}
}
