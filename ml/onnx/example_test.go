package onnx_test

import (
	"fmt"
	"os"
	"path/filepath"

	"cancha/ml/forest"
	"cancha/ml/onnx"
	"cancha/ml/tree"
)

// A forest that scikit-learn has trained, which skl2onnx.to_onnx wrote to a file, answers in Go.
func ExampleOpenClassifier() {
	f, err := onnx.OpenClassifier("testdata/forest-words.onnx")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := make([]float64, len(f.Classes))
	f.ProbaTo(p, []float32{0.5, -1, 0.25, 1})
	fmt.Println(f.Features, f.Classes)
	fmt.Printf("%.4f\n", p)
	// Output:
	// [x0 x1 x2 x3] [away draw home]
	// [0.0560 0.7032 0.2408]
}

// A forest that was trained here goes to a file for onnxruntime, whose input is X and whose outputs are label and probabilities.
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
	dir, err := os.MkdirTemp("", "onnx")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "win.onnx")
	if err := onnx.SaveClassifier(path, f); err != nil {
		fmt.Println(err)
		return
	}
	back, err := onnx.OpenClassifier(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := make([]float64, 2)
	back.ProbaTo(p, []float32{0})
	fmt.Println(back.Features, back.Classes, p)
	// Output: [goals ahead] [no win win] [0.75 0.25]
}

// A forest of numbers.
func ExampleOpenRegressor() {
	f, err := onnx.OpenRegressor("testdata/numbers.onnx")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", f.Value([]float32{0.5, -1, 0.25, 1}))
	// Output: 1.8352
}
