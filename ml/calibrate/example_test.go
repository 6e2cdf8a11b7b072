package calibrate_test

import (
	"context"
	"fmt"

	"cancha/ml"
	"cancha/ml/calibrate"
	"cancha/ml/forest"
)

// A deep forest is surer than it should be of a class that comes up three times in four, whatever the row. What it is told of its calibrated
// probabilities, it is told on rows that it has not learned from.
func ExampleFit() {
	var rows [][]float64
	var labels []int
	for i := range 400 {
		label := 0
		if i*7919%400 < 300 {
			label = 1
		}
		rows, labels = append(rows, []float64{float64(i * 104729 % 1000)}), append(labels, label)
	}
	data, err := ml.FromRows([]string{"noise"}, rows)
	if err != nil {
		fmt.Println(err)
		return
	}
	data.Labels, data.Classes = labels, []string{"no", "yes"}
	folds, err := ml.StratifiedKFold(data, 5, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	learn := func(ctx context.Context, train *ml.Dataset) (ml.Model, error) {
		return forest.FitClassifier(ctx, train, forest.Config{Trees: 20, Seed: 1})
	}
	c, err := calibrate.Fit(context.Background(), data, folds, learn, calibrate.Config{Method: calibrate.Sigmoid})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := c.PredictProba(context.Background(), data)
	if err != nil {
		fmt.Println(err)
		return
	}
	low, high := 1.0, 0.0
	for _, row := range p {
		low, high = min(low, row[1]), max(high, row[1])
	}
	fmt.Println(c)
	fmt.Printf("from %.1f to %.1f\n", low, high)
	// Output:
	// random forest of 20 trees for no, yes from noise, calibrated (sigmoid, 5 times)
	// from 0.7 to 0.8
}
