package tree

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"cancha/ml"
)

// Bins holds a dataset column by column as codes: small integers in the order of the values. It is made once per
// forest, shared by all its trees, and read-only.
type Bins struct {
	rows  int
	codes [][]uint16 // codes[column][row]
	edges []edges    // of each column
	exact bool       // the bins are of Exact, not of Values
}

// edges are the least and the greatest value in each bin of a column; they are equal where a bin holds one value.
type edges struct{ low, high []float64 }

// NewBins puts every column of the dataset into at most most bins (2 to 65536), of about equal numbers of rows where a
// column has more distinct values than that. Where float32 does not tell a column's values apart ([ml.Dataset.WideColumn])
// the bins are of the dataset's exact values. NewBins looks at ctx before each column, and returns its cause when it is
// done.
func NewBins(ctx context.Context, d *ml.Dataset, most int) (*Bins, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	if most < 2 || most > mostBins {
		return nil, fmt.Errorf("tree: %d bins; between 2 and %d are possible", most, mostBins)
	}
	if d.Rows() > math.MaxInt32 {
		return nil, fmt.Errorf("tree: %d rows are more than %d", d.Rows(), math.MaxInt32)
	}
	b := &Bins{rows: d.Rows(), exact: d.WideColumn() >= 0}
	var err error
	if b.exact {
		err = fill(ctx, b, d.Exact, len(d.Features), most)
	} else {
		err = fill(ctx, b, d.Values, len(d.Features), most)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// fill makes the bins of each column of a row-major table.
func fill[T float32 | float64](ctx context.Context, b *Bins, values []T, columns, most int) error {
	order := make([]valueRow[T], b.rows)
	for column := range columns {
		if ctx.Err() != nil {
			return fmt.Errorf("tree: putting column %d of %d into bins stopped: %w", column+1, columns, context.Cause(ctx))
		}
		for i := range order {
			order[i] = valueRow[T]{values[i*columns+column], int32(i)}
		}
		slices.SortFunc(order, func(a, b valueRow[T]) int { return cmp.Compare(a.value, b.value) })
		codes, e := codeColumn(order, most)
		b.codes = append(b.codes, codes)
		b.edges = append(b.edges, e)
	}
	return nil
}

// Rows and Columns return the size of the table.
func (b *Bins) Rows() int    { return b.rows }
func (b *Bins) Columns() int { return len(b.codes) }

// valueRow is a value and the row it came from.
type valueRow[T float32 | float64] struct {
	value T
	row   int32
}

// codeColumn walks the sorted values once. A bin ends when it holds its share of the rows still to come, but never
// between two equal values; with few distinct values each gets a bin of its own.
func codeColumn[T float32 | float64](order []valueRow[T], most int) ([]uint16, edges) {
	codes := make([]uint16, len(order))
	var e edges
	exact := distinct(order) <= most
	for i := 0; i < len(order); {
		share := 1
		if left := most - len(e.low); !exact && left > 0 {
			share = (len(order) - i + left - 1) / left
		}
		end := endOfBin(order, i, share)
		for _, v := range order[i:end] {
			codes[v.row] = uint16(len(e.low))
		}
		e.low = append(e.low, float64(order[i].value))
		e.high = append(e.high, float64(order[end-1].value))
		i = end
	}
	return codes, e
}

// endOfBin returns where a bin that starts at i and should hold share rows ends: after the last value equal to its last.
func endOfBin[T float32 | float64](order []valueRow[T], i, share int) int {
	end := min(i+share, len(order))
	for end < len(order) && order[end].value == order[end-1].value {
		end++
	}
	return end
}

// distinct counts the different values of a sorted column.
func distinct[T float32 | float64](order []valueRow[T]) int {
	n := 0
	for i := range order {
		if i == 0 || order[i].value != order[i-1].value {
			n++
		}
	}
	return n
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
