package blas

import "golang.org/x/sys/cpu"

//go:noescape
func tileAVX2(k int, a, b, c *float32, stride int)

//go:noescape
func tileAVX512(k int, a, b, c *float32, stride int)

//go:noescape
func rowAVX2(taps int, offsets *int, weights, in, out *float32, blocks int)

//go:noescape
func rowAVX512(taps int, offsets *int, weights, in, out *float32, blocks int)

//go:noescape
func adamAVX2(blocks int, weight, gradient, m, v, settings *float32)

//go:noescape
func adamAVX512(blocks int, weight, gradient, m, v, settings *float32)

// inners are those that this processor can run, the fastest first. Offsets of their rows are in bytes.
func inners() []inner {
	all := []inner{plain()}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append([]inner{{
			name: "AVX2", rows: 6, columns: 16, tile: func(k int, a, b, c []float32, stride int) { tileAVX2(k, &a[0], &b[0], &c[0], 4*stride) },
			step: 32, unit: 4, row: func(offsets []int, weights, in, out []float32, blocks int) {
				rowAVX2(len(offsets), &offsets[0], &weights[0], &in[0], &out[0], blocks)
			},
			adam: func(a adamSettings, weight, gradient, m, v []float32) {
				adamAVX2(len(weight)/8, &weight[0], &gradient[0], &m[0], &v[0], &a[0])
			},
		}}, all...)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ { // DQ: VXORPS of whole registers
		all = append([]inner{{
			name: "AVX-512", rows: 12, columns: 32, tile: func(k int, a, b, c []float32, stride int) { tileAVX512(k, &a[0], &b[0], &c[0], 4*stride) },
			step: 64, unit: 4, row: func(offsets []int, weights, in, out []float32, blocks int) {
				rowAVX512(len(offsets), &offsets[0], &weights[0], &in[0], &out[0], blocks)
			},
			adam: func(a adamSettings, weight, gradient, m, v []float32) {
				adamAVX512(len(weight)/16, &weight[0], &gradient[0], &m[0], &v[0], &a[0])
			},
		}}, all...)
	}
	return all
}
