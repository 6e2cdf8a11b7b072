package ml_test

import (
	"fmt"

	"cancha/ml"
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
