package nn

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"gorgonia.org/gorgonia"

	"cancha/ml"
)

// noise returns digits of which no pixel is 0. gonum's multiplication leaves zeros of its first factor out, and is two to three times
// faster on pixels than on what has none, such as standardized columns.
func noise(rows int) *ml.Dataset {
	d, r := digits(1, rows, 28, 10), rand.New(rand.NewPCG(1, 3))
	for i := range d.Values {
		d.Values[i] += float32(r.NormFloat64())
	}
	return d
}

// BenchmarkTrain trains the default network on 6,400 rows of 784 columns for three epochs, of 100 steps and 7.8 billion floating-point
// operations each. Compare with -cpu 1; cpu-s/epoch is less disturbed by what else the machine does than rows/s.
func BenchmarkTrain(b *testing.B) {
	const epochs = 3
	for name, d := range map[string]*ml.Dataset{"dense": noise(6400), "digits": digits(1, 6400, 28, 10)} {
		for _, by := range []struct {
			name string
			own  bool
			fit  func(context.Context, *ml.Dataset, Config) (*Network, error)
		}{{"gorgonia", false, FitGraph}, {"gorgonia with own Sgemm", true, fitSolver}, {"gorgonia with own BLAS", true, FitGraph}, {"fused", false, Fit}} {
			b.Run(name+"/"+by.name, func(b *testing.B) {
				if by.own {
					defer UseBLAS(0)()
				}
				begun := processTime(b)
				for b.Loop() {
					if _, err := by.fit(b.Context(), d, Config{Epochs: epochs}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((processTime(b)-begun).Seconds()/float64(epochs*b.N), "cpu-s/epoch")
				b.ReportMetric(float64(epochs*d.Rows()*b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// fitSolver is FitGraph with gorgonia's own optimizer, whatever multiplies.
func fitSolver(ctx context.Context, d *ml.Dataset, c Config) (*Network, error) {
	l, err := prepare(d, c)
	if err != nil {
		return nil, err
	}
	return l.runGraph(ctx, gorgonia.NewAdamSolver())
}

// processTime is how long processors have worked for this process.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
