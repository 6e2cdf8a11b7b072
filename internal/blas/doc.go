// Package blas multiplies float32 matrices and convolves float32 images on all cores of a pool, in Go assembly where the processor has AVX2
// or AVX-512 and in Go elsewhere, and serves gonum and gorgonia through their interfaces. It also takes the steps of the optimizer Adam. It
// ends at dense, row-major matrices in memory: everything else of BLAS is gonum's.
package blas

//go:generate go run ./generate
