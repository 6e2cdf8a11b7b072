package tree

import "math"

// A set of rows is summed up in a few numbers, its stats: stats[0] counts the rows; then, for classes, the weight of
// each class; for a number, the weight and the weighted sum. Stats of disjoint sets add up, so those of the right side
// of a split are the node's less the left side's.
//
// Every criterion is written as a score that adds up: the weighted impurity of a set is a constant of the node less
// its score. The best split has the greatest score(left) + score(right), and that sum less the node's own score is the
// decrease of weighted impurity.
//
//	gini           Σ w_k² / w                 impurity 1 − Σ (w_k/w)²
//	entropy        Σ w_k log2 w_k − w log2 w  impurity −Σ (w_k/w) log2 (w_k/w)
//	squared error  (Σ w y)² / w               impurity Σ w (y − mean)² / w
type criterion struct {
	kind  Criterion
	width int // numbers in a set's stats
}

// newCriterion returns the criterion for a number of classes, 0 for a regression.
func newCriterion(kind Criterion, classes int) criterion {
	if kind == SquaredError {
		return criterion{kind, 3}
	}
	return criterion{kind, 1 + classes}
}

// sample is a row of the tree's own sample.
type sample struct {
	row    int32
	class  int32   // of a classification
	weight float64 // times drawn x row weight x class weight, above 0
	sum    float64 // weight x target less its node's origin, of a regression
}

// add counts samples into one set's stats.
func (c criterion) add(stats []float64, samples []sample) {
	if c.kind == SquaredError {
		for i := range samples {
			s := &samples[i]
			stats[0]++
			stats[1] += s.weight
			stats[2] += s.sum
		}
		return
	}
	for i := range samples {
		s := &samples[i]
		stats[0]++
		stats[1+s.class] += s.weight
	}
}

// score judges one set. The empty set scores 0.
func (c criterion) score(stats []float64) float64 {
	if stats[0] == 0 {
		return 0
	}
	switch c.kind {
	case SquaredError:
		return stats[2] * stats[2] / stats[1]
	case Entropy:
		return entropyScore(stats[1:])
	default:
		return giniScore(stats[1:])
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

// weight returns the weight of a set.
func (c criterion) weight(stats []float64) float64 {
	if c.kind == SquaredError {
		return stats[1]
	}
	sum := 0.0
	for _, w := range stats[1:c.width] {
		sum += w
	}
	return sum
}

// pure reports whether a node has rows of one class only.
func (c criterion) pure(stats []float64) bool {
	classes := 0
	for _, w := range stats[1:c.width] {
		if w > 0 {
			classes++
		}
	}
	return classes <= 1
}

// value appends what a leaf answers: the share of each class, or the mean of targets that were counted from an origin.
func (c criterion) value(dst, stats []float64, origin float64) []float64 {
	if c.kind == SquaredError {
		return append(dst, origin+stats[2]/stats[1])
	}
	sum := c.weight(stats)
	for _, w := range stats[1:c.width] {
		dst = append(dst, w/sum)
	}
	return dst
}

// center moves the origin that a node's targets are counted from to their mean and returns by how much. Their squares
// then hold nothing but what a split can change: those of Unix times, 1e18, leave no digits for differences of seconds.
func (c criterion) center(stats []float64, samples []sample) float64 {
	mean := stats[2] / stats[1]
	stats[2] = 0
	for i := range samples {
		s := &samples[i]
		s.sum -= s.weight * mean
		stats[2] += s.sum
	}
	return mean
}
