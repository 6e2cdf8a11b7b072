package aggregate

import "math"

// Moments sums up a sample as it grows: count, extremes, sum, and the sum of squared deviations from the mean.
// The zero value is the empty sample.
type Moments struct {
	n        int64
	min, max float64
	sum      float64
	mean, m2 float64 // the mean of the deviations, which follows each value: its last digits are not those of Mean
}

// Add takes one more value (Welford, Note on a Method for Calculating Corrected Sums of Squares and Products, 1962).
// The conversions keep the compiler from fusing a product with a sum, so that all processors give the same bits.
func (m *Moments) Add(x float64) {
	m.n++
	if m.n == 1 {
		m.min, m.max, m.sum, m.mean = x, x, x, x
		return
	}
	m.sum += x
	m.min, m.max = min(m.min, x), max(m.max, x)
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.m2 += float64(d * (x - m.mean))
}

// Merge takes a second sample (Chan, Golub, LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances, 1979). The last bits depend on the order of merges: callers merge in the order of the partitions.
func (m *Moments) Merge(o Moments) {
	if o.n == 0 {
		return
	}
	if m.n == 0 {
		*m = o
		return
	}
	n := m.n + o.n
	d := o.mean - m.mean
	share := float64(o.n) / float64(n)
	m.mean += float64(d * share)
	m.m2 += o.m2 + float64(float64(d*d)*float64(float64(m.n)*share))
	m.min, m.max = min(m.min, o.min), max(m.max, o.max)
	m.sum += o.sum
	m.n = n
}

// Mean returns the sum divided by the count, as a query's Sum and Count give them; NaN for an empty sample.
func (m *Moments) Mean() float64 { return m.sum / float64(m.n) }

// Variance returns the sample variance, divisor n-1; NaN for fewer than two values. Records' numbers are bounded so that it is finite.
func (m *Moments) Variance() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return m.m2 / float64(m.n-1)
}
