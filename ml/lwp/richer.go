package lwp

import (
	"math"

	"cancha/ml"
)

// richColumns name the columns of the Poisson regressions in Average that look at a measure of strength: both sides' priors by
// it, the course of the match, trailing by one goal and by more, and the ratio of expected goals. Elo is not among them.
func richColumns() []string {
	return append(courseColumns(), "log_prior", "log_prior_elapsed", "log_against", "log_against_elapsed", "trails_by_one", "trails_by_more",
		"log_xg_ratio", "log_xg_ratio_elapsed")
}

// appendRichRow appends one row of richColumns.
func appendRichRow(dst []float32, v view) []float32 {
	prior, against, elapsed := math.Log(v.prior), math.Log(v.against), v.elapsed()
	ratio := math.Log((v.own.xg() + halfXG) / (v.other.xg() + halfXG))
	return append(appendCourseRow(dst, v), float32(prior), float32(prior*elapsed), float32(against), float32(against*elapsed),
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

// by returns how to look at a state with the priors of one measure of strength.
func by(measure int) func(Prior, *State) (home, away view) {
	return func(p Prior, s *State) (home, away view) {
		p.Home, p.Away = p.goals(measure)
		return views(s, p)
	}
}

// plainly looks at a state with the priors that all models but Average look at.
func plainly(p Prior, s *State) (home, away view) { return views(s, p) }

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

// rateDatasets returns two rows for every step-th minute of each match, as row makes them of the views that look gives, with the
// remaining goals, and the logarithm of the time left.
func rateDatasets(ms *Matches, step int, features []string, look func(Prior, *State) (home, away view), row func([]float32, view) []float32) (*ml.Dataset, []float64) {
	d, offset := &ml.Dataset{Features: features}, []float64(nil)
	eachState(ms, step, func(m *Match, s *State) {
		for side, v := range sides(look(m.Prior, s)) {
			d.Values = row(d.Values, v)
			d.Targets = append(d.Targets, m.remaining(s, side))
			offset = append(offset, v.logLeft())
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
