package forest_test

import (
	"context"
	"fmt"

	"cancha/ml"
	"cancha/ml/forest"
)

// A forest learns which of two numbers is greater.
func ExampleFitClassifier() {
	var rows [][]float64
	var labels []int
	for i := range 200 {
		a, b := float64(i%17), float64(i%23)
		label := 0
		if b > a {
			label = 1
		}
		rows, labels = append(rows, []float64{a, b}), append(labels, label)
	}
	data, err := ml.FromRows([]string{"a", "b"}, rows)
	if err != nil {
		fmt.Println(err)
		return
	}
	data.Classes, data.Labels = []string{"a", "b"}, labels
	f, err := forest.FitClassifier(context.Background(), data, forest.Config{Trees: 50, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := make([]float64, 2)
	f.ProbaTo(p, []float32{15, 2})
	fmt.Printf("%s %.1f\n", f.Classes[0], p[0])
	// Output: a 1.0
}
