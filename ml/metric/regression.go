package metric

import (
	"fmt"
	"math"
)

// R2 is the coefficient of determination, at most 1: one less the squared errors over those of the targets' mean, rows counted by their
// weights (nil: 1 each). 0 is as good as the mean. If all targets are the same it is 1 for no error and 0 for any, as scikit-learn's r2_score;
// fewer than two rows have none: NaN.
func R2(predicted, targets, weights []float64) float64 {
	return explained(predicted, targets, weights, squared)
}

// D2Poisson is the share of the Poisson deviance that is explained, at most 1: R² with [PoissonDeviances] in the place of squared errors, as
// scikit-learn's d2_tweedie_score with power=1 and the score of its PoissonRegressor have it.
func D2Poisson(predicted, targets, weights []float64) float64 {
	return explained(predicted, targets, weights, deviance)
}

// MeanSquaredError is the mean squared distance, rows counted by their weights (nil: 1 each).
func MeanSquaredError(predicted, targets, weights []float64) float64 {
	return WeightedMean(losses(predicted, targets, squared), weights)
}

// MeanAbsoluteError is the mean distance, rows counted by their weights (nil: 1 each).
func MeanAbsoluteError(predicted, targets, weights []float64) float64 {
	return WeightedMean(losses(predicted, targets, func(p, y float64) float64 { return math.Abs(p - y) }), weights)
}

// PoissonDeviances returns 2 (y ln(y/μ) − y + μ) of each row, from 0: what a predicted mean μ above 0 loses against the perfect one
// (McCullagh and Nelder 1989). A count below 0, or a mean that is not above 0, is NaN.
func PoissonDeviances(predicted, targets []float64) []float64 {
	return losses(predicted, targets, deviance)
}

func squared(p, y float64) float64 { return (p - y) * (p - y) }

func deviance(p, y float64) float64 {
	switch {
	case !(p > 0) || !(y >= 0):
		return math.NaN()
	case y == 0:
		return 2 * p
	}
	return 2 * (y*math.Log(y/p) - y + p)
}

// explained is one less the mean loss of the predictions over that of the targets' mean.
func explained(predicted, targets, weights []float64, loss func(p, y float64) float64) float64 {
	left := WeightedMean(losses(predicted, targets, loss), weights)
	mean := WeightedMean(targets, weights)
	all := WeightedMean(losses(repeat(mean, len(targets)), targets, loss), weights)
	switch {
	case len(targets) < 2:
		return math.NaN()
	case all == 0 && left == 0:
		return 1
	case all == 0:
		return 0
	}
	return 1 - left/all
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// losses applies a loss to every row.
func losses(predicted, targets []float64, loss func(p, y float64) float64) []float64 {
	if len(predicted) != len(targets) {
		panic(fmt.Sprintf("metric: %d predictions for %d targets; there must be as many", len(predicted), len(targets)))
	}
	out := make([]float64, len(targets))
	for i, y := range targets {
		out[i] = loss(predicted[i], y)
	}
	return out
}
