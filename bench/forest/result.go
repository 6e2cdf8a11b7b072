package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"cancha/ml/metric"
)

// step is what a step took.
type step struct {
	Seconds    float64 `json:"seconds"`     // of the clock
	CPUSeconds float64 `json:"cpu_seconds"` // of all processors, user and system
	Before     int64   `json:"before"`      // bytes resident as it began: the program, its libraries and the rows
	Peak       int64   `json:"peak"`        // most bytes resident during it
}

// result is one turn of one library.
type result struct {
	task
	When        time.Time `json:"when"`
	Version     string    `json:"version"`
	Fit         *step     `json:"fit"` // nil: it does not fit
	Predict     step      `json:"predict"`
	OneRow      float64   `json:"one_row_seconds"`
	OneRowTimes int       `json:"one_row_times"`
	Accuracy    float64   `json:"accuracy"`
	LogLoss     float64   `json:"log_loss"`
	Note        string    `json:"note"`
	Failed      string    `json:"failed,omitempty"` // why there are no figures
}

func (r result) String() string {
	if r.Failed != "" {
		return fmt.Sprintf("%v: failed: %s", r.task, r.Failed)
	}
	fit := "-"
	if r.Fit != nil {
		fit = fmt.Sprintf("%.2f s (%.2f), %d MB of which %d before", r.Fit.Seconds, r.Fit.CPUSeconds, r.Fit.Peak>>20, r.Fit.Before>>20)
	}
	return fmt.Sprintf("%v: fit %s; predict %.4f s (%.4f); one row %.2f µs; accuracy %.4f, log loss %.4f; %s",
		r.task, fit, r.Predict.Seconds, r.Predict.CPUSeconds, 1e6*r.OneRow, r.Accuracy, r.LogLoss, r.Note)
}

// readResults reads results, one after another.
func readResults(from io.Reader) (all []result, err error) {
	for d := json.NewDecoder(from); ; {
		var r result
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("result %d: %w", len(all)+1, err)
		}
		all = append(all, r)
	}
}

// judge reads probabilities and the classes that happened, and scores all libraries alike.
func judge(proba, labels string) (accuracy, logLoss float64, err error) {
	p, classes, err := readFloat64(proba)
	if err != nil {
		return 0, 0, err
	}
	y, err := readInt32(labels)
	if err != nil {
		return 0, 0, err
	}
	if len(p) != len(y)*classes {
		return 0, 0, fmt.Errorf("%d probabilities of %d classes for %d rows", len(p), classes, len(y))
	}
	rows, happened := make([][]float64, len(y)), make([]int, len(y))
	for i, label := range y {
		rows[i], happened[i] = p[i*classes:(i+1)*classes], int(label)
	}
	return metric.Accuracy(rows, happened), metric.LogLoss(rows, happened), nil
}

// median returns the middle of some numbers, the mean of both of an even number of them; they are sorted.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// medianStep returns the medians of what steps took.
func medianStep(all []step) (s step) {
	of := func(get func(step) float64) float64 {
		x := make([]float64, len(all))
		for i, s := range all {
			x[i] = get(s)
		}
		return median(x)
	}
	return step{
		Seconds:    of(func(s step) float64 { return s.Seconds }),
		CPUSeconds: of(func(s step) float64 { return s.CPUSeconds }),
		Before:     int64(of(func(s step) float64 { return float64(s.Before) })),
		Peak:       int64(of(func(s step) float64 { return float64(s.Peak) })),
	}
}
