package lwp

import (
	"fmt"
	"math"

	"cancha/ml/metric"
)

// Verdict says in plain words how good the model is that the report refers to, and beside what: minute and score alone, and the best of the
// others.
func (r *Report) Verdict() string {
	best := r.best()
	text := fmt.Sprintf("On %s later matches %s has a log loss of %s", count(len(r.later.Matches)), best.Name, four(best.LogLoss))
	if alone, err := r.Find((&Frequencies{}).Name()); err == nil && alone != best {
		text += fmt.Sprintf(", %s minute and score alone tell (%s)", percentLess(best.LogLoss, alone.LogLoss), four(alone.LogLoss))
	}
	text += "."
	if next := r.next(); next != nil {
		text += fmt.Sprintf(" Of the others %s is best, with %s: %s.", next.Name, four(next.LogLoss), clearness(next.LogLossDifference))
	}
	return text
}

// next is the model with the least log loss beside the best; nil if it is alone.
func (r *Report) next() (next *Scores) {
	for i := range r.Models {
		if s := &r.Models[i]; s.Name != r.Best && (next == nil || s.LogLoss < next.LogLoss) {
			next = s
		}
	}
	return next
}

func percentLess(loss, than float64) string {
	if share := 100 * (1 - loss/than); share >= 0 {
		return fmt.Sprintf("%.0f %% less than", share)
	}
	return fmt.Sprintf("%.0f %% more than", 100*(loss/than-1))
}

// clearness says whether a difference, of another model less the best, is more than chance.
func clearness(d metric.Interval) string {
	words := "clearly worse"
	switch {
	case math.Signbit(d.High) && d.High != 0:
		words = "clearly better"
	case d.Low <= 0:
		words = "too close to call on these matches"
	}
	return fmt.Sprintf("%s (%s)", words, d)
}
