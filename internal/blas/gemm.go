package blas

import "sync"

// Matrix is a dense, row-major matrix in a slice: element (i, j) is Data[i*Stride+j]. With Transposed it stands for its transpose:
// element (i, j) is then Data[j*Stride+i].
type Matrix struct {
	Data       []float32
	Stride     int
	Transposed bool
}

// Blocks of A and B that are copied to where the inner loop reads them in order: a panel of A stays in the second-level cache, a
// block of B in the third, and a column of B's block in the first (Goto and van de Geijn, Anatomy of High-Performance Matrix
// Multiplication, 2008).
const (
	depth   = 256  // of both, along k
	widest  = 3072 // columns of B
	highest = 240  // rows of A; a multiple of every tile's
)

// Gemm sets C = alpha·A·B + beta·C, where A is m × k, B is k × n and C is m × n, on the pool's cores. With beta 0, C is not read.
// The sums run in an order that depends on k, and on whether m·n·k is at most 4,096: so few products are added one by one. It panics where
// a matrix is shorter than its sizes say.
func (b *BLAS) Gemm(m, n, k int, alpha float32, x, y Matrix, beta float32, c []float32, stride int) {
	if m == 0 || n == 0 {
		return
	}
	x.check("a", m, k)
	y.check("b", k, n)
	Matrix{Data: c, Stride: stride}.check("c", m, n)
	scale(beta, c, m, n, stride)
	if k == 0 || alpha == 0 {
		return
	}
	if m*n*k <= small {
		multiplySmall(m, n, k, alpha, x, y, c, stride)
		return
	}
	for j := 0; j < n; j += widest {
		for p := 0; p < k; p += depth {
			b.block(m, min(widest, n-j), min(depth, k-p), alpha, x.from(0, p), y.from(p, j), c[j:], stride)
		}
	}
}

// small is how many products are few enough that copying blocks costs more than it gains (measured at 16 × 16 × 16).
const small = 16 * 16 * 16

// from is the matrix without its first i rows and j columns.
func (x Matrix) from(i, j int) Matrix {
	if x.Transposed {
		i, j = j, i
	}
	x.Data = x.Data[i*x.Stride+j:]
	return x
}

func (x Matrix) check(name string, rows, columns int) {
	if rows > 0 && columns > 0 && !x.fits(rows, columns) {
		panic("blas: matrix " + name + " is shorter than its sizes say")
	}
}

// fits tells whether x can have that size, as BLAS has it: rows are not shorter than their stride says, empty ones included.
func (x Matrix) fits(rows, columns int) bool {
	if x.Transposed {
		rows, columns = columns, rows
	}
	return x.Stride >= max(1, columns) && (rows == 0 || columns == 0 || len(x.Data) >= (rows-1)*x.Stride+columns)
}

func scale(beta float32, c []float32, m, n, stride int) {
	for i := range m {
		switch row := c[i*stride:][:n]; beta {
		case 1:
			return
		case 0:
			clear(row)
		default:
			for j := range row {
				row[j] *= beta
			}
		}
	}
}

// block adds alpha·X·Y to C for a block of Y that is copied once; each core copies the panels of X that it takes.
func (b *BLAS) block(m, n, k int, alpha float32, x, y Matrix, c []float32, stride int) {
	t := b.inner
	panels := ceil(n, t.columns)
	packed := b.scratch(panels * t.columns * k)
	defer b.spare.Put(packed)
	b.pool.Do(panels, func(_, i int) {
		j := i * t.columns
		packColumns((*packed)[j*k:], t.columns, min(t.columns, n-j), k, y.from(0, j))
	})
	height := b.height(m)
	b.pool.Do(ceil(m, height), func(_, i int) {
		from := i * height
		rows := min(height, m-from)
		panel := b.scratch(ceil(rows, t.rows) * t.rows * k)
		defer b.spare.Put(panel)
		for r := 0; r < rows; r += t.rows {
			packRows((*panel)[r*k:], t.rows, min(t.rows, rows-r), k, alpha, x.from(from+r, 0))
		}
		b.panel(rows, n, k, *panel, *packed, c[from*stride:], stride)
	})
}

// height is how many rows of A a core takes at once: fewer than the cache would hold where there are too few for all cores.
func (b *BLAS) height(m int) int {
	t := b.inner
	each := ceil(ceil(m, b.pool.cores(m)), t.rows) * t.rows
	return min(each, highest)
}

// panel adds the product of a panel of A and a block of B, both copied, to C.
func (b *BLAS) panel(m, n, k int, x, y, c []float32, stride int) {
	t := b.inner
	edge := make([]float32, t.rows*t.columns)
	for j := 0; j < n; j += t.columns {
		for i := 0; i < m; i += t.rows {
			if i+t.rows <= m && j+t.columns <= n {
				t.tile(k, x[i*k:], y[j*k:], c[i*stride+j:], stride)
				continue
			}
			clear(edge)
			t.tile(k, x[i*k:], y[j*k:], edge, t.columns)
			add(c[i*stride+j:], stride, edge, t.columns, min(t.rows, m-i), min(t.columns, n-j))
		}
	}
}

func add(c []float32, stride int, edge []float32, columns, m, n int) {
	for i := range m {
		row := c[i*stride:][:n]
		for j, v := range edge[i*columns:][:n] {
			row[j] += v
		}
	}
}

// packRows copies m rows of x, scaled, as k columns of rows floats; the rows that are missing are 0.
func packRows(to []float32, rows, m, k int, alpha float32, x Matrix) {
	if x.Transposed {
		for p := range k {
			column := to[p*rows:][:rows]
			for i, v := range x.Data[p*x.Stride:][:m] {
				column[i] = alpha * v
			}
			clear(column[m:])
		}
		return
	}
	for i := range rows {
		if i >= m {
			for p := range k {
				to[p*rows+i] = 0
			}
			continue
		}
		at := i
		for _, v := range x.Data[i*x.Stride:][:k] {
			to[at] = alpha * v
			at += rows
		}
	}
}

// packColumns copies n columns of y as k rows of columns floats; the columns that are missing are 0.
func packColumns(to []float32, columns, n, k int, y Matrix) {
	for p := range k {
		row := to[p*columns:][:columns]
		clear(row[n:])
		if !y.Transposed {
			copy(row[:n], y.Data[p*y.Stride:])
		}
	}
	if !y.Transposed {
		return
	}
	for j := range n {
		at := j
		for _, v := range y.Data[j*y.Stride:][:k] {
			to[at] = v
			at += columns
		}
	}
}

func multiplySmall(m, n, k int, alpha float32, x, y Matrix, c []float32, stride int) {
	step, next := x.Stride, 1
	if x.Transposed {
		step, next = 1, x.Stride
	}
	for i := range m {
		row := c[i*stride:][:n]
		for p := range k {
			v := alpha * x.Data[i*step+p*next]
			if y.Transposed {
				for j := range row {
					row[j] += v * y.Data[j*y.Stride+p]
				}
				continue
			}
			for j, w := range y.Data[p*y.Stride:][:n] {
				row[j] += v * w
			}
		}
	}
}

func ceil(n, of int) int { return (n + of - 1) / of }

// BLAS multiplies on the cores of a pool. Make one with New; its methods may be called from any goroutine.
type BLAS struct {
	pool  Pool
	inner inner
	spare sync.Pool // *[]float32
}

// New returns a BLAS that works on the pool's cores with the fastest instructions that the processor has.
func New(p Pool) *BLAS { return &BLAS{pool: p, inner: inners()[0]} }

// Name tells what it is made of, for labels: "own AVX-512", "own AVX2" or "own Go".
func (b *BLAS) Name() string { return "own " + b.inner.name }

// Pool is the pool that it works on.
func (b *BLAS) Pool() Pool { return b.pool }

// scratch returns memory for n floats; what it holds is not defined.
func (b *BLAS) scratch(n int) *[]float32 {
	if s, ok := b.spare.Get().(*[]float32); ok && cap(*s) >= n {
		*s = (*s)[:n]
		return s
	}
	s := make([]float32, n)
	return &s
}
