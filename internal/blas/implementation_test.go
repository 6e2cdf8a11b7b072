package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/gonum"
)

// TestSgemmOfNothing: with k 0 nothing of a and b is read, so they may be short.
func TestSgemmOfNothing(t *testing.T) {
	c := []float32{1, 2, 3, 4}
	New(Pool{}).Implementation().Sgemm(blas.NoTrans, blas.NoTrans, 2, 2, 0, 1, nil, 1, nil, 2, 2, c, 2)
	if want := []float32{2, 4, 6, 8}; !slices.Equal(c, want) {
		t.Errorf("got %v, want %v", c, want)
	}
}

func TestImplementation(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		m, n, k := r.IntN(40)-1, r.IntN(40)-1, r.IntN(40)-1
		tA, tB := []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans, 'x'}[r.IntN(4)], []blas.Transpose{blas.NoTrans, blas.Trans}[r.IntN(2)]
		length := 1600 + 41*40
		if r.IntN(5) == 0 {
			length = 500
		}
		a, b, c := random(r, 1, length, false), random(r, 1, length, false), random(r, 1, length, false)
		lda, ldb, ldc := r.IntN(42), r.IntN(42), r.IntN(42)
		multiply := func(f blas32Gemm) (c32 []float32, said any) {
			c32 = append([]float32(nil), c.Data...)
			defer func() { said = recover() }()
			f.Sgemm(tA, tB, m, n, k, 1.5, a.Data, lda, b.Data, ldb, 0.5, c32, ldc)
			return c32, nil
		}
		got, said := multiply(New(Pool{2}).Implementation())
		want, wanted := multiply(gonum.Implementation{})
		if fmt.Sprint(said) != fmt.Sprint(wanted) {
			t.Fatalf("%c %c %d × %d × %d, strides %d %d %d: got %v, want %v", tA, tB, m, n, k, lda, ldb, ldc, said, wanted)
		}
		for i := range want {
			if said == nil && math.Abs(float64(got[i]-want[i])) > 1e-4 {
				t.Fatalf("%c %c %d × %d × %d: value %d is %v, want %v", tA, tB, m, n, k, i, got[i], want[i])
			}
		}
	}
}

type blas32Gemm interface {
	Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int)
}

func ExampleBLAS_Implementation() {
	blas32.Use(New(Pool{Cores: 1}).Implementation())
	defer blas32.Use(gonum.Implementation{})
	a := blas32.General{Rows: 1, Cols: 2, Stride: 2, Data: []float32{1, 2}}
	b := blas32.General{Rows: 2, Cols: 1, Stride: 1, Data: []float32{3, 4}}
	c := blas32.General{Rows: 1, Cols: 1, Stride: 1, Data: make([]float32, 1)}
	blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, c)
	fmt.Println(c.Data)
	// Output: [11]
}
