package tree

import (
	"cmp"
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
}

// edges are the least and the greatest value in each bin of a column; they are equal where a bin holds one value.
type edges struct{ low, high []float32 }

// NewBins puts every column of the dataset into at most most bins (2 to 65536), of about equal numbers of rows where a
// column has more distinct values than that. The dataset must be valid.
func NewBins(d *ml.Dataset, most int) (*Bins, error) {
	if most < 2 || most > mostBins {
		return nil, fmt.Errorf("tree: %d bins; between 2 and %d are possible", most, mostBins)
	}
	if d.Rows() > math.MaxInt32 {
		return nil, fmt.Errorf("tree: %d rows are more than %d", d.Rows(), math.MaxInt32)
	}
	b := &Bins{rows: d.Rows()}
	order := make([]valueRow, b.rows)
	for column := range d.Features {
		for i := range order {
			order[i] = valueRow{d.Values[i*len(d.Features)+column], int32(i)}
		}
		slices.SortFunc(order, func(a, b valueRow) int { return cmp.Compare(a.value, b.value) })
		codes, e := codeColumn(order, most)
		b.codes = append(b.codes, codes)
		b.edges = append(b.edges, e)
	}
	return b, nil
}

// Rows and Columns return the size of the table.
func (b *Bins) Rows() int    { return b.rows }
func (b *Bins) Columns() int { return len(b.codes) }

// valueRow is a value and the row it came from.
type valueRow struct {
	value float32
	row   int32
}

// codeColumn walks the sorted values once. A bin ends when it holds its share of the rows still to come, but never
// between two equal values; with few distinct values each gets a bin of its own.
func codeColumn(order []valueRow, most int) ([]uint16, edges) {
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
		e.low = append(e.low, order[i].value)
		e.high = append(e.high, order[end-1].value)
		i = end
	}
	return codes, e
}

// endOfBin returns where a bin that starts at i and should hold share rows ends: after the last value equal to its last.
func endOfBin(order []valueRow, i, share int) int {
	end := min(i+share, len(order))
	for end < len(order) && order[end].value == order[end-1].value {
		end++
	}
	return end
}

// distinct counts the different values of a sorted column.
func distinct(order []valueRow) int {
	n := 0
	for i := range order {
		if i == 0 || order[i].value != order[i-1].value {
			n++
		}
	}
	return n
}

// threshold returns the value that separates bin a from a later bin b: rows with a value at or below it go left. It is
// scikit-learn's float64 midpoint rounded down to float32, which sends every float32 to the same side.
func (e edges) threshold(a, b int) float32 {
	mid := float64(e.high[a])/2 + float64(e.low[b])/2
	t := float32(mid)
	if float64(t) > mid {
		t = math.Nextafter32(t, float32(math.Inf(-1)))
	}
	return t
}
