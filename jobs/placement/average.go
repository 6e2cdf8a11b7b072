package placement

import "math"

// Average is the exponentially weighted mean and variance of numbers that came one after another. The zero Average is that of none.
//
// With x the newest of n numbers, α = max(1/8, 1/n) and d = x − mean:
//
//	mean     ← mean + α d
//	variance ← (1 − α) (variance + α d²)
//
// This is Finch, Incremental calculation of weighted mean and variance, 2009, equation 143. While n ≤ 8 the two are the plain mean and
// variance of all numbers; later each number weighs 7/8 of the next. 1/8 is the gain by which TCP has followed round-trip times since
// Jacobson and Karels, 1988.
//
// From the eighth on, a number further than four standard deviations from the mean counts as one that is four away: one run that was held
// up by something else does not spoil what is known. If the next ones are as far, the variance has grown, and the mean follows: after a
// hundredfold change it is within a factor of two after 18 numbers, where it would have been after 14 without this rule.
type Average struct {
	Count    int64   `json:"count"`
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance"`
}

const (
	gain     = 1.0 / 8
	settled  = 8   // numbers, from which on one that is far away is not believed
	farAway  = 4   // standard deviations
	leastFar = 0.1 // a standard deviation counts as at least this in the rule above: numbers are logarithms, 0.1 is 10 %
)

// Add takes in a number. One that is not finite is ignored.
func (a *Average) Add(x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	d := x - a.Mean
	if a.Count >= settled {
		far := farAway * max(math.Sqrt(a.Variance), leastFar)
		d = min(max(d, -far), far)
	}
	a.Count++
	alpha := max(gain, 1/float64(a.Count))
	a.Mean += alpha * d
	a.Variance = (1 - alpha) * (a.Variance + alpha*d*d)
}
