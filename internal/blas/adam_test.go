package blas

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAdam compares each set of instructions with the formula in float64.
func TestAdam(t *testing.T) {
	for _, in := range inners() {
		t.Run(in.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for _, n := range []int{0, 1, 15, 16, 17, 100, 1000, adamPiece + 5} {
				a := Adam{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Correction1: 0.1, Correction2: 0.001}
				weight, gradient, m, v := numbers(r, n), numbers(r, n), numbers(r, n), numbers(r, n)
				for i := range v {
					v[i] *= v[i]
				}
				wantW, wantM, wantV := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range n {
					g := float64(gradient[i])
					wantM[i] = 0.9*float64(m[i]) + 0.1*g
					wantV[i] = 0.999*float64(v[i]) + 0.001*g*g
					wantW[i] = float64(weight[i]) - 0.01*(wantM[i]/0.1)/(math.Sqrt(wantV[i]/0.001)+1e-8)
				}
				b := New(Pool{Cores: 2})
				b.inner = in
				b.Adam(a, weight, gradient, m, v)
				for i := range n {
					if far(weight[i], wantW[i]) || far(m[i], wantM[i]) || far(v[i], wantV[i]) {
						t.Fatalf("%d of %d: got weight %v, moments %v and %v, want %v, %v and %v", i, n, weight[i], m[i], v[i], wantW[i], wantM[i], wantV[i])
					}
				}
			}
		})
	}
}

func far(got float32, want float64) bool {
	return !(math.Abs(float64(got)-want) <= 2e-5*(1+math.Abs(want)))
}

func numbers(r *rand.Rand, n int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(r.NormFloat64())
	}
	return all
}

// TestAdamZero: where the gradient was always 0, weights stay as they are.
func TestAdamZero(t *testing.T) {
	weight, zero := []float32{1, 2, 3}, make([]float32, 3)
	New(Pool{}).Adam(Adam{Rate: 1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Correction1: 0.1, Correction2: 0.001}, weight, zero, make([]float32, 3), make([]float32, 3))
	if weight[0] != 1 || weight[1] != 2 || weight[2] != 3 {
		t.Errorf("got %v", weight)
	}
}

func BenchmarkAdam(b *testing.B) {
	r, n := rand.New(rand.NewPCG(1, 2)), 784*256
	weight, gradient, m, v := numbers(r, n), numbers(r, n), numbers(r, n), make([]float32, n)
	a := Adam{Rate: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Correction1: 1, Correction2: 1}
	for _, in := range inners() {
		b.Run(in.name, func(b *testing.B) {
			own := New(Pool{Cores: 1})
			own.inner = in
			b.SetBytes(7 * 4 * int64(n))
			for b.Loop() {
				own.Adam(a, weight, gradient, m, v)
			}
		})
	}
}
