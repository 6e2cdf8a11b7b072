package placement

import "math"

// Accuracy is how good predictions were. The zero Accuracy is that of none. A scheduler keeps one by type and device.
type Accuracy struct {
	Runs  int64   `json:"runs"`
	Log   float64 `json:"log"`      // Σ ln(measured / predicted)
	Error float64 `json:"absolute"` // Σ |ln(measured / predicted)|
	// Within counts runs whose factor is at most that of [Factors] at the same position, each run once: a histogram's buckets, not cumulative.
	Within [8]int64 `json:"within"`
}

// Factors are the upper bounds of [Accuracy.Within], the last one without a bound.
func Factors() [8]float64 { return [8]float64{1.05, 1.1, 1.25, 1.5, 2, 4, 10, math.Inf(1)} }

// Factor is the error of a prediction: how many times the one is of the other, from 1, whichever is larger. Both count as at least a nanosecond.
func Factor(predicted, measured float64) float64 {
	return math.Exp(math.Abs(math.Log(max(measured, shortest) / max(predicted, shortest))))
}

// Add counts a run that was predicted to take so many seconds, when its job was placed, and took so many. What is not finite is ignored.
func (a *Accuracy) Add(predicted, measured float64) {
	x := math.Log(max(measured, shortest) / max(predicted, shortest))
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	a.Runs++
	a.Log += x
	a.Error += math.Abs(x)
	for i, bound := range Factors() {
		if math.Exp(math.Abs(x)) <= bound {
			a.Within[i]++
			return
		}
	}
}

// Typical is the geometric mean of the factors; 1 is perfect, 1.2 is 20 % too much or too little. NaN without runs.
func (a Accuracy) Typical() float64 { return math.Exp(a.Error / float64(a.Runs)) }

// Bias is by which factor runs take longer than predicted, above 1, or shorter; NaN without runs.
func (a Accuracy) Bias() float64 { return math.Exp(a.Log / float64(a.Runs)) }
