package metric_test

import (
	"fmt"

	"cancha/ml/metric"
)

// The ranked probability score knows that a draw is nearer to a home win than an away win is.
func ExampleRPS() {
	home := []int{0}
	fmt.Printf("%.3f %.3f\n", metric.RPS([][]float64{{0.5, 0.5, 0}}, home), metric.RPS([][]float64{{0.5, 0, 0.5}}, home))
	// Output: 0.125 0.250
}

// The area under the ROC curve tells how well a score ranks what happened above what did not.
func ExampleAUC() {
	scores, happened := []float64{0.9, 0.8, 0.4, 0.3}, []bool{true, false, true, false}
	fmt.Println(metric.AUC(scores, happened, nil), metric.AUC(scores, happened, []float64{1, 0, 1, 1}))
	// Output: 0.75 1
}

// R² compares the squared errors with those of the targets' mean.
func ExampleR2() {
	targets := []float64{1, 2, 3, 4}
	fmt.Printf("%.2f %.2f\n", metric.R2([]float64{1.5, 2, 3, 3.5}, targets, nil), metric.R2([]float64{4, 3, 2, 1}, targets, nil))
	// Output: 0.90 -3.00
}
