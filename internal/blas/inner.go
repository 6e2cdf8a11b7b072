package blas

// inner is what the processor runs of a multiplication and of a convolution when all else is arranged around it.
type inner struct {
	name string // what it is made of: "AVX-512"

	// tile adds A·B to a tile of C of rows × columns, where A is k columns of rows floats, one after another, B is k rows of columns
	// floats, and the rows of C are stride floats apart.
	rows, columns int
	tile          func(k int, a, b, c []float32, stride int)

	// row sets out[x] = Σ weights[t]·in[offsets[t]+x] over the taps t, for blocks of step values; offsets are in floats times unit.
	step, unit int
	row        func(offsets []int, weights, in, out []float32, blocks int)

	// adam takes a step of Adam on numbers whose count is a multiple of adamBlock, and not 0.
	adam func(a adamSettings, weight, gradient, m, v []float32)
}

// plain is the inner loops in Go.
func plain() inner {
	return inner{name: "Go", rows: 4, columns: 4, tile: tilePlain, step: 8, unit: 1, row: rowPlain, adam: adamPlain}
}

func tilePlain(k int, a, b, c []float32, stride int) {
	var c00, c01, c02, c03, c10, c11, c12, c13, c20, c21, c22, c23, c30, c31, c32, c33 float32
	for range k {
		x, y := (*[4]float32)(a), (*[4]float32)(b)
		a, b = a[4:], b[4:]
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		x0 := x[0]
		c00, c01, c02, c03 = c00+x0*y0, c01+x0*y1, c02+x0*y2, c03+x0*y3
		x1 := x[1]
		c10, c11, c12, c13 = c10+x1*y0, c11+x1*y1, c12+x1*y2, c13+x1*y3
		x2 := x[2]
		c20, c21, c22, c23 = c20+x2*y0, c21+x2*y1, c22+x2*y2, c23+x2*y3
		x3 := x[3]
		c30, c31, c32, c33 = c30+x3*y0, c31+x3*y1, c32+x3*y2, c33+x3*y3
	}
	for i, sums := range [4][4]float32{{c00, c01, c02, c03}, {c10, c11, c12, c13}, {c20, c21, c22, c23}, {c30, c31, c32, c33}} {
		row := (*[4]float32)(c[i*stride:])
		for j, s := range sums {
			row[j] += s
		}
	}
}

func rowPlain(offsets []int, weights, in, out []float32, blocks int) {
	out = out[:8*blocks]
	clear(out)
	for t, w := range weights {
		for x, v := range in[offsets[t]:][:len(out)] {
			out[x] += w * v
		}
	}
}
