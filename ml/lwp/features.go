package lwp

import "math"

// fullTime is how many minutes a match is expected to last, with the second half's stoppage time; the first half's
// passes while the minute stands at 45.
const fullTime = 94

// minutesLeft returns the minutes expected to be left at a minute; in long stoppage time never less than half of one.
func minutesLeft(minute int) float64 { return max(fullTime-float64(minute), 0.5) }

// view is a match as one side sees it.
type view struct {
	own, other     *Side
	prior, against float64 // goals expected before kick-off, for and against
	elo            float64 // own Elo less the other's
	home           float64 // 1 at home, −1 away, 0 on neutral ground
	left           float64 // minutes
}

// views returns the match as the home and the away team see it.
func views(s *State, p Prior) (home, away view) {
	left, at := minutesLeft(s.Minute()), 1.0
	if p.Neutral {
		at = 0
	}
	home = view{&s.Home, &s.Away, p.Home, p.Away, p.Elo, at, left}
	away = view{&s.Away, &s.Home, p.Away, p.Home, -p.Elo, -at, left}
	return home, away
}

// elapsed is the share of the match that is over, from 0 to 1.
func (v view) elapsed() float64 { return (fullTime - v.left) / fullTime }

// logLeft is the logarithm of the share of the match that is left.
func (v view) logLeft() float64 { return math.Log(v.left / fullTime) }

// exposure is how many goals the prior promises for the time that is left.
func (v view) exposure() float64 { return v.prior * v.left / fullTime }

// lead is own goals less the other's.
func (v view) lead() float64 { return float64(v.own.Goals - v.other.Goals) }

// redAdvantage is how many more players the other side has lost.
func (v view) redAdvantage() float64 { return float64(v.other.Reds - v.own.Reds) }

// surplus and otherSurplus are by how much the expected goals so far exceed what the prior promised by now.
func (v view) surplus() float64      { return v.own.xg() - v.prior*v.elapsed() }
func (v view) otherSurplus() float64 { return v.other.xg() - v.against*v.elapsed() }

// finalThird and box are shares of both sides' entries by pass, held near one half while there are few.
func (v view) finalThird() float64 { return share(v.own.FinalThird, v.other.FinalThird, 5) }
func (v view) box() float64        { return share(v.own.Box, v.other.Box, 3) }

// share returns a / (a + b) after adding some of each.
func share(a, b int32, some float64) float64 {
	return (float64(a) + some) / (float64(a+b) + 2*some)
}

// goalColumns name the columns from which the forest of remaining goals learns, one row per side and minute. Prior,
// Elo and home advantage are not among them: they act through the exposure, and given as columns they only let trees
// learn the teams of the training matches by heart.
func goalColumns() []string {
	return []string{"minutes_left", "lead", "lead_per_root_minute", "red_advantage", "xg_surplus", "xg_surplus_against", "final_third_share", "box_share"}
}

// appendGoalRow appends one row of goalColumns.
func appendGoalRow(dst []float32, v view) []float32 {
	return append(dst, float32(v.left), float32(v.lead()), float32(v.lead()/math.Sqrt(v.left)), float32(v.redAdvantage()),
		float32(v.surplus()), float32(v.otherSurplus()), float32(v.finalThird()), float32(v.box()))
}

// outcomeColumns name the columns from which the forest of outcomes and the logistic regression learn, one row per
// minute, as the home team sees it. What was known before the match fades with the time that is left.
func outcomeColumns() []string {
	return []string{"minutes_left", "lead", "lead_per_root_minute", "red_advantage", "elo_left", "prior_lead_left", "prior_goals_left",
		"xg_lead", "on_target_lead", "final_third_share", "box_share"}
}

// appendOutcomeRow appends one row of outcomeColumns.
func appendOutcomeRow(dst []float32, v view) []float32 {
	left := v.left / fullTime
	return append(dst, float32(v.left), float32(v.lead()), float32(v.lead()/math.Sqrt(v.left)), float32(v.redAdvantage()),
		float32(v.elo*left), float32((v.prior-v.against)*left), float32((v.prior+v.against)*left),
		float32(v.own.xg()-v.other.xg()), float32(v.own.OnTarget-v.other.OnTarget), float32(v.finalThird()), float32(v.box()))
}

// formula is what a Poisson regression of remaining goals looks at, one row per side and minute; its offset is the time left.
type formula struct {
	name    string
	columns []string
	row     func([]float32, view) []float32
}

// published is the regression as it is published, and as others compare with: Elo, score, red cards, expected goals and
// territory.
func published() formula {
	return formula{"Poisson + xG", []string{"elo", "home", "lead", "lead_elapsed", "lead_size", "red_advantage", "xg_lead", "final_third_share",
		"elapsed", "elapsed_squared"}, appendPublishedRow}
}

func appendPublishedRow(dst []float32, v view) []float32 {
	lead, reds, elapsed := v.bounded()
	return append(dst, float32(v.elo/400), float32(v.home), float32(lead), float32(lead*elapsed), float32(math.Abs(lead)), float32(reds),
		float32(v.own.xg()-v.other.xg()), float32(v.finalThird()), float32(elapsed), float32(elapsed*elapsed))
}

// rated looks at what the ratings of attack and defence promise as well, and at expected goals beyond that.
func rated() formula {
	return formula{"Poisson + xG + ratings", append([]string{"log_prior", "log_prior_elapsed", "elo"}, courseColumns()...), appendRatedRow}
}

func appendRatedRow(dst []float32, v view) []float32 {
	return appendCourseRow(append(dst, float32(math.Log(v.prior)), float32(math.Log(v.prior)*v.elapsed()), float32(v.elo/400)), v)
}

// bounded returns the lead and the red cards as regressions see them, and the share of the match that is over. Leads beyond
// three goals and two red cards more count as three and two.
func (v view) bounded() (lead, reds, elapsed float64) {
	return min(max(v.lead(), -3), 3), min(max(v.redAdvantage(), -2), 2), v.elapsed()
}

// courseColumns name what a Poisson regression sees of the match itself.
func courseColumns() []string {
	return []string{"home", "lead", "lead_elapsed", "lead_size", "red_advantage", "xg_surplus", "xg_surplus_against", "final_third_share",
		"box_share", "elapsed", "elapsed_squared"}
}

// appendCourseRow appends one row of courseColumns.
func appendCourseRow(dst []float32, v view) []float32 {
	lead, reds, elapsed := v.bounded()
	return append(dst, float32(v.home), float32(lead), float32(lead*elapsed), float32(math.Abs(lead)), float32(reds),
		float32(v.surplus()), float32(v.otherSurplus()), float32(v.finalThird()), float32(v.box()), float32(elapsed), float32(elapsed*elapsed))
}
