package metric

import (
	"fmt"
	"math"
)

// least is the smallest probability that a log loss takes: scikit-learn's for float64, so that one certain and wrong
// answer costs 36 nats and not infinity.
const least = 0x1p-52

// LogLosses returns −ln p of the class that happened, for each row.
func LogLosses(p [][]float64, labels []int) []float64 {
	return each(p, labels, func(row []float64, label int) float64 {
		return -math.Log(max(row[label], least))
	})
}

// RPSs returns the ranked probability score of each row, from 0 to 1: the mean, over the borders between neighbouring
// classes, of the squared difference between cumulated probability and cumulated outcome (Epstein 1969; Constantinou
// and Fenton 2012 for football). Classes must be in their natural order: home, draw, away.
func RPSs(p [][]float64, labels []int) []float64 {
	return each(p, labels, func(row []float64, label int) float64 {
		sum, below := 0.0, 0.0
		for k := range len(row) - 1 {
			below += row[k]
			happened := 0.0
			if label <= k {
				happened = 1
			}
			sum += (below - happened) * (below - happened)
		}
		return sum / float64(len(row)-1)
	})
}

// Briers returns the squared distance between probabilities and outcome of each row, from 0 to 2 (Brier 1950).
func Briers(p [][]float64, labels []int) []float64 {
	return each(p, labels, func(row []float64, label int) float64 {
		sum := 0.0
		for k, v := range row {
			if k == label {
				v = 1 - v
			}
			sum += v * v
		}
		return sum
	})
}

// By how much a probability may leave 0 to 1, and the sum of a row's may miss 1: two digits after the point are enough.
const (
	rounding = 1e-6
	slack    = 0.05
)

// check panics unless each row holds probabilities and its label is one of its classes. A comparison with a NaN is false,
// so an argmax would take the first class, and a sum of squares looks like a score whatever it is made of.
func check(p [][]float64, labels []int) {
	if len(p) != len(labels) {
		panic(fmt.Sprintf("metric: %d rows of probabilities for %d labels; there must be as many", len(p), len(labels)))
	}
	for i, row := range p {
		if len(row) != len(p[0]) || labels[i] < 0 || labels[i] >= len(row) {
			panic(fmt.Sprintf("metric: row %d has %d probabilities and label %d, the first row %d probabilities", i, len(row), labels[i], len(p[0])))
		}
		sum := 0.0
		for k, v := range row {
			if !(v >= -rounding && v <= 1+rounding) {
				panic(fmt.Sprintf("metric: row %d gives class %d a probability of %v", i, k, v))
			}
			sum += v
		}
		if math.Abs(sum-1) > slack {
			panic(fmt.Sprintf("metric: the probabilities of row %d sum to %v, not to 1", i, sum))
		}
	}
}

// each applies a loss to every row.
func each(p [][]float64, labels []int, loss func([]float64, int) float64) []float64 {
	check(p, labels)
	out := make([]float64, len(p))
	for i, row := range p {
		out[i] = loss(row, labels[i])
	}
	return out
}

// Mean returns the mean, NaN for no values.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// LogLoss is the mean log loss, in nats; see LogLosses.
func LogLoss(p [][]float64, labels []int) float64 { return Mean(LogLosses(p, labels)) }

// RPS is the mean ranked probability score; see RPSs.
func RPS(p [][]float64, labels []int) float64 { return Mean(RPSs(p, labels)) }

// Brier is the mean Brier score; see Briers.
func Brier(p [][]float64, labels []int) float64 { return Mean(Briers(p, labels)) }
