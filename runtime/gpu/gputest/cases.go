package gputest

import (
	"math"
	"math/rand/v2"
)

// cases makes a random call of each func, and says in plain Go and float64 what it means. size gives the next size.
func cases() map[string]Case {
	return map[string]Case{
		"fill": fill, "vector_add": vectorAdd, "sgemm": sgemm, "conv2d": conv2d, "gather_rows": gatherRows, "gather": gather,
		"bias":          func(r *rand.Rand, size func() int) Call { return bias(r, size, false) },
		"bias_relu":     func(r *rand.Rand, size func() int) Call { return bias(r, size, true) },
		"relu_gradient": reluGradient, "column_sums": columnSums, "softmax_cross_entropy": crossEntropy, "sum": sum, "adam": adam,
	}
}

// rounding is how far a sum of so many products of normal numbers may be off, in float32 and whatever order.
func rounding(terms int) float64 { return 1e-5 * max(1, float64(terms)/300) }

func fill(r *rand.Rand, size func() int) Call {
	n := size() * size()
	want := make([]float64, n)
	for i := range want {
		want[i] = 1.5
	}
	return Call{Args: []any{normal(r, n), float32(1.5), n}, Want: map[int]any{0: want}}
}

// vectorAdd rounds once, so every device gives the same.
func vectorAdd(r *rand.Rand, size func() int) Call {
	n := size() * size() * size()
	a, b := normal(r, n), normal(r, n)
	want := make([]float64, n)
	for i := range want {
		want[i] = float64(a[i] + b[i])
	}
	return Call{Args: []any{normal(r, n), a, b, n}, Want: map[int]any{0: want}}
}

func sgemm(r *rand.Rand, size func() int) Call {
	return multiplication(r, size(), size(), size(), r.IntN(2), r.IntN(2), []float32{1, 0, -0.5}[r.IntN(3)], []float32{0, 1, 2}[r.IntN(3)])
}

func multiplication(r *rand.Rand, m, n, k, tA, tB int, alpha, beta float32) Call {
	a, b, c := normal(r, m*k), normal(r, k*n), normal(r, m*n)
	if beta == 0 && len(c) > 0 {
		c[0] = float32(math.NaN()) // is not read
	}
	if alpha == 0 && len(a) > 0 {
		a[0] = float32(math.Inf(1)) // nor is this
	}
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			for p := range k {
				x, y := i*k+p, p*n+j
				if tA != 0 {
					x = p*m + i
				}
				if tB != 0 {
					y = j*k + p
				}
				sum += float64(a[x]) * float64(b[y])
			}
			if alpha != 0 {
				want[i*n+j] = float64(alpha) * sum
			}
			if beta != 0 {
				want[i*n+j] += float64(beta) * float64(c[i*n+j])
			}
		}
	}
	return Call{Args: []any{tA, tB, m, n, k, alpha, a, b, beta, c}, Want: map[int]any{9: want}, At: rounding(k)}
}

func conv2d(r *rand.Rand, size func() int) Call {
	images, channels, filters, fh, fw, padding := r.IntN(3), 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(5), 1+r.IntN(5), r.IntN(3)
	return convolution(r, images, channels, max(1, fh-2*padding)+size(), max(1, fw-2*padding)+size(), filters, fh, fw, padding)
}

func convolution(r *rand.Rand, images, channels, height, width, filters, fh, fw, padding int) Call {
	in, filter := normal(r, images*channels*height*width), normal(r, filters*channels*fh*fw)
	var want []float64
	for i := range images {
		for o := range filters {
			for y := range height + 2*padding - fh + 1 {
				for x := range width + 2*padding - fw + 1 {
					sum := 0.0
					for c := range channels {
						for u := range fh {
							for v := range fw {
								h, w := y+u-padding, x+v-padding
								if h >= 0 && h < height && w >= 0 && w < width {
									sum += float64(in[((i*channels+c)*height+h)*width+w]) * float64(filter[((o*channels+c)*fh+u)*fw+v])
								}
							}
						}
					}
					want = append(want, sum)
				}
			}
		}
	}
	return Call{
		Args: []any{normal(r, len(want)), in, filter, images, channels, height, width, filters, fh, fw, padding},
		Want: map[int]any{0: want}, At: rounding(channels * fh * fw),
	}
}

func gatherRows(r *rand.Rand, size func() int) Call {
	all, rows, columns := 1+size(), size(), size()
	x, index := normal(r, all*columns), indices(r, rows, all)
	var want []float64
	for _, i := range index {
		want = append(want, floats(x[int(i)*columns:][:columns])...)
	}
	return Call{Args: []any{normal(r, rows*columns), x, index, rows, columns}, Want: map[int]any{0: want}}
}

func gather(r *rand.Rand, size func() int) Call {
	all, n := 1+size(), size()*size()
	x, index := indices(r, all, 1000), indices(r, n, all)
	want := make([]int32, n)
	for i, at := range index {
		want[i] = x[at]
	}
	return Call{Args: []any{indices(r, n, 10), x, index, n}, Want: map[int]any{0: want}}
}

func bias(r *rand.Rand, size func() int, relu bool) Call {
	rows, columns := size(), size()
	x, by := normal(r, rows*columns), normal(r, columns)
	want := make([]float64, len(x))
	for i := range want {
		want[i] = float64(x[i] + by[i%columns])
		if relu {
			want[i] = max(0, want[i])
		}
	}
	return Call{Args: []any{x, by, rows, columns}, Want: map[int]any{0: want}}
}

func reluGradient(r *rand.Rand, size func() int) Call {
	n := size() * size()
	gradient, y := normal(r, n), normal(r, n)
	want := floats(gradient)
	for i := range y {
		y[i] = max(0, y[i])
		if y[i] == 0 {
			want[i] = 0
		}
	}
	return Call{Args: []any{gradient, y, n}, Want: map[int]any{0: want}}
}

func columnSums(r *rand.Rand, size func() int) Call {
	rows, columns := size(), size()
	x := normal(r, rows*columns)
	want := make([]float64, columns)
	for i, v := range x {
		want[i%columns] += float64(v)
	}
	return Call{Args: []any{normal(r, columns), x, rows, columns}, Want: map[int]any{0: want}, At: 1e-5}
}

func crossEntropy(r *rand.Rand, size func() int) Call {
	rows, classes := size(), 1+size()
	logits, label := normal(r, rows*classes), indices(r, rows, classes)
	for i := range logits {
		logits[i] *= 40 // an exponential of which overflows
	}
	loss, gradient := make([]float64, rows), make([]float64, rows*classes)
	for i := range rows {
		row, most, total := logits[i*classes:][:classes], math.Inf(-1), 0.0
		for _, v := range row {
			most = max(most, float64(v))
		}
		for _, v := range row {
			total += math.Exp(float64(v) - most)
		}
		loss[i] = math.Log(total) + most - float64(row[label[i]])
		for j, v := range row {
			gradient[i*classes+j] = math.Exp(float64(v)-most) / total / float64(rows)
		}
		gradient[i*classes+int(label[i])] -= 1 / float64(rows)
	}
	return Call{
		Args: []any{normal(r, rows), normal(r, rows*classes), logits, label, rows, classes},
		Want: map[int]any{0: loss, 1: gradient}, At: 1e-5,
	}
}

func sum(r *rand.Rand, size func() int) Call {
	n := size() * size() * size()
	x := normal(r, n)
	want := []float64{0}
	for _, v := range x {
		want[0] += float64(v)
	}
	return Call{Args: []any{normal(r, 1), x, n}, Want: map[int]any{0: want}, At: 1e-4}
}

func adam(r *rand.Rand, size func() int) Call {
	n := size() * size()
	const rate, beta1, beta2, epsilon = 0.01, 0.9, 0.999, 1e-8
	step := float64(1 + r.IntN(10))
	correction1, correction2 := 1-math.Pow(beta1, step), 1-math.Pow(beta2, step)
	weight, gradient, m, v := normal(r, n), normal(r, n), normal(r, n), normal(r, n)
	wantW, wantM, wantV := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		v[i] *= v[i]
		g := float64(gradient[i])
		wantM[i] = beta1*float64(m[i]) + (1-beta1)*g
		wantV[i] = beta2*float64(v[i]) + (1-beta2)*g*g
		wantW[i] = float64(weight[i]) - rate*(wantM[i]/correction1)/(math.Sqrt(wantV[i]/correction2)+epsilon)
	}
	return Call{
		Args: []any{weight, gradient, m, v, n, float32(rate), float32(beta1), float32(beta2), float32(epsilon), float32(correction1), float32(correction2)},
		Want: map[int]any{0: wantW, 2: wantM, 3: wantV}, At: 2e-5,
	}
}
