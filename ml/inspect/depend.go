package inspect

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cancha/ml"
	"cancha/runtime/grid"
)

// DependConfig says at which values a model is asked. The zero value is scikit-learn's default: 100 values from the 5 % to the 95 % quantile.
type DependConfig struct {
	Points    int       // grid_resolution, from 2 to 10000; 0: 100. A feature with fewer distinct values is asked at those
	Low, High float64   // percentiles: quantiles of the feature where the values begin and end, 0 <= Low < High <= 1; both 0: 0.05 and 0.95
	Values    []float64 // the values themselves; not together with the others
	Rows      bool      // keeps the curve of each row, too (kind="both"): 8 bytes for each row, value and class
}

// mostPoints is far above what any chart shows, and low enough that a slip of the keyboard does not take forever.
const mostPoints = 10_000

// Dependence is how a model's answers change with one feature. It shows itself as a table.
type Dependence struct {
	Feature string
	Values  []float64 // of the feature, ascending
	Classes []string  // of a classifier; nil: the model answers with numbers
	// Average is the mean answer over the rows, by their weights: for each class, or for numbers once, one for each value.
	Average [][]float64
	Rows    [][][]float64 // answers for each class, row and value; nil unless asked for
}

// Depend computes partial dependence (Friedman 2001), as scikit-learn's partial_dependence with method="brute" does: what the model answers on average if
// all rows had this value of the feature, and all else as it is. Where the feature goes together with others, that asks about rows that do not exist.
func Depend(ctx context.Context, m ml.Model, d *ml.Dataset, feature string, c DependConfig) (*Dependence, error) {
	column, values, err := c.values(d, feature)
	if err != nil {
		return nil, err
	}
	ask, classes, err := asking(ctx, m, d)
	if err != nil {
		return nil, err
	}
	out := &Dependence{Feature: feature, Values: values, Classes: classes, Average: make([][]float64, max(len(classes), 1))}
	if c.Rows {
		out.Rows = make([][][]float64, len(out.Average))
		for k := range out.Rows {
			out.Rows[k] = make([][]float64, d.Rows())
		}
	}
	rows := asked(d)
	for _, v := range values {
		set(rows, column, v)
		answers, err := ask(rows)
		if err != nil {
			return nil, fmt.Errorf("inspect: ask with %q at %v: %w", feature, v, err)
		}
		if err := out.take(answers, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// values are those at which a model is asked.
func (c DependConfig) values(d *ml.Dataset, feature string) (column int, values []float64, err error) {
	if err := d.Validate(); err != nil {
		return 0, nil, fmt.Errorf("inspect: %w", err)
	}
	if column = d.Column(feature); column < 0 || d.Rows() == 0 {
		return 0, nil, fmt.Errorf("inspect: there is no feature %q to ask about; the dataset has %q and %d rows", feature, d.Features, d.Rows())
	}
	if c.Values != nil {
		return column, slices.Sorted(slices.Values(c.Values)), c.checkValues()
	}
	if c.Points == 0 {
		c.Points = 100
	}
	if c.Low == 0 && c.High == 0 {
		c.Low, c.High = 0.05, 0.95
	}
	if c.Points < 2 || c.Points > mostPoints || !(c.Low >= 0 && c.Low < c.High && c.High <= 1) {
		return 0, nil, fmt.Errorf("inspect: %d points from quantile %v to %v; from 2 to %d are possible, between 0 and 1", c.Points, c.Low, c.High, mostPoints)
	}
	var known []float64
	for i := range d.Rows() {
		if v := d.At(i, column); !math.IsNaN(v) {
			known = append(known, v)
		}
	}
	slices.Sort(known)
	if distinct := slices.Compact(slices.Clone(known)); len(distinct) < c.Points {
		if len(distinct) == 0 {
			return 0, nil, fmt.Errorf("inspect: all values of feature %q are missing", feature)
		}
		return column, distinct, nil
	}
	low, high := quantile(known, c.Low), quantile(known, c.High)
	if !(high > low) {
		return 0, nil, fmt.Errorf("inspect: feature %q is %v from quantile %v to %v; take others, or give Values", feature, low, c.Low, c.High)
	}
	for i := range c.Points {
		values = append(values, low+(high-low)*float64(i)/float64(c.Points-1))
	}
	return column, values, nil
}

func (c DependConfig) checkValues() error {
	if c.Points != 0 || c.Low != 0 || c.High != 0 {
		return fmt.Errorf("inspect: Values say all there is; leave Points, Low and High out")
	}
	for _, v := range c.Values {
		if math.IsNaN(v) || math.IsInf(float64(float32(v)), 0) {
			return fmt.Errorf("inspect: a model cannot be asked at %v", v)
		}
	}
	if len(c.Values) == 0 || len(c.Values) > mostPoints {
		return fmt.Errorf("inspect: %d values; from 1 to %d are possible", len(c.Values), mostPoints)
	}
	return nil
}

// quantile interpolates between sorted values as scipy's mquantiles does by default (Cunnane's plotting positions, α = β = 0.4), which scikit-learn takes here.
func quantile(sorted []float64, q float64) float64 {
	n := float64(len(sorted))
	at := n*q + 0.4 + q*0.2
	k := math.Floor(min(max(at, 1), n-1))
	share := min(max(at-k, 0), 1)
	return (1-share)*sorted[int(k)-1] + share*sorted[int(k)]
}

// asking returns what asks a model: for each row one number per class, or one.
func asking(ctx context.Context, m ml.Model, d *ml.Dataset) (ask func(*ml.Dataset) ([][]float64, error), classes []string, err error) {
	switch m := m.(type) {
	case ml.Classifier:
		if len(d.Classes) == 0 {
			return nil, nil, fmt.Errorf("inspect: the dataset names no classes; set Classes to those of the model, in its order")
		}
		return func(rows *ml.Dataset) ([][]float64, error) { return ml.PredictProba(ctx, m, rows) }, d.Classes, nil
	case ml.Regressor:
		return func(rows *ml.Dataset) ([][]float64, error) {
			numbers, err := ml.PredictNumbers(ctx, m, rows)
			out := make([][]float64, len(numbers))
			for i := range numbers {
				out[i] = numbers[i : i+1]
			}
			return out, err
		}, nil, nil
	}
	return nil, nil, fmt.Errorf("inspect: a %T is neither Classifier nor Regressor", m)
}

// asked is a copy of the rows whose values can be changed, with all digits.
func asked(d *ml.Dataset) *ml.Dataset {
	out := *d
	out.Values, out.Exact = slices.Clone(d.Values), make([]float64, len(d.Values))
	p := len(d.Features)
	for i := range out.Exact {
		out.Exact[i] = d.At(i/p, i%p)
	}
	return &out
}

// set gives a feature one value in all rows.
func set(d *ml.Dataset, column int, v float64) {
	for i := column; i < len(d.Values); i += len(d.Features) {
		d.Values[i], d.Exact[i] = float32(v), v
	}
}

// take adds the answers at one more value.
func (dep *Dependence) take(answers [][]float64, d *ml.Dataset) error {
	total := 0.0
	sums := make([]float64, len(dep.Average))
	for i, row := range answers {
		w := d.Weight(i)
		total += w
		for k, v := range row {
			sums[k] += w * v
			if dep.Rows != nil {
				dep.Rows[k][i] = append(dep.Rows[k][i], v)
			}
		}
	}
	if total == 0 {
		return fmt.Errorf("inspect: no row weighs more than 0; an average is over rows that do")
	}
	for k, sum := range sums {
		dep.Average[k] = append(dep.Average[k], sum/total)
	}
	return nil
}

// mostShown is how many values a table has.
const mostShown = 25

// MIMEBundle shows the average at up to 25 of the values.
func (dep *Dependence) MIMEBundle() map[string]any {
	g := grid.Grid{Caption: "Partial dependence on " + dep.Feature, Header: append([]string{dep.Feature}, dep.Classes...)}
	if dep.Classes == nil {
		g.Header = append(g.Header, "average")
	}
	step := (len(dep.Values) + mostShown - 1) / mostShown
	for i := 0; i < len(dep.Values); i += step {
		row := []string{fmt.Sprintf("%.4g", dep.Values[i])}
		for k := range dep.Average {
			row = append(row, fmt.Sprintf("%.4f", dep.Average[k][i]))
		}
		g.Rows = append(g.Rows, row)
	}
	return g.MIMEBundle()
}

// String is the table's text.
func (dep *Dependence) String() string { return dep.MIMEBundle()["text/plain"].(string) }
