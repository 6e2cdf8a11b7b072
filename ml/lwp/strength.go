package lwp

import (
	"math"
	"time"
)

// strengths is how many measures of a team's strength are followed side by side; see signals.
const strengths = 3

// Strength is how much a team scores and prevents by one measure, with how far that is known.
type Strength struct {
	Attack, Defence                 float64 // as in Rating
	AttackVariance, DefenceVariance float64 // of what is not known of them
}

// signal is a measure of what a side did in a match, on the scale of goals: a weighted sum, whose weights are 1 for a side of
// average finishing.
type signal struct{ goals, xg, box, third float64 }

// signals are the measures of the strengths. Entries into the box and the final third say more of the next match than more
// shots do, for a match has ten and thirty-three of them. Shares are round numbers from a flat region, chosen inside the
// matches before July 2020 by forward chaining: a Poisson regression with Elo and these three was .0079 (standard error .0019)
// of log loss better than Poisson + xG, .0044 with the first alone.
func signals() [strengths]signal {
	return [strengths]signal{{goals: .5, xg: .5}, {goals: .2, xg: .3, box: .5 * goalsPerBox}, {goals: .2, xg: .3, third: .5 * goalsPerThird}}
}

// Goals for each completed pass into the box, and into the final third, in the open data before July 2020.
const (
	goalsPerBox   = 0.154
	goalsPerThird = 0.0463
)

// Constants of the strengths, from the same chaining. Half or twice of each costs .001 of log loss at most.
const (
	unknown    = 0.2 // variance of attack and of defence of a team that nobody has seen
	memory     = 6.0 // years after which 1/e of what was known of a team is left
	dispersion = 0.5 // variance of a signal over its mean: xG and entries scatter less than goals, whose is 1
	farthest   = 2.0 // from 0, of attack and of defence: e² times the average
)

// drifted is a strength some days later: an Ornstein-Uhlenbeck process, which forgets until the team is an unknown one. Old
// World Cups would count as if they had been last week's without it.
func (s Strength) drifted(days int32) Strength {
	if days <= 0 {
		return s
	}
	left := math.Exp(-float64(days) / (memory * 365.25))
	widened := func(variance float64) float64 { return unknown + (variance-unknown)*left*left }
	return Strength{s.Attack * left, s.Defence * left, widened(s.AttackVariance), widened(s.DefenceVariance)}
}

// strength is a team's strength by one measure on the day of the ratings.
func (r *Ratings) strength(t *Rating, measure int) Strength {
	return t.Strengths[measure].drifted(r.today - t.seen)
}

// advance moves the ratings to the day of a date, YYYY-MM-DD; earlier days and what is no date leave them where they are.
func (r *Ratings) advance(date string) {
	if t, err := time.Parse(time.DateOnly, date); err == nil {
		r.today = max(r.today, int32(t.Unix()/(24*60*60)))
	}
}

// of returns the signal of one side of a match, and its dispersion; goals where there is nothing else.
func (s signal) of(m Result, side int) (value, dispersed float64) {
	if m.XG[side] < 0 {
		return float64(m.Goals[side]), 1
	}
	return s.goals*float64(m.Goals[side]) + s.xg*m.XG[side] + s.box*float64(m.Box[side]) + s.third*float64(m.FinalThird[side]), dispersion
}

// level is what an average team scores by one measure, as Ratings' Base and Advantage are.
type level struct{ Base, Advantage float64 }

// expected returns the mean signals of both sides, whose strengths by that measure are h and a.
func (l level) expected(h, a Strength, neutral bool) (home, away float64) {
	advantage := l.Advantage
	if neutral {
		advantage = 0
	}
	return math.Exp(l.Base + advantage + h.Attack - a.Defence), math.Exp(l.Base - advantage + a.Attack - h.Defence)
}

// updateStrengths takes a match into all measures: a step of an extended Kalman filter for Poisson-like counts (Fahrmeir
// and Tutz 1994, chapter 8), with which a new team moves far and a well-known one little, as in Glicko (Glickman 1999).
func (r *Ratings) updateStrengths(h, a *Rating, m Result) {
	for k := range strengths {
		h.Strengths[k], a.Strengths[k] = r.strength(h, k), r.strength(a, k)
	}
	h.seen, a.seen = r.today, r.today
	for k, s := range signals() {
		x, y, l := &h.Strengths[k], &a.Strengths[k], &r.levels[k]
		home, away := l.expected(*x, *y, m.Neutral)
		scoredHome, dispersedHome := s.of(m, 0)
		scoredAway, dispersedAway := s.of(m, 1)
		meet(&x.Attack, &y.Defence, &x.AttackVariance, &y.DefenceVariance, scoredHome, home, dispersedHome)
		meet(&y.Attack, &x.Defence, &y.AttackVariance, &x.DefenceVariance, scoredAway, away, dispersedAway)
		l.Base += baseStep * (scoredHome - home + scoredAway - away)
		if !m.Neutral {
			l.Advantage += baseStep * (scoredHome - home - scoredAway + away)
		}
	}
}

// meet moves an attack and the defence it met by what was scored beyond the mean. Of a mean exp(… + attack − defence), the
// information on attack − defence is mean / dispersed; each takes the share of the surprise that its variance has of all.
func meet(attack, defence, attackVariance, defenceVariance *float64, scored, mean, dispersed float64) {
	information := mean / dispersed
	gain := 1 / (1 + information*(*attackVariance+*defenceVariance))
	surprise := gain * (scored - mean) / dispersed
	*attack = bounded(*attack + *attackVariance*surprise)
	*defence = bounded(*defence - *defenceVariance*surprise)
	*attackVariance = narrowed(*attackVariance, gain*information)
	*defenceVariance = narrowed(*defenceVariance, gain*information)
}

// narrowed is a variance after a match that told so much.
func narrowed(variance, information float64) float64 { return variance - variance*variance*information }

func bounded(v float64) float64 { return min(max(v, -farthest), farthest) }
