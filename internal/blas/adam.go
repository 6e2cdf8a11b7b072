package blas

import (
	"fmt"
	"math"
)

// Adam holds the settings of one step of the optimizer (Kingma and Ba, 2015, algorithm 1). Correction1 is 1 - Beta1^t and Correction2 is 1
// - Beta2^t, where t is the number of the step, counted from 1.
type Adam struct{ Rate, Beta1, Beta2, Epsilon, Correction1, Correction2 float32 }

// adamSettings are β₁, 1-β₁, β₂, 1-β₂, rate/correction₁, 1/correction₂ and ε, the order in which the assembly reads them.
type adamSettings [7]float32

func (a Adam) settings() adamSettings {
	return adamSettings{a.Beta1, 1 - a.Beta1, a.Beta2, 1 - a.Beta2, a.Rate / a.Correction1, 1 / a.Correction2, a.Epsilon}
}

const (
	adamBlock = 16        // numbers of the widest register
	adamPiece = 128 << 10 // numbers that a core takes at once
)

// Adam changes weight, and the moments m and v, by a step along the gradient, on the pool's cores: m = β₁m + (1-β₁)g, v = β₂v + (1-β₂)g²,
// weight -= rate (m/correction₁) / (√(v/correction₂) + ε). It panics where one of the four is shorter than weight.
func (b *BLAS) Adam(a Adam, weight, gradient, m, v []float32) {
	n := len(weight)
	if len(gradient) < n || len(m) < n || len(v) < n {
		panic(fmt.Sprintf("blas: a step on %d weights with gradients and moments of %d, %d and %d", n, len(gradient), len(m), len(v)))
	}
	settings := a.settings()
	b.pool.Do(ceil(n, adamPiece), func(_, i int) {
		from, to := i*adamPiece, min(n, (i+1)*adamPiece)
		whole := from + (to-from)/adamBlock*adamBlock
		if whole > from {
			b.inner.adam(settings, weight[from:whole], gradient[from:whole], m[from:whole], v[from:whole])
		}
		adamPlain(settings, weight[whole:to], gradient[whole:to], m[whole:to], v[whole:to])
	})
}

func adamPlain(a adamSettings, weight, gradient, m, v []float32) {
	beta1, rest1, beta2, rest2, rate, correction, epsilon := a[0], a[1], a[2], a[3], a[4], a[5], a[6]
	gradient, m, v = gradient[:len(weight)], m[:len(weight)], v[:len(weight)]
	for i, g := range gradient {
		m[i] = beta1*m[i] + rest1*g
		v[i] = beta2*v[i] + rest2*g*g
		weight[i] -= rate * m[i] / (float32(math.Sqrt(float64(v[i]*correction))) + epsilon)
	}
}
