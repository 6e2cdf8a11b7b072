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
	Features []string  // name of each column
	Values   []float32 // row-major, Rows() x len(Features); never NaN or infinite
	Groups   []int64   // group of each row, such as its match; nil: every row is a group of its own
	Classes  []string  // names of the classes, in the order of the probabilities
	Labels   []int     // class of each row, an index into Classes
	Targets  []float64 // number to predict for each row
	Weights  []float64 // weight of each row, 0 or more; nil: 1 each
}

// FromRows builds a dataset from one slice of numbers per row. The rows are copied.
func FromRows(features []string, rows [][]float64) (*Dataset, error) {
	d := &Dataset{Features: slices.Clone(features), Values: make([]float32, 0, len(rows)*len(features))}
	for i, row := range rows {
		if len(row) != len(features) {
			return nil, fmt.Errorf("ml: row %d has %d numbers, the dataset has %d features", i, len(row), len(features))
		}
		for _, v := range row {
			d.Values = append(d.Values, float32(v))
		}
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

// Row returns row i as a view: one value per feature, not a copy.
func (d *Dataset) Row(i int) []float32 {
	p := len(d.Features)
	return d.Values[i*p : (i+1)*p : (i+1)*p]
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
	out := &Dataset{Features: d.Features, Classes: d.Classes, Values: make([]float32, 0, len(rows)*p)}
	for _, i := range rows {
		out.Values = append(out.Values, d.Row(i)...)
	}
	out.Groups = pick(d.Groups, rows)
	out.Labels = pick(d.Labels, rows)
	out.Targets = pick(d.Targets, rows)
	out.Weights = pick(d.Weights, rows)
	return out
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

// Validate reports the first thing that a model could not learn from: a ragged table, a value that is not finite, a
// label outside the classes, a negative weight. Every Fit of this house calls it.
func (d *Dataset) Validate() error {
	p := len(d.Features)
	if p == 0 && len(d.Values) > 0 {
		return fmt.Errorf("ml: dataset has %d values but no feature names", len(d.Values))
	}
	if p > 0 && len(d.Values)%p != 0 {
		return fmt.Errorf("ml: %d values are no whole number of rows of %d features", len(d.Values), p)
	}
	if err := d.validateColumns(); err != nil {
		return err
	}
	for i, v := range d.Values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("ml: feature %q of row %d is %v; fill it in or leave the row out", d.Features[i%p], i/p, v)
		}
	}
	return d.validateRows()
}

// validateColumns checks that each column beside the features has one entry per row.
func (d *Dataset) validateColumns() error {
	rows := d.Rows()
	for _, c := range []struct {
		name string
		n    int
		set  bool
	}{
		{"groups", len(d.Groups), d.Groups != nil},
		{"labels", len(d.Labels), d.Labels != nil},
		{"targets", len(d.Targets), d.Targets != nil},
		{"weights", len(d.Weights), d.Weights != nil},
	} {
		if c.set && c.n != rows {
			return fmt.Errorf("ml: %d %s for %d rows", c.n, c.name, rows)
		}
	}
	return nil
}

// validateRows checks labels, targets and weights.
func (d *Dataset) validateRows() error {
	for i, l := range d.Labels {
		if l < 0 || l >= len(d.Classes) {
			return fmt.Errorf("ml: label %d of row %d is outside the %d classes", l, i, len(d.Classes))
		}
	}
	for i, t := range d.Targets {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return fmt.Errorf("ml: target of row %d is %v", i, t)
		}
	}
	for i, w := range d.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("ml: weight of row %d is %v; weights are 0 or more", i, w)
		}
	}
	return nil
}
