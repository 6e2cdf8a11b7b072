package placement

import (
	"fmt"
	"math"
	"strconv"
)

// Prediction is how long a run is expected to take: a log-normal distribution.
type Prediction struct {
	Seconds float64 `json:"seconds"`           // its mean; above 0, at most 10^9
	Sigma   float64 `json:"sigma"`             // standard deviation of the logarithm: 0.1 is about 10 %
	Runs    int64   `json:"runs"`              // of this type and size that were measured on such a device; 0: it is the cost's, or that of other sizes
	Guessed bool    `json:"guessed,omitempty"` // nothing at all is known
}

// unsure is with fewer runs than how many a prediction may be wrong without anybody having been told.
const unsure = 3

// Known tells whether enough runs were measured for the variance to mean something: three.
func (p Prediction) Known() bool { return p.Runs >= unsure }

// String is the prediction as a person reads it: "12 ms predicted".
func (p Prediction) String() string {
	switch {
	case p.Guessed:
		return Seconds(p.Seconds) + " guessed"
	case p.Runs == 0:
		return Seconds(p.Seconds) + " by cost"
	}
	return Seconds(p.Seconds) + " predicted"
}

// median is where half of the runs end.
func (p Prediction) median() float64 { return p.Seconds * math.Exp(-p.Sigma*p.Sigma/2) }

// Remaining is how many seconds more a run needs that has run for so many. It is the mean residual life of the log-normal distribution,
//
//	mean · Φ(σ − z) / Φ(−z) − elapsed    with z = ln(elapsed / median) / σ
//
// (Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, chapter 14). A run that is late is not about to end: far beyond its
// prediction the rest grows with the time that has passed, as elapsed · σ / z.
func (p Prediction) Remaining(elapsed float64) float64 {
	if !(elapsed > 0) {
		return p.Seconds
	}
	elapsed = min(elapsed, longest)
	sigma := max(p.Sigma, leastSigma)
	z := math.Log(elapsed/p.median()) / sigma
	if z > 5 { // both Φ are too small to be divided
		return elapsed * sigma / z
	}
	return max(p.Seconds*below(sigma-z)/below(-z)-elapsed, 0)
}

// below is Φ, the distribution function of the standard normal distribution.
func below(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// Overdue tells that a run has taken longer than any that was like it: by four standard deviations, and two seconds. Its worker is stalled,
// though it may still send heartbeats.
func (p Prediction) Overdue(elapsed float64) bool {
	return elapsed > p.median()*math.Exp(4*max(p.Sigma, leastSigma)) && elapsed > p.Seconds+2
}

// Seconds writes a time with two digits, as reasons have it: "12 ms", "0.3 s", "840 ms", "4.2 min".
func Seconds(s float64) string {
	switch {
	case !(s >= 5e-7):
		return "0 s"
	case s < 9.95e-4:
		return digits(s*1e6) + " µs"
	case s < 0.9995:
		return digits(s*1e3) + " ms"
	case s < 119.5:
		return digits(s) + " s"
	case s < 7200:
		return digits(s/60) + " min"
	case s < 2*86400:
		return digits(s/3600) + " h"
	}
	return digits(s/86400) + " days"
}

// digits writes a number from 0 with two digits or all that it has before the point.
func digits(v float64) string {
	if v >= 9.95 {
		return fmt.Sprintf("%.0f", v)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
