package tree

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"cancha/ml"
)

// Bins holds a dataset column by column as codes: small integers in the order of the values. It is made once per
// forest, shared by all its trees, and read-only.
type Bins struct {
	rows    int
	codes   table
	edges   []edges // of each column
	exact   bool    // the bins are of Exact, not of Values
	missing bool    // some column lacks a number somewhere
}

// edges are the least and the greatest value in each bin of a column; they are equal where a bin holds one value.
// Rows without a number have the code behind the last bin.
type edges struct {
	low, high []float64
	missing   bool
}

// Special values and limits of the number of bins.
const (
	Exact    = -1 // a bin for each distinct value: splits are those of scikit-learn
	mostBins = 1 << 16
	byteBins = 256 // codes of up to so many bins are stored in a byte
)

// NewBins puts every column of the dataset into at most most bins (2 to 65536, or Exact for as many as there are values),
// of about equal numbers of rows where a column has more distinct values than that. Rows without a number take a bin of
// their own. Where float32 does not tell a column's values apart ([ml.Dataset.WideColumn]) the bins are of the dataset's
// exact values. Columns are done on all cores. NewBins looks at ctx before each, and returns its cause when it is done.
func NewBins(ctx context.Context, d *ml.Dataset, most int) (*Bins, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	if most != Exact && (most < 2 || most > mostBins) {
		return nil, fmt.Errorf("tree: %d bins; between 2 and %d are possible, or Exact", most, mostBins)
	}
	if d.Rows() > math.MaxInt32 {
		return nil, fmt.Errorf("tree: %d rows are more than %d", d.Rows(), math.MaxInt32)
	}
	if most == Exact {
		most = math.MaxInt32
	}
	b := &Bins{rows: d.Rows(), exact: d.WideColumn() >= 0}
	var err error
	if b.exact {
		err = fill(ctx, b, d.Exact, len(d.Features), most)
	} else {
		err = fill(ctx, b, d.Values, len(d.Features), most)
	}
	return b, err
}

// fill makes the bins of each column of a row-major table, several columns at once.
func fill[T float32 | float64](ctx context.Context, b *Bins, values []T, columns, most int) error {
	b.edges = make([]edges, columns)
	err := each(ctx, columns, func() func(int) {
		column, scratch := make([]T, b.rows), make([]T, b.rows)
		return func(c int) {
			numbers := gather(column, values, c, columns)
			b.edges[c] = edgesOf(ascending(numbers, scratch), most-min(1, b.rows-len(numbers)))
			b.edges[c].missing = len(numbers) < b.rows
		}
	})
	if err != nil {
		return err
	}
	widest := 0
	for _, e := range b.edges {
		n := len(e.low)
		if e.missing {
			n, b.missing = n+1, true
		}
		widest = max(widest, n)
	}
	if widest <= byteBins {
		b.codes.narrow, err = encode[uint8](ctx, b, values, columns)
	} else {
		b.codes.wide, err = encode[uint32](ctx, b, values, columns)
	}
	return err
}

// each calls work for 0 to n-1 on all cores; begin makes the memory of one of them. It stops when ctx is done.
func each(ctx context.Context, n int, begin func() func(int)) error {
	var next, done atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			work := begin()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				work(i)
				done.Add(1)
			}
		})
	}
	workers.Wait()
	if int(done.Load()) < n {
		return fmt.Errorf("tree: putting %d columns into bins stopped after %d: %w", n, done.Load(), context.Cause(ctx))
	}
	return nil
}

// Rows and Columns return the size of the table.
func (b *Bins) Rows() int    { return b.rows }
func (b *Bins) Columns() int { return len(b.edges) }

// gather copies the numbers of a column into dst and returns them, without those that are missing.
func gather[T float32 | float64](dst, values []T, column, columns int) []T {
	n := 0
	for at := column; at < len(values); at += columns {
		v := values[at]
		dst[n] = v
		if v == v {
			n++
		}
	}
	return dst[:n]
}

// edgesOf walks the sorted values once. A bin ends when it holds its share of the rows still to come, but never
// between two equal values; with few distinct values each gets a bin of its own.
func edgesOf[T float32 | float64](sorted []T, most int) edges {
	var e edges
	exact := distinct(sorted, most) <= most
	for i := 0; i < len(sorted); {
		share := 1
		if left := most - len(e.low); !exact && left > 0 {
			share = (len(sorted) - i + left - 1) / left
		}
		end := endOfBin(sorted, i, share)
		e.low = append(e.low, float64(sorted[i]))
		e.high = append(e.high, float64(sorted[end-1]))
		i = end
	}
	return e
}

// endOfBin returns where a bin that starts at i and should hold share rows ends: after the last value equal to its last.
func endOfBin[T float32 | float64](sorted []T, i, share int) int {
	end := min(i+share, len(sorted))
	for end < len(sorted) && sorted[end] == sorted[end-1] {
		end++
	}
	return end
}

// distinct counts the different values of a sorted column, up to one more than most.
func distinct[T float32 | float64](sorted []T, most int) int {
	n := 0
	for i := range sorted {
		if i == 0 || sorted[i] != sorted[i-1] {
			if n++; n > most {
				break
			}
		}
	}
	return n
}

// encode gives every value the code of its bin, several columns at once.
func encode[C uint8 | uint32, T float32 | float64](ctx context.Context, b *Bins, values []T, columns int) ([][]C, error) {
	codes := make([][]C, columns)
	err := each(ctx, columns, func() func(int) {
		return func(c int) {
			codes[c] = make([]C, b.rows)
			codeColumn(codes[c], values[c:], columns, b.edges[c])
		}
	})
	return codes, err
}

// codeColumn searches the bin of each value: the first whose greatest value is not below it.
func codeColumn[C uint8 | uint32, T float32 | float64](codes []C, values []T, columns int, e edges) {
	high := make([]T, len(e.high))
	for i, v := range e.high {
		high[i] = T(v)
	}
	for i := range codes {
		v := values[i*columns]
		if v != v {
			codes[i] = C(len(high))
			continue
		}
		codes[i] = C(search(high, v))
	}
}

// search returns the first position of an ascending list whose value is not below v. It halves the list without a branch
// that depends on v.
func search[T float32 | float64](list []T, v T) int {
	at := 0
	for n := len(list); n > 1; {
		half := n / 2
		if list[at+half-1] < v {
			at += half
		}
		n -= half
	}
	return at
}

// ascending sorts values. Scratch is as long.
func ascending[T float32 | float64](values, scratch []T) []T {
	if v, ok := any(values).([]float32); ok {
		return any(radixSort(v, any(scratch).([]float32))).([]T)
	}
	slices.SortFunc(values, func(a, b T) int { return cmp.Compare(a, b) })
	return values
}

// radixSort sorts by three digits of 11 bits, the lowest first, of numbers in the order of the floats. Minus zero counts
// as zero. The result is in one of the two slices.
func radixSort(values, scratch []float32) []float32 {
	var counts [3][1 << 11]int
	for i, v := range values {
		values[i] = v + 0
		key := radixKey(v + 0)
		counts[0][key&0x7ff]++
		counts[1][key>>11&0x7ff]++
		counts[2][key>>22]++
	}
	from, to := values, scratch[:len(values)]
	for digit := range counts {
		at, places := 0, &counts[digit]
		for k, n := range places {
			places[k] = at
			at += n
		}
		shift := 11 * digit
		for _, v := range from {
			k := radixKey(v) >> shift & 0x7ff
			to[places[k]] = v
			places[k]++
		}
		from, to = to, from
	}
	return from
}

// radixKey returns a number that is in the order of the floats: negative ones have all bits turned, others the first.
func radixKey(v float32) uint32 {
	b := math.Float32bits(v)
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

// threshold returns the value that separates bin x of a column from a later bin y: rows with a value at or below it go
// left. It is the midpoint, as scikit-learn's, but among values of float32 rounded down to one, which sends every float32
// to the same side.
func (b *Bins) threshold(column, x, y int) float64 {
	high, low := b.edges[column].high[x], b.edges[column].low[y]
	mid := high/2 + low/2
	if b.exact {
		if mid < high || mid >= low { // neighbours: the halves, or their sum, were rounded
			return high
		}
		return mid
	}
	t := float32(mid)
	if float64(t) > mid {
		t = math.Nextafter32(t, float32(math.Inf(-1)))
	}
	return float64(t)
}
