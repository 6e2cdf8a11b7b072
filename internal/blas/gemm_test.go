package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// TestGemm: every tile on every shape agrees with a sum in float64, and the rest of C is left alone.
func TestGemm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 2, 5, 6, 7, 11, 12, 13, 16, 31, 32, 33, 63, 121, 130}
	for _, in := range inners() {
		for _, cores := range []int{1, 3} {
			b := New(Pool{cores})
			b.inner = in
			t.Run(fmt.Sprintf("%s on %d", b.Name(), cores), func(t *testing.T) {
				for range 150 {
					pick := func() int { return sizes[r.IntN(len(sizes))] }
					checkGemm(t, r, b, pick(), pick(), pick())
				}
				checkGemm(t, r, b, 130, 70, depth+9)
				checkGemm(t, r, b, 3, widest+5, 7)
			})
		}
	}
}

func checkGemm(t *testing.T, r *rand.Rand, b *BLAS, m, n, k int) {
	t.Helper()
	x, y, c := random(r, m, k, r.IntN(2) == 1), random(r, k, n, r.IntN(2) == 1), random(r, m, n, false)
	alpha, beta := []float32{0, 1, -0.5}[r.IntN(3)], []float32{0, 1, 2}[r.IntN(3)]
	if beta == 0 {
		for i := range c.Data {
			c.Data[i] = float32(math.NaN())
		}
	}
	want := reference(m, n, k, alpha, x, y, beta, c)
	b.Gemm(m, n, k, alpha, x, y, beta, c.Data, c.Stride)
	for i := range m {
		for j := range n {
			got, w := float64(c.Data[i*c.Stride+j]), want[i*n+j]
			if !(math.Abs(got-w) <= 1e-6*math.Sqrt(float64(k+1))*10) {
				t.Fatalf("%d × %d × %d, transposed %v %v, alpha %v, beta %v: C[%d][%d] is %v, want %v", m, n, k, x.Transposed, y.Transposed, alpha, beta, i, j, got, w)
			}
		}
	}
}

// random returns a matrix of that size in memory that may have more columns than it needs.
func random(r *rand.Rand, rows, columns int, transposed bool) Matrix {
	x := Matrix{Transposed: transposed}
	height, width := rows, columns
	if x.Transposed {
		height, width = columns, rows
	}
	x.Stride = width + r.IntN(3)
	x.Data = make([]float32, height*x.Stride+1)
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	return x
}

func (x Matrix) at(i, j int) float64 {
	if x.Transposed {
		i, j = j, i
	}
	return float64(x.Data[i*x.Stride+j])
}

// reference is alpha·X·Y + beta·C in float64, in the order of the definition.
func reference(m, n, k int, alpha float32, x, y Matrix, beta float32, c Matrix) []float64 {
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			for p := range k {
				sum += x.at(i, p) * y.at(p, j)
			}
			want[i*n+j] = float64(alpha) * sum
			if beta != 0 {
				want[i*n+j] += float64(beta) * c.at(i, j)
			}
		}
	}
	return want
}

func TestGemmRefusesShortMatrices(t *testing.T) {
	for name, f := range map[string]func(b *BLAS){
		"a": func(b *BLAS) {
			b.Gemm(2, 2, 2, 1, Matrix{make([]float32, 3), 2, false}, Matrix{make([]float32, 4), 2, false}, 0, make([]float32, 4), 2)
		},
		"b": func(b *BLAS) {
			b.Gemm(2, 2, 2, 1, Matrix{make([]float32, 4), 2, false}, Matrix{make([]float32, 4), 1, false}, 0, make([]float32, 4), 2)
		},
		"c": func(b *BLAS) {
			b.Gemm(2, 2, 2, 1, Matrix{make([]float32, 4), 2, false}, Matrix{make([]float32, 4), 2, true}, 0, make([]float32, 3), 2)
		},
	} {
		func() {
			defer func() {
				if got, want := fmt.Sprint(recover()), "blas: matrix "+name+" is shorter than its sizes say"; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}()
			f(New(Pool{}))
		}()
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, n := range []int{64, 256, 1000} {
		x, y, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
		for i := range x {
			x[i], y[i] = float32(i%7)-3, float32(i%5)-2
		}
		report := func(b *testing.B) {
			b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		}
		for _, in := range inners() {
			one := New(Pool{1})
			one.inner = in
			b.Run(fmt.Sprintf("n=%d/%s", n, in.name), func(b *testing.B) {
				for b.Loop() {
					one.Gemm(n, n, n, 1, Matrix{Data: x, Stride: n}, Matrix{Data: y, Stride: n}, 0, c, n)
				}
				report(b)
			})
		}
		b.Run(fmt.Sprintf("n=%d/gonum", n), func(b *testing.B) {
			for b.Loop() {
				gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, c, n)
			}
			report(b)
		})
	}
}
