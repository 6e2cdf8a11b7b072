package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// AUC is the area under the ROC curve, from 0 to 1: the chance that of two rows, one that happened and one that did not, the former has the
// greater score; equal scores count half (Hanley and McNeil 1982). Rows count by their weights, nil: 1 each. If nothing happened, or
// everything, there is none: NaN. So it is with a score that is NaN. It is scikit-learn's roc_auc_score of two classes.
func AUC(scores []float64, happened []bool, weights []float64) float64 {
	area, yes, no := 0.0, 0.0, 0.0
	for _, s := range steps(scores, happened, weights) {
		area += s.no * (yes + s.yes/2)
		yes, no = yes+s.yes, no+s.no
	}
	return area / (yes * no)
}

// AveragePrecision sums up a ranking by scores, from 0 to 1: the mean, over the weight of the rows that happened, of the precision among the
// rows with at least their score. Rows count by their weights, nil: 1 each. If nothing happened there is none: NaN. So it is with a score
// that is NaN. It is scikit-learn's average_precision_score of two classes.
func AveragePrecision(scores []float64, happened []bool, weights []float64) float64 {
	sum, yes, all := 0.0, 0.0, 0.0
	for _, s := range steps(scores, happened, weights) {
		yes, all = yes+s.yes, all+s.yes+s.no
		if s.yes > 0 {
			sum += s.yes * yes / all
		}
	}
	return sum / yes
}

// ROCAUC is the [AUC] of probabilities: with two classes that of the second, with more the mean of each class against all others. That is
// scikit-learn's roc_auc_score, with multi_class="ovr" where there are more. A class that no row has leaves it NaN.
func ROCAUC(p [][]float64, labels []int, weights []float64) float64 {
	return oneVersusRest(p, labels, weights, AUC)
}

// MacroAveragePrecision is the [AveragePrecision] of probabilities: with two classes that of the second, with more the mean of each class
// against all others, as scikit-learn's average_precision_score has it. A class that no row has leaves it NaN.
func MacroAveragePrecision(p [][]float64, labels []int, weights []float64) float64 {
	return oneVersusRest(p, labels, weights, AveragePrecision)
}

// oneVersusRest is the mean of a measure of two classes over the classes of a table; with two, that of the second.
func oneVersusRest(p [][]float64, labels []int, weights []float64, measure func([]float64, []bool, []float64) float64) float64 {
	check(p, labels)
	if len(p) == 0 {
		return math.NaN()
	}
	first, classes := 0, len(p[0])
	if classes == 2 {
		first = 1
	}
	sum := 0.0
	scores, happened := make([]float64, len(p)), make([]bool, len(p))
	for class := first; class < classes; class++ {
		for i, row := range p {
			scores[i], happened[i] = row[class], labels[i] == class
		}
		sum += measure(scores, happened, weights)
	}
	return sum / float64(classes-first)
}

// step is the weight of the rows of one score: those that happened, and those that did not.
type step struct{ yes, no float64 }

// steps gathers rows by their score, the greatest first. A NaN among the scores is a step that is NaN.
func steps(scores []float64, happened []bool, weights []float64) []step {
	if len(happened) != len(scores) {
		panic(fmt.Sprintf("metric: %d outcomes for %d scores; there must be as many", len(happened), len(scores)))
	}
	checkWeights(len(scores), weights)
	order := make([]int, len(scores))
	for i, s := range scores {
		if order[i] = i; math.IsNaN(s) {
			return []step{{math.NaN(), math.NaN()}}
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b) })
	var all []step
	for n, i := range order {
		if n == 0 || scores[i] != scores[order[n-1]] {
			all = append(all, step{})
		}
		if s := &all[len(all)-1]; happened[i] {
			s.yes += weight(weights, i)
		} else {
			s.no += weight(weights, i)
		}
	}
	return all
}

// weight is that of row i; without weights 1.
func weight(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// checkWeights panics unless there is a weight for each row, or none at all.
func checkWeights(rows int, weights []float64) {
	if weights != nil && len(weights) != rows {
		panic(fmt.Sprintf("metric: %d weights for %d rows; there must be as many, or nil", len(weights), rows))
	}
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			panic(fmt.Sprintf("metric: row %d weighs %v; a weight is 0 or more", i, w))
		}
	}
}
