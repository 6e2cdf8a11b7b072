package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a mean with the interval that holds it in 95 % of bootstrap samples.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// String returns the interval as "+.0012 [−.0003, +.0027]" would be written, with ASCII signs.
func (v Interval) String() string { return fmt.Sprintf("%+.4f [%+.4f, %+.4f]", v.Mean, v.Low, v.High) }

// Bootstrap returns the interval of a mean over rows when whole groups are drawn with replacement: rows of one match
// resemble each other, and an interval that ignores it is several times too narrow. Groups names the group of each row.
// A value that is NaN gives an interval of NaN. Less than one sample panics.
func Bootstrap(values []float64, groups []int64, samples int, seed uint64) Interval {
	if len(values) != len(groups) {
		panic(fmt.Sprintf("metric: %d groups for %d values; there must be as many", len(groups), len(values)))
	}
	if samples < 1 {
		panic(fmt.Sprintf("metric: %d bootstrap samples; an interval takes one or more", samples))
	}
	mean := Mean(values)
	if math.IsNaN(mean) { // sorted, samples without the value would pass for the upper end
		return Interval{mean, mean, mean}
	}
	sums, counts := sumGroups(values, groups)
	rng := rand.New(rand.NewPCG(seed, 0x626f6f74))
	means := make([]float64, samples)
	for s := range means {
		sum, count := 0.0, 0.0
		for range sums {
			g := rng.IntN(len(sums))
			sum += sums[g]
			count += counts[g]
		}
		means[s] = sum / count
	}
	slices.Sort(means)
	return Interval{Mean: mean, Low: quantile(means, 0.025), High: quantile(means, 0.975)}
}

// Paired returns the interval of the mean difference a − b of two models' losses on the same rows. Negative: a is better.
func Paired(a, b []float64, groups []int64, samples int, seed uint64) Interval {
	if len(a) != len(b) {
		panic(fmt.Sprintf("metric: losses of %d and %d rows; two models must have them on the same rows", len(a), len(b)))
	}
	difference := make([]float64, len(a))
	for i := range a {
		difference[i] = a[i] - b[i]
	}
	return Bootstrap(difference, groups, samples, seed)
}

// sumGroups adds up values and rows of each group, in order of first appearance.
func sumGroups(values []float64, groups []int64) (sums, counts []float64) {
	at := map[int64]int{}
	for i, g := range groups {
		k, ok := at[g]
		if !ok {
			k = len(sums)
			at[g] = k
			sums, counts = append(sums, 0), append(counts, 0)
		}
		sums[k] += values[i]
		counts[k]++
	}
	return sums, counts
}

// quantile interpolates linearly in sorted values, as numpy does by default; NaN for none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
