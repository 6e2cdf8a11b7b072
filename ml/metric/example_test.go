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
