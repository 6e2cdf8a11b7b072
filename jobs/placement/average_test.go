package placement

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAverage: up to the eighth number it is the plain mean and variance, and then each number weighs 7/8 of the next, as summed up in full.
func TestAverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var numbers, weights []float64
	var a Average
	for n := 1; n <= 40; n++ {
		x := 3 + 0.05*r.NormFloat64() // no number is far away
		a.Add(x)
		alpha := max(1.0/8, 1/float64(n))
		for i := range weights {
			weights[i] *= 1 - alpha
		}
		numbers, weights = append(numbers, x), append(weights, alpha)
		mean, variance := 0.0, 0.0
		for i, x := range numbers {
			mean += weights[i] * x
		}
		for i, x := range numbers {
			variance += weights[i] * (x - mean) * (x - mean)
		}
		if math.Abs(a.Mean-mean) > 1e-12 || math.Abs(a.Variance-variance) > 1e-12 || a.Count != int64(n) {
			t.Fatalf("after %d: got %+v, want mean %v, variance %v", n, a, mean, variance)
		}
	}
}

// TestFarAway: one number that is far away changes little, and some of them are the new truth.
func TestFarAway(t *testing.T) {
	var a Average
	for range 20 {
		a.Add(0)
	}
	a.Add(4.6) // a run that took 100 times as long
	if a.Mean > 0.06 {
		t.Errorf("after one: mean %v", a.Mean)
	}
	n := 1
	for ; a.Mean < 4.6-0.7; n++ {
		a.Add(4.6)
	}
	if n != 18 {
		t.Errorf("within a factor of two of the new truth after %d", n)
	}
	a.Add(math.NaN())
	a.Add(math.Inf(1))
	if math.IsNaN(a.Mean) || math.IsInf(a.Mean, 0) {
		t.Errorf("got %+v", a)
	}
}
