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
	sum    float64 // weight x target, of a regression
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

// pure reports whether no split can improve a node: one class, or targets that are all the same.
func (c criterion) pure(stats []float64, samples []sample) bool {
	if c.kind != SquaredError {
		classes := 0
		for _, w := range stats[1:c.width] {
			if w > 0 {
				classes++
			}
		}
		return classes <= 1
	}
	first := samples[0].sum / samples[0].weight
	for i := range samples {
		if s := &samples[i]; math.Abs(s.sum-first*s.weight) > sameTarget*math.Abs(s.sum) {
			return false
		}
	}
	return true
}

// sameTarget is by how much of itself a weighted target may differ from another one times a weight when both targets are
// the same: three roundings, of half a bit each, and one bit to spare. Three times 0.1, divided by three, is not 0.1.
const sameTarget = 4 * 0x1p-52

// value appends what a leaf answers: the share of each class, or the mean.
func (c criterion) value(dst []float32, stats []float64) []float32 {
	if c.kind == SquaredError {
		return append(dst, float32(stats[2]/stats[1]))
	}
	sum := c.weight(stats)
	for _, w := range stats[1:c.width] {
		dst = append(dst, float32(w/sum))
	}
	return dst
}
