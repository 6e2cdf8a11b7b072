package metric

import "fmt"

// WeightedMean returns the mean of values that count by their weights; nil: 1 each. It is NaN for no values, or none that weighs anything.
func WeightedMean(values, weights []float64) float64 {
	checkWeights(len(values), weights)
	sum, total := 0.0, 0.0
	for i, v := range values {
		w := weight(weights, i)
		sum, total = sum+w*v, total+w
	}
	return sum / total
}

// Share is the share of the rows' weight (nil: 1 each) whose label was predicted: scikit-learn's accuracy_score.
func Share(predicted, labels []int, weights []float64) float64 {
	checkLabels(predicted, labels)
	right := make([]float64, len(labels))
	for i, label := range labels {
		if predicted[i] == label {
			right[i] = 1
		}
	}
	return WeightedMean(right, weights)
}

// F1 is the mean of the harmonic means of precision and recall over the classes that happened or were predicted, rows counted by their
// weights (nil: 1 each): scikit-learn's f1_score with average="macro". [MacroF1] counts classes that are nowhere seen, too. No rows give NaN.
func F1(predicted, labels []int, weights []float64) float64 {
	checkLabels(predicted, labels)
	checkWeights(len(labels), weights)
	classes := 0
	for i, label := range labels {
		classes = max(classes, label+1, predicted[i]+1)
	}
	both, right := make([]float64, classes), make([]float64, classes) // happened plus predicted; happened and predicted
	for i, label := range labels {
		w := weight(weights, i)
		both[label] += w
		both[predicted[i]] += w
		if label == predicted[i] {
			right[label] += w
		}
	}
	sum, seen := 0.0, 0.0
	for k, n := range both {
		if n > 0 {
			sum, seen = sum+2*right[k]/n, seen+1
		}
	}
	return sum / seen
}

// checkLabels panics unless there is a predicted class for each label, and all are from 0.
func checkLabels(predicted, labels []int) {
	if len(predicted) != len(labels) {
		panic(fmt.Sprintf("metric: %d predicted classes for %d labels; there must be as many", len(predicted), len(labels)))
	}
	for i, label := range labels {
		if label < 0 || predicted[i] < 0 {
			panic(fmt.Sprintf("metric: row %d has class %d and was predicted %d; classes count from 0", i, label, predicted[i]))
		}
	}
}
