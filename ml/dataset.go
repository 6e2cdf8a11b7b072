package ml

import (
	"fmt"
	"math"
	"slices"
)

// Dataset is a table of examples. A classifier learns Labels, a regression learns Targets; the other may be nil.
// The zero Dataset is empty and valid. Methods that return a Dataset share Values where they can, so treat a Dataset
// as read-only once a model has seen it.
type Dataset struct {
	Features []string  // name of each column, no two the same
	Values   []float32 // row-major, Rows() x len(Features); never infinite, and NaN only if Missing says so
	// Exact holds the same numbers with the digits that float32 has no room for: ids and Unix times above 16777216, say.
	// Values are these, rounded; who changes one changes both. Nil: Values are all there is. FromRows sets it where it
	// differs.
	Exact []float64
	// Missing says that a value may be NaN: it is not known. Models that can learn from such rows do, as trees can; others refuse them by
	// Complete. False: a NaN is a mistake.
	Missing bool
	Groups  []int64   // group of each row, such as its match; nil: every row is a group of its own
	Classes []string  // names of the classes, in the order of the probabilities, no two the same
	Labels  []int     // class of each row, an index into Classes
	Targets []float64 // number to predict for each row, from -1e60 to 1e60
	Weights []float64 // weight of each row, 0 or from 1e-60 to 1e60; nil: 1 each
}

// FromRows builds a dataset from one slice of numbers per row. The rows are copied, with all their digits: see Exact. A
// number that is not finite, or beyond float32 (3.4e38), is an error.
func FromRows(features []string, rows [][]float64) (*Dataset, error) {
	return fromRows(features, rows, false)
}

// FromRowsMissing is FromRows for rows in which NaN stands for a value that is not known; it sets Missing.
func FromRowsMissing(features []string, rows [][]float64) (*Dataset, error) {
	return fromRows(features, rows, true)
}

func fromRows(features []string, rows [][]float64, missing bool) (*Dataset, error) {
	n := len(rows) * len(features)
	d := &Dataset{Features: slices.Clone(features), Values: make([]float32, 0, n), Exact: make([]float64, 0, n), Missing: missing}
	rounded := false
	for i, row := range rows {
		if len(row) != len(features) {
			return nil, fmt.Errorf("ml: row %d has %d numbers, the dataset has %d features", i, len(row), len(features))
		}
		for _, v := range row {
			d.Values, d.Exact = append(d.Values, float32(v)), append(d.Exact, v)
			rounded = rounded || float64(float32(v)) != v && v == v
		}
	}
	if !rounded {
		d.Exact = nil
	}
	return d, d.Validate()
}

// Rows returns the number of rows. A dataset without features has none.
func (d *Dataset) Rows() int {
	if len(d.Features) == 0 {
		return 0
	}
	return len(d.Values) / len(d.Features)
}

// Row returns row i of Values as a view: one value per feature, not a copy.
func (d *Dataset) Row(i int) []float32 {
	p := len(d.Features)
	return d.Values[i*p : (i+1)*p : (i+1)*p]
}

// At returns a value with all the digits that the dataset has of it: that of Exact where there is one.
func (d *Dataset) At(row, column int) float64 {
	i := row*len(d.Features) + column
	if d.Exact != nil {
		return d.Exact[i]
	}
	return float64(d.Values[i])
}

// Column returns the position of the named feature, or -1.
func (d *Dataset) Column(name string) int { return slices.Index(d.Features, name) }

// Weight returns the weight of row i.
func (d *Dataset) Weight(i int) float64 {
	if d.Weights == nil {
		return 1
	}
	return d.Weights[i]
}

// Group returns the group of row i; without groups every row is its own.
func (d *Dataset) Group(i int) int64 {
	if d.Groups == nil {
		return int64(i)
	}
	return d.Groups[i]
}

// Select returns the rows with these indices, in this order, as a new dataset. An index outside the table panics.
func (d *Dataset) Select(rows []int) *Dataset {
	p := len(d.Features)
	out := &Dataset{Features: d.Features, Classes: d.Classes, Missing: d.Missing, Values: make([]float32, 0, len(rows)*p)}
	for _, i := range rows {
		out.Values = append(out.Values, d.Row(i)...)
	}
	if d.Exact != nil {
		out.Exact = make([]float64, 0, len(rows)*p)
		for _, i := range rows {
			out.Exact = append(out.Exact, d.Exact[i*p:(i+1)*p]...)
		}
	}
	out.Groups = pick(d.Groups, rows)
	out.Labels = pick(d.Labels, rows)
	out.Targets = pick(d.Targets, rows)
	out.Weights = pick(d.Weights, rows)
	return out
}

// Slice returns the rows from up to but without to, as a view: it shares the rows' numbers with d. Rows outside the table panic.
func (d *Dataset) Slice(from, to int) *Dataset {
	p := len(d.Features)
	out := &Dataset{Features: d.Features, Classes: d.Classes, Missing: d.Missing, Values: d.Values[from*p : to*p : to*p]}
	if d.Exact != nil {
		out.Exact = d.Exact[from*p : to*p : to*p]
	}
	out.Groups = part(d.Groups, from, to)
	out.Labels = part(d.Labels, from, to)
	out.Targets = part(d.Targets, from, to)
	out.Weights = part(d.Weights, from, to)
	return out
}

// part cuts a column and keeps nil as nil.
func part[T any](values []T, from, to int) []T {
	if values == nil {
		return nil
	}
	return values[from:to:to]
}

// pick gathers values by index and keeps nil as nil.
func pick[T any](values []T, rows []int) []T {
	if values == nil {
		return nil
	}
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = values[i]
	}
	return out
}

// WithTargets returns a dataset that shares everything with d except the numbers to predict.
func (d *Dataset) WithTargets(targets []float64) *Dataset {
	out := *d
	out.Targets = targets
	return &out
}

// WideColumn returns the first column whose values float32 does not tell apart well enough, or -1: rounding changed one
// of 2^24 or more, where whole numbers merge, or moved one by more than a millionth of the column's range. A model that
// computes in float32 cannot learn from such a column as it is; package forest's and package linear's use Exact.
func (d *Dataset) WideColumn() int {
	if d.Exact == nil {
		return -1
	}
	for k := range d.Features {
		if d.wide(k) {
			return k
		}
	}
	return -1
}

// Constant tells whether the values of a column are one value but for rounding: apart by at most 16 units in the last place of the one that
// is furthest from 0, as 0.1 + 0.2 is from 0.3. There is nothing to learn from it. A column of no rows is constant, and so is one whose values
// are all missing; one of which some are missing is not.
func (d *Dataset) Constant(column int) bool {
	low, high, missing := math.Inf(1), math.Inf(-1), 0
	for i := range d.Rows() {
		v := d.At(i, column)
		if math.IsNaN(v) {
			missing++
			continue
		}
		low, high = min(low, v), max(high, v)
	}
	if missing > 0 {
		return missing == d.Rows()
	}
	const places = 16
	largest := max(math.Abs(low), math.Abs(high))
	return !(high-low > places*(math.Nextafter(largest, math.Inf(1))-largest))
}

// wide judges one column for WideColumn. A constant one tells nothing apart.
func (d *Dataset) wide(column int) bool {
	low, high, moved := math.Inf(1), math.Inf(-1), 0.0
	large := false
	for i := column; i < len(d.Exact); i += len(d.Features) {
		v := d.Exact[i]
		if math.IsNaN(v) {
			continue
		}
		low, high = min(low, v), max(high, v)
		if off := math.Abs(v - float64(d.Values[i])); off > 0 {
			moved = max(moved, off)
			large = large || math.Abs(v) >= 1<<24
		}
	}
	return (large || moved > (high-low)/1e6) && !d.Constant(column)
}
