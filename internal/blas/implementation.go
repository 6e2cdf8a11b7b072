package blas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Implementation is gonum's BLAS with our matrix multiplication of float32. It is what gonum's blas32.Use and gorgonia's Use take. Make
// one with [BLAS.Implementation].
type Implementation struct {
	gonum.Implementation
	own *BLAS
}

// Implementation returns b behind gonum's and gorgonia's interfaces.
func (b *BLAS) Implementation() Implementation { return Implementation{own: b} }

// BLAS returns what it multiplies with.
func (i Implementation) BLAS() *BLAS { return i.own }

// Sgemm is BLAS's: c = alpha·op(a)·op(b) + beta·c for row-major matrices, op(a) of m × k and op(b) of k × n. It panics as gonum's does,
// but with k 0 it does not mind a short a or b, of which nothing is read.
func (i Implementation) Sgemm(transA, transB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	x := Matrix{Data: a, Stride: lda, Transposed: transA != blas.NoTrans}
	y := Matrix{Data: b, Stride: ldb, Transposed: transB != blas.NoTrans}
	if !known(transA) || !known(transB) || m < 0 || n < 0 || k < 0 || !x.fits(m, k) || !y.fits(k, n) || !(Matrix{Data: c, Stride: ldc}).fits(m, n) {
		i.Implementation.Sgemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) // says what is wrong
		return
	}
	i.own.Gemm(m, n, k, alpha, x, y, beta, c, ldc)
}

func known(t blas.Transpose) bool { return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans }
