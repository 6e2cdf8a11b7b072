package tree

import (
	"math"

	"cancha/ml"
)

// criterion judges sets of rows and their splits. Its forms are packedGini, for most forests,
// weightedClasses, for all other classes, and numbers. A call is one per node or column; the loops over rows are inside.
//
// Every criterion is written as a score that adds up: the weighted impurity of a set is a constant of the node less
// its score. The best split has the greatest score(left) + score(right), and that sum less the node's own score is the
// decrease of weighted impurity.
//
//	gini           Σ w_k² / w                 impurity 1 − Σ (w_k/w)²
//	entropy        Σ w_k log2 w_k − w log2 w  impurity −Σ (w_k/w) log2 (w_k/w)
//	squared error  (Σ w y)² / w               impurity Σ w (y − mean)² / w
//	poisson        Σ w y log mean             impurity Σ w y log(y/mean) / w, half the Poisson deviance
type criterion interface {
	load(draws []uint16)                            // how often each row was drawn
	enter(rows []uint32)                            // rows become a block, and are called 0, 1, 2, … from here on
	leave()                                         // back to rows of the whole table
	sum(rows []uint32)                              // makes rows the node that the other methods are about
	uniform(rows []uint32) bool                     // the node has one class, or one target
	center(rows []uint32, origin float64) float64   // moves the origin of the node's targets to their mean, and returns it
	score() float64                                 // of the node
	try(c *column, rows []uint32, best *split) bool // searches a column for a better split; false: it is constant here
	// answer appends what a leaf of these rows answers: the share of each class, or the mean of targets counted from origin.
	answer(dst []float64, rows []uint32, origin float64) []float64
	helper() criterion // that works on other nodes of the same tree at the same time
}

// newCriterion returns the fastest form that judges as the settings say.
func newCriterion(d *ml.Dataset, c Config, classes bool) criterion {
	switch {
	case !classes:
		return newNumbers(d, c)
	case c.Criterion == Gini && len(d.Classes) <= packedClasses && d.Weights == nil && c.ClassWeight == nil:
		return newPackedGini(d, c)
	default:
		return newWeightedClasses(d, c)
	}
}

// giniScore is Σ w_k² / w.
func giniScore(weights []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, w := range weights {
		sum += w
		squares += w * w
	}
	return squares / sum
}

// entropyScore is Σ w_k log2 w_k − w log2 w, with 0 log 0 = 0.
func entropyScore(weights []float64) float64 {
	sum, score := 0.0, 0.0
	for _, w := range weights {
		if w > 0 {
			sum += w
			score += w * math.Log2(w)
		}
	}
	return score - sum*math.Log2(sum)
}

// poissonScore is Σ w y log mean, given the weight and Σ w y. Targets are not below 0; a side without any events has no
// mean that a Poisson process could have, so it scores −∞ and is no side of a split, as in scikit-learn.
func poissonScore(weight, sum float64) float64 {
	if sum <= rounding {
		return math.Inf(-1)
	}
	return sum * math.Log(sum/weight)
}
