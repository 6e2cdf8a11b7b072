package host

import (
	"fmt"
	"math"

	"cancha/internal/blas"
	"cancha/runtime/gpu/driver"
)

// piece is how many elements a core takes at once: a reduction adds up pieces in their order, so that its result does not depend on the
// number of cores.
const piece = 16 << 10

// run runs a func of package driver. Memory that is too short for the numbers that come with it is refused.
func run(name string, d *Device, a []argument) (err error) {
	defer func() {
		if p := recover(); p != nil { // an index out of range, or of blas
			err = fmt.Errorf("launch %s: memory is too short for its sizes: %v: %w", name, p, driver.ErrLaunch)
		}
	}()
	switch name {
	case "fill":
		d.each(a[2].n, func(from, to int) { fill(a[0].f[from:to], a[1].x) })
	case "vector_add":
		d.each(a[3].n, func(from, to int) { add(a[0].f[from:to], a[1].f[from:to], a[2].f[from:to]) })
	case "sgemm":
		d.multiply(a)
	case "conv2d":
		return d.convolve(a)
	case "gather_rows":
		columns := a[4].n
		d.rows(a[3].n, columns, func(i int) { gatherRow(a[0].f[i*columns:][:columns], a[1].f, int(a[2].i[i])) })
	case "gather":
		d.each(a[3].n, func(from, to int) {
			for i, index := range a[2].i[from:to] {
				a[0].i[from+i] = gather(a[1].i, int(index))
			}
		})
	case "bias", "bias_relu":
		columns := a[3].n
		d.rows(a[2].n, columns, func(i int) { bias(a[0].f[i*columns:][:columns], a[1].f, name == "bias_relu") })
	case "relu_gradient":
		d.each(a[2].n, func(from, to int) { reluGradient(a[0].f[from:to], a[1].f[from:to]) })
	case "column_sums":
		d.columnSums(a[0].f, a[1].f, a[2].n, a[3].n)
	case "softmax_cross_entropy":
		rows, classes := a[4].n, a[5].n
		d.rows(rows, 20*classes, func(i int) {
			a[0].f[i] = crossEntropy(a[1].f[i*classes:][:classes], a[2].f[i*classes:][:classes], int(a[3].i[i]), rows)
		})
	case "sum":
		d.sum(a[0].f, a[1].f[:a[2].n])
	case "adam":
		n := a[4].n
		d.blas.Adam(blas.Adam{Rate: a[5].x, Beta1: a[6].x, Beta2: a[7].x, Epsilon: a[8].x, Correction1: a[9].x, Correction2: a[10].x},
			a[0].f[:n], a[1].f[:n], a[2].f[:n], a[3].f[:n])
	default:
		return fmt.Errorf("launch %s: the CPU has no such func: %w", name, driver.ErrLaunch)
	}
	return nil
}

// runLoaded runs a func that a library has brought. Its memory is long enough; what it panics at is what indices in memory lead to.
func (d *Device) runLoaded(f *driver.LoadedFunc, values []any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("launch %s: the func panicked: %v: %w", f.Name, p, driver.ErrLaunch)
		}
	}()
	f.Host(d.cores, values)
	return nil
}

// each gives the cores pieces of 0 to n.
func (d *Device) each(n int, f func(from, to int)) {
	d.cores((n+piece-1)/piece, func(i int) { f(i*piece, min(n, (i+1)*piece)) })
}

// rows gives the cores rows, of which each takes about so many steps, several at a time.
func (d *Device) rows(n, steps int, f func(i int)) {
	together := max(1, piece/max(1, steps))
	d.cores((n+together-1)/together, func(at int) {
		for i := at * together; i < min(n, (at+1)*together); i++ {
			f(i)
		}
	})
}

// cores runs f for 0 to n-1 on the cores. A panic of f, on whatever core, is the caller's.
func (d *Device) cores(n int, f func(i int)) {
	panics := make([]any, n)
	d.blas.Pool().Do(n, func(_, i int) {
		defer func() { panics[i] = recover() }()
		f(i)
	})
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}

func (d *Device) multiply(a []argument) {
	m, n, k := a[2].n, a[3].n, a[4].n
	x, y := blas.Matrix{Data: a[6].f, Stride: k}, blas.Matrix{Data: a[7].f, Stride: n}
	if a[0].n != 0 {
		x.Stride, x.Transposed = m, true
	}
	if a[1].n != 0 {
		y.Stride, y.Transposed = k, true
	}
	d.blas.Gemm(m, n, k, a[5].x, x, y, a[8].x, a[9].f, n)
}

func (d *Device) convolve(a []argument) error {
	err := d.blas.Conv2D(a[0].f, a[1].f, a[2].f, blas.Conv{
		Images: a[3].n, Channels: a[4].n, Height: a[5].n, Width: a[6].n, Filters: a[7].n, FilterHeight: a[8].n, FilterWidth: a[9].n, Padding: a[10].n,
	})
	if err != nil {
		return fmt.Errorf("launch conv2d: %w: %w", err, driver.ErrLaunch)
	}
	return nil
}

func fill(out []float32, value float32) {
	for i := range out {
		out[i] = value
	}
}

func add(out, a, b []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = a[i] + b[i]
	}
}

// gatherRow copies a row of x; one that x does not have is NaN, as on a GPU, which learns of an index when it is too late to refuse it.
func gatherRow(row, x []float32, index int) {
	if index < 0 || index >= len(x)/max(1, len(row)) {
		fill(row, float32(math.NaN()))
		return
	}
	copy(row, x[index*len(row):])
}

// gather returns an element of x, or the least int where x has no such element.
func gather(x []int32, index int) int32 {
	if index < 0 || index >= len(x) {
		return math.MinInt32
	}
	return x[index]
}

func bias(row, by []float32, relu bool) {
	by = by[:len(row)]
	if !relu {
		for i := range row {
			row[i] += by[i]
		}
		return
	}
	for i := range row {
		row[i] = max(0, row[i]+by[i])
	}
}

func reluGradient(gradient, y []float32) {
	y = y[:len(gradient)]
	for i, g := range gradient {
		bits := math.Float32bits(g) // of an integer the compiler makes a conditional move: which units are on, no branch can predict
		if y[i] == 0 {
			bits = 0
		}
		gradient[i] = math.Float32frombits(bits)
	}
}

// columnSums adds rows in their order, in float64, a group of columns at a time.
func (d *Device) columnSums(out, x []float32, rows, columns int) {
	const group = 64
	d.cores((columns+group-1)/group, func(i int) {
		from, to := i*group, min(columns, (i+1)*group)
		var sums [group]float64
		for r := range rows {
			for j, v := range x[r*columns+from : r*columns+to] {
				sums[j] += float64(v)
			}
		}
		for j := range to - from {
			out[from+j] = float32(sums[j])
		}
	})
}

// sum adds up pieces in float64, and then the pieces' sums in their order.
func (d *Device) sum(out, x []float32) {
	sums := make([]float64, (len(x)+piece-1)/piece)
	d.each(len(x), func(from, to int) {
		for _, v := range x[from:to] {
			sums[from/piece] += float64(v)
		}
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	out[0] = float32(total)
}

// crossEntropy returns -log softmax(logits)[label] and sets its gradient, divided by rows. The largest logit is taken away first, so
// that no exponential overflows. A label that is no class makes all of it NaN.
func crossEntropy(gradient, logits []float32, label, rows int) float32 {
	if label < 0 || label >= len(logits) {
		nan := float32(math.NaN())
		fill(gradient, nan)
		return nan
	}
	most := logits[0]
	for _, v := range logits {
		most = max(most, v)
	}
	total := 0.0
	for _, v := range logits {
		total += math.Exp(float64(v - most))
	}
	loss := math.Log(total) - float64(logits[label]-most)
	for i, v := range logits {
		p := math.Exp(float64(v-most)) / total
		if i == label {
			p--
		}
		gradient[i] = float32(p / float64(rows))
	}
	return float32(loss)
}
