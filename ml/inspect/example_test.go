package inspect_test

import (
	"context"
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/inspect"
	"cancha/ml/linear"
)

// counts is a table in which the target grows with the first column and knows nothing of the second.
func counts() (*ml.Dataset, *linear.Poisson, error) {
	var rows [][]float64
	var targets []float64
	for i := range 90 {
		shots, noise := float64(i%9), float64(i*31%7)
		rows, targets = append(rows, []float64{shots, noise}), append(targets, math.Round(math.Exp(0.3*shots)))
	}
	d, err := ml.FromRows([]string{"shots", "noise"}, rows)
	if err != nil {
		return nil, nil, err
	}
	d.Targets = targets
	m, err := linear.FitPoisson(d, nil, linear.Config{})
	return d, m, err
}

// What a score rests on falls most when it is shuffled.
func ExamplePermute() {
	d, m, err := counts()
	if err != nil {
		fmt.Println(err)
		return
	}
	importances, err := inspect.Permute(context.Background(), m, d, inspect.PermuteConfig{Repeats: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range importances.Sets {
		fmt.Println(i.Features, i.Mean > 1, math.Abs(i.Mean) < 0.01)
	}
	// Output:
	// [shots] true false
	// [noise] false true
}

// What a model answers on average, if every row had this value.
func ExampleDepend() {
	d, m, err := counts()
	if err != nil {
		fmt.Println(err)
		return
	}
	curve, err := inspect.Depend(context.Background(), m, d, "shots", inspect.DependConfig{Values: []float64{0, 4, 8}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(curve)
	// Output:
	// Partial dependence on shots
	// shots  average
	// 0       0.8748
	// 4       3.0913
	// 8      10.9237
}
