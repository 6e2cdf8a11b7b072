package metric

import (
	"fmt"
	"math"
)

// CalibrationBins is the number of bins that ECE and Reliability are reported with: ten of width 0.1.
const CalibrationBins = 10

// Bin is one point of a reliability curve: of the rows where a class was given a probability from Low to High, how
// probable it was on average, and how often it happened.
type Bin struct {
	Low, High       float64
	Mean, Frequency float64 // NaN where Count is 0
	Count           int
}

// Reliability returns the curve of one class over bins of equal width. A bin includes its lower border; the last also 1.
// Less than one bin, or a class that there is not, panics.
func Reliability(p [][]float64, labels []int, class, bins int) []Bin {
	check(p, labels)
	if bins < 1 || class < 0 || len(p) > 0 && class >= len(p[0]) {
		panic(fmt.Sprintf("metric: a curve of class %d over %d bins; the rows have their classes from 0, and a curve one bin or more", class, bins))
	}
	return reliability(p, labels, class, bins)
}

func reliability(p [][]float64, labels []int, class, bins int) []Bin {
	out := make([]Bin, bins)
	for i, row := range p {
		b := &out[min(max(int(row[class]*float64(bins)), 0), bins-1)]
		b.Count++
		b.Mean += row[class]
		if labels[i] == class {
			b.Frequency++
		}
	}
	for k := range out {
		b := &out[k]
		b.Low, b.High = float64(k)/float64(bins), float64(k+1)/float64(bins)
		b.Mean /= float64(b.Count)
		b.Frequency /= float64(b.Count)
	}
	return out
}

// ECE is the expected calibration error, from 0: for each class the mean over its bins, weighted by their rows, of the
// distance between mean probability and frequency; then the mean over the classes (the class-wise ECE of Kull et al.
// 2019 with bins of equal width). Even perfect probabilities score a little above 0 on finitely many rows.
func ECE(p [][]float64, labels []int, bins int) float64 {
	if len(p) == 0 {
		return math.NaN()
	}
	check(p, labels)
	if bins < 1 {
		panic(fmt.Sprintf("metric: a calibration error over %d bins; it takes one or more", bins))
	}
	sum := 0.0
	for class := range p[0] {
		for _, b := range reliability(p, labels, class, bins) {
			if b.Count > 0 {
				sum += float64(b.Count) * math.Abs(b.Mean-b.Frequency)
			}
		}
	}
	return sum / float64(len(p)*len(p[0]))
}
