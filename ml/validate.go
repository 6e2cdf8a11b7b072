package ml

import (
	"fmt"
	"math"
)

// Validate reports the first thing that a model could not learn from: a ragged table, two columns of one name, a value
// that is not finite (a NaN may be where Missing says so), a label outside the classes, a weight or target out of range. Every Fit of this
// house calls it.
func (d *Dataset) Validate() error {
	p := len(d.Features)
	if p == 0 && len(d.Values) > 0 {
		return fmt.Errorf("ml: dataset has %d values but no feature names", len(d.Values))
	}
	if p > 0 && len(d.Values)%p != 0 {
		return fmt.Errorf("ml: %d values are no whole number of rows of %d features", len(d.Values), p)
	}
	if err := distinct("features", d.Features); err != nil {
		return err
	}
	if err := distinct("classes", d.Classes); err != nil {
		return err
	}
	if err := d.validateColumns(); err != nil {
		return err
	}
	if err := d.validateValues(); err != nil {
		return err
	}
	return d.validateRows()
}

// ValidateFor reports why a model that learned from these features cannot answer for the dataset: it has other features,
// or the same ones in another order, or is not valid itself.
func (d *Dataset) ValidateFor(features []string) error {
	if len(d.Features) != len(features) {
		return fmt.Errorf("ml: rows of %d features for a model of %d", len(d.Features), len(features))
	}
	for k, name := range features {
		if d.Features[k] != name {
			return fmt.Errorf("ml: column %d is %q, the model learned %q there; give it the features of its training, in their order: %q",
				k, d.Features[k], name, features)
		}
	}
	return d.Validate()
}

// distinct refuses a name that stands twice: whoever asked for it would get the first one's numbers.
func distinct(what string, names []string) error {
	at := make(map[string]int, len(names))
	for i, name := range names {
		if first, ok := at[name]; ok {
			return fmt.Errorf("ml: %s %d and %d are both named %q; each needs a name of its own", what, first, i, name)
		}
		at[name] = i
	}
	return nil
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
	if d.Exact != nil && len(d.Exact) != len(d.Values) {
		return fmt.Errorf("ml: %d exact values for %d values; set both, or Exact to nil", len(d.Exact), len(d.Values))
	}
	return nil
}

// Complete reports the first missing value of a valid dataset. Models that cannot learn from, or answer for, rows with missing values call
// it after Validate or ValidateFor.
func (d *Dataset) Complete() error {
	p := len(d.Features)
	for i, v := range d.Values {
		if v != v && p > 0 {
			return fmt.Errorf("ml: feature %q of row %d is missing, and this model takes complete rows only; fill it in, leave the row out, or take a forest",
				d.Features[i%p], i/p)
		}
	}
	return nil
}

// validateValues checks that all values are numbers, or missing where they may, and that Exact says the same as Values.
func (d *Dataset) validateValues() error {
	p := len(d.Features)
	for i, v := range d.Values {
		if v-v == 0 || d.Missing && v != v && (d.Exact == nil || math.IsNaN(d.Exact[i])) {
			continue
		}
		if d.Exact != nil && v == v && !math.IsInf(d.Exact[i], 0) {
			return fmt.Errorf("ml: feature %q of row %d is %v, too large for float32 (3.4e38); scale the column down", d.Features[i%p], i/p, d.Exact[i])
		}
		if v != v {
			return fmt.Errorf("ml: feature %q of row %d is NaN; fill it in, leave the row out, or set Missing if it is not known and a forest shall learn from it",
				d.Features[i%p], i/p)
		}
		return fmt.Errorf("ml: feature %q of row %d is %v; fill it in or leave the row out", d.Features[i%p], i/p, v)
	}
	for i, v := range d.Exact {
		if float32(v) != d.Values[i] && !(d.Missing && math.IsNaN(v) && d.Values[i] != d.Values[i]) {
			return fmt.Errorf("ml: feature %q of row %d is %v in Exact and %v in Values; change both, or set Exact to nil", d.Features[i%p], i/p, v, d.Values[i])
		}
	}
	return nil
}

// Limits of targets and weights: within them no sum of squares over a table overflows, or vanishes, in float64.
const (
	mostTarget  = 1e60
	leastWeight = 1e-60
	mostWeight  = 1e60
)

// validateRows checks labels, targets and weights.
func (d *Dataset) validateRows() error {
	for i, l := range d.Labels {
		if l < 0 || l >= len(d.Classes) {
			return fmt.Errorf("ml: label %d of row %d is outside the %d classes", l, i, len(d.Classes))
		}
	}
	for i, t := range d.Targets {
		if !(math.Abs(t) <= mostTarget) {
			return fmt.Errorf("ml: target of row %d is %v; targets lie between %g and %g", i, t, -mostTarget, mostTarget)
		}
	}
	for i, w := range d.Weights {
		if w != 0 && !(w >= leastWeight && w <= mostWeight) {
			return fmt.Errorf("ml: weight of row %d is %v; a weight is 0, or from %g to %g; scale all of them", i, w, leastWeight, mostWeight)
		}
	}
	return nil
}
