package nn

import (
	"context"
	"testing"

	"cancha/ml"
)

// BenchmarkEpoch trains the default network on 6,400 rows of 784 columns for an epoch, 100 steps: 7.8 billion floating-point operations.
// Compare the three with -cpu 1.
func BenchmarkEpoch(b *testing.B) {
	d := digits(1, 6400, 28, 10)
	for _, by := range []struct {
		name string
		own  bool
		fit  func(context.Context, *ml.Dataset, Config) (*Network, error)
	}{{"gorgonia", false, FitGraph}, {"gorgonia with own BLAS", true, FitGraph}, {"fused", false, Fit}} {
		b.Run(by.name, func(b *testing.B) {
			if by.own {
				defer UseBLAS(0)()
			}
			for b.Loop() {
				if _, err := by.fit(b.Context(), d, Config{Epochs: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(d.Rows()*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkProba answers for a row, and for a table, with the default network.
func BenchmarkProba(b *testing.B) {
	d := digits(1, 6400, 28, 10)
	n, err := Fit(b.Context(), d.Select([]int{0, 1, 2, 3}), Config{Epochs: 1})
	if err != nil {
		b.Fatal(err)
	}
	p := make([]float64, 10*d.Rows())
	b.Run("row", func(b *testing.B) {
		for b.Loop() {
			n.ProbaTo(p[:10], d.Row(0))
		}
	})
	b.Run("6,400 rows", func(b *testing.B) {
		for b.Loop() {
			n.ProbasTo(p, d.Values)
		}
	})
}
