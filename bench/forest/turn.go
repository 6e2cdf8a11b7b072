package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/onnx"
)

// turnCommand is the first argument of a process that takes a turn of ours.
const turnCommand = "turn"

// turn fits a forest, or opens one, answers with it, and prints what that took. Its arguments are the folder of the rows, how many, the depth,
// the trees, the seed, the file for the probabilities, and that of a model in ONNX, or "".
func turn(args []string) error {
	if len(args) != 7 {
		return fmt.Errorf("%s takes seven arguments, got %q", turnCommand, args)
	}
	folder, rows := args[0], args[1]
	depth, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	trees, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[4], 10, 64)
	if err != nil {
		return err
	}
	train, err := dataset(filepath.Join(folder, "Xtr"+rows+".npy"), filepath.Join(folder, "ytr"+rows+".npy"))
	if err != nil {
		return err
	}
	test, err := dataset(filepath.Join(folder, "Xte"+rows+".npy"), filepath.Join(folder, "yte"+rows+".npy"))
	if err != nil {
		return err
	}
	fit := func() (*forest.Classifier, error) {
		return forest.FitClassifier(context.Background(), train, forest.Config{Trees: trees, MaxDepth: depth, Seed: seed})
	}
	if args[6] != "" {
		fit = func() (*forest.Classifier, error) { return onnx.OpenClassifier(args[6]) }
	}
	r, p, err := fitAndAnswer(fit, test)
	if err != nil {
		return err
	}
	if args[6] != "" {
		r.Note = fmt.Sprintf("scikit-learn's forest, converted by skl2onnx; opened in %.2f s, of the processor %.2f s", r.Fit.Seconds, r.Fit.CPUSeconds)
		r.Fit = nil
	}
	if err := writeFloat64(args[5], p, len(train.Classes)); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// fitAndAnswer measures the three steps: to have a forest, probabilities of all rows, probabilities of one row.
func fitAndAnswer(forestOf func() (*forest.Classifier, error), test *ml.Dataset) (r result, p []float64, err error) {
	runtime.GC() // what reading the files has left behind is no memory of the fit
	var f *forest.Classifier
	fit, err := measure(func() (err error) {
		f, err = forestOf()
		return err
	})
	if err != nil {
		return r, nil, err
	}
	p = make([]float64, test.Rows()*len(f.Classes))
	var steps []step
	for range 3 {
		s, err := measure(func() error {
			f.ProbasTo(p, test.Values)
			return nil
		})
		if err != nil {
			return r, nil, err
		}
		steps = append(steps, s)
	}
	one, times := oneRow(f, test)
	return result{
		Version: runtime.Version(), Fit: &fit, Predict: medianStep(steps), OneRow: one, OneRowTimes: times,
		Note: fmt.Sprintf("%d nodes", f.Nodes()),
	}, p, nil
}

// oneRow returns the median of the seconds for one row, of all rows or of as many as two seconds have, and of how many.
func oneRow(f *forest.Classifier, d *ml.Dataset) (seconds float64, times int) {
	var all []float64
	p := make([]float64, len(f.Classes))
	for i, until := 0, time.Now().Add(2*time.Second); i < d.Rows() && time.Now().Before(until); i++ {
		began := time.Now()
		f.ProbaTo(p, d.Row(i))
		all = append(all, time.Since(began).Seconds())
	}
	return median(all), len(all)
}

// dataset reads rows and their classes.
func dataset(x, y string) (*ml.Dataset, error) {
	values, columns, err := readFloat32(x)
	if err != nil {
		return nil, err
	}
	labels, err := readInt32(y)
	if err != nil {
		return nil, err
	}
	d := &ml.Dataset{Values: values}
	for k := range columns {
		d.Features = append(d.Features, fmt.Sprintf("x%d", k))
	}
	for _, label := range labels {
		d.Labels = append(d.Labels, int(label))
	}
	for k := range slices.Max(d.Labels) + 1 {
		d.Classes = append(d.Classes, strconv.Itoa(k))
	}
	return d, d.Validate()
}
