package lwp

import "math"

// mostGoals is the most goals that one side is given for a match, or the rest of one: at five expected goals each, more than
// that has a probability below 1e-6.
const mostGoals = 20

// outcomeTo fills dst (home, draw, away) with the probabilities of the final result when the home team leads by lead
// and both sides score as independent Poisson variables with these means. Their difference is Skellam-distributed
// (Skellam 1946); it is summed over the scores, which needs no Bessel function and cannot overflow.
func outcomeTo(dst []float64, lead int, home, away float64) {
	var h, a [mostGoals + 1]float64
	poissonTo(&h, home)
	poissonTo(&a, away)
	clear(dst)
	for i, p := range h {
		for k, q := range a {
			switch d := lead + i - k; {
			case d > 0:
				dst[0] += p * q
			case d == 0:
				dst[1] += p * q
			default:
				dst[2] += p * q
			}
		}
	}
	scale := 1 / (dst[0] + dst[1] + dst[2])
	for k := range dst {
		dst[k] *= scale
	}
}

// poissonTo fills dst with the probabilities of 0, 1, 2, … goals. Means outside what a match can hold are clamped.
func poissonTo(dst *[mostGoals + 1]float64, mean float64) {
	mean = min(max(mean, 0), mostGoals/2)
	dst[0] = math.Exp(-mean)
	for k := 1; k <= mostGoals; k++ {
		dst[k] = dst[k-1] * mean / float64(k)
	}
}
