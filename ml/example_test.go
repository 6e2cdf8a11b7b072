package ml_test

import (
	"context"
	"fmt"

	"cancha/ml"
	"cancha/ml/forest"
)

// A split by group keeps the rows of a match together.
func ExampleGroupSplit() {
	d, err := ml.FromRows([]string{"lead"}, [][]float64{{0}, {1}, {0}, {0}, {-1}, {-2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	d.Groups = []int64{7, 7, 8, 8, 9, 9}
	split, err := ml.GroupSplit(d, 0.3, 1)
	fmt.Println(len(split.Train), "rows to learn from,", len(split.Test), "to test on", err)
	// Output: 4 rows to learn from, 2 to test on <nil>
}

// signs is a table in which the class is the sign of the first column.
func signs() (*ml.Dataset, error) {
	var rows [][]float64
	d := &ml.Dataset{}
	for i := range 60 {
		rows, d.Labels = append(rows, []float64{float64(i%7) - 3.5, float64(i % 5)}), append(d.Labels, (i%7)/4)
	}
	table, err := ml.FromRows([]string{"a", "b"}, rows)
	if err != nil {
		return nil, err
	}
	table.Labels, table.Classes = d.Labels, []string{"below", "above"}
	return table, nil
}

// Cross-validation learns from four fifths of the rows, and judges the model on the last fifth; five times.
func ExampleCrossValidate() {
	data, err := signs()
	if err != nil {
		fmt.Println(err)
		return
	}
	folds, err := ml.StratifiedKFold(data, 5, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	learn := func(ctx context.Context, train *ml.Dataset) (ml.Model, error) {
		return forest.FitClassifier(ctx, train, forest.Config{Trees: 20})
	}
	cv, err := ml.CrossValidate(context.Background(), data, folds, learn, ml.Accuracy, ml.ROCAUC)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range cv.Scores {
		fmt.Println(s.Name, s)
	}
	// Output:
	// accuracy 1.0000 ± 0.0000
	// roc_auc 1.0000 ± 0.0000
}

// A search tries settings on the same folds, and fits the best once more to all rows.
func ExampleGridSearch() {
	data, err := signs()
	if err != nil {
		fmt.Println(err)
		return
	}
	folds, err := ml.KFold(data, 3, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	learn := func(ctx context.Context, train *ml.Dataset, settings any) (ml.Model, error) {
		return forest.FitClassifier(ctx, train, settings.(forest.Config))
	}
	values := ml.Grid{"MaxDepth": {1, 2}, "MinSamplesLeaf": {1, 40}}
	s, err := ml.GridSearch(context.Background(), data, folds, forest.Config{Trees: 20}, values, learn, ml.SearchConfig{Scorer: ml.NegLogLoss})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Candidates[s.Best].Values)
	score, err := s.Model.Score(context.Background(), data)
	fmt.Println(score, err)
	// Output:
	// map[MaxDepth:2 MinSamplesLeaf:1]
	// 1 <nil>
}
