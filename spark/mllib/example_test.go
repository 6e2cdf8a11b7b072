package mllib_test

import (
	"fmt"
	"os"
	"path/filepath"

	"cancha/ml/forest"
	"cancha/ml/tree"
	"cancha/spark/mllib"
)

// A forest that Spark has trained, and saved by model.write().save("classes"), answers in Go.
func ExampleOpenClassifier() {
	f, err := mllib.OpenClassifier("testdata/saved/classes")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := make([]float64, len(f.Classes))
	f.ProbaTo(p, []float32{0.5, 60, 0.25, 1, 2, 3})
	fmt.Println(f.Features, f.Classes)
	fmt.Printf("%.4f\n", p)
	// Output:
	// [f0 f1 f2 f3 f4 f5] [0 1 2]
	// [0.2521 0.2451 0.5028]
}

// A forest of numbers.
func ExampleOpenRegressor() {
	f, err := mllib.OpenRegressor("testdata/saved/regression")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", f.Value([]float32{0.5, 60, 0.25, 1, 2, 3}))
	// Output: -32.6641
}

// A forest that was trained here goes to a directory for Spark, which loads it by RandomForestClassificationModel.load.
func ExampleSaveClassifier() {
	t := &tree.Tree{
		Nodes:  []tree.Node{{Feature: 0, Threshold: 0.5, Left: 1, Right: 2}, {Feature: -1, Left: 0}, {Feature: -1, Left: 2}},
		Values: []float64{0.75, 0.25, 0, 1}, Columns: 1, Outputs: 2,
	}
	f, err := forest.NewClassifier([]string{"goals ahead"}, []string{"no win", "win"}, []*tree.Tree{t})
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "mllib")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "win")
	if err := mllib.SaveClassifier(path, f); err != nil {
		fmt.Println(err)
		return
	}
	back, err := mllib.OpenClassifier(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := make([]float64, 2)
	back.ProbaTo(p, []float32{0})
	fmt.Println(back.Features, back.Classes, p)
	// Output: [goals ahead] [no win win] [0.75 0.25]
}

// A forest of numbers goes to a directory as well.
func ExampleSaveRegressor() {
	t := &tree.Tree{
		Nodes:  []tree.Node{{Feature: 0, Threshold: 0.5, Left: 1, Right: 2}, {Feature: -1, Left: 0}, {Feature: -1, Left: 1}},
		Values: []float64{-1, 2.5}, Columns: 1, Outputs: 1,
	}
	f, err := forest.NewRegressor([]string{"goals ahead"}, []*tree.Tree{t})
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "mllib")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := mllib.SaveRegressor(filepath.Join(dir, "goals"), f); err != nil {
		fmt.Println(err)
		return
	}
	files, err := filepath.Glob(filepath.Join(dir, "goals", "*", "part-*"))
	fmt.Println(len(files), err)
	// Output: 3 <nil>
}
