// Package table holds rows as named columns: what a notebook looks at, sorts, filters, describes, reads and writes. It
// ends where a data frame begins: no joins, no lazy plans, no index.
//
// A Table does not change: Sort, Filter, Head and the rest return another one, which may share columns with the first.
package table

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Table is rows with named, typed columns. The zero value has neither. Its methods may be called from any goroutine.
type Table struct {
	columns []*column
	rows    int
	total   int // rows of what this is an excerpt of; 0 is no excerpt
}

// Len is the number of rows.
func (t *Table) Len() int { return t.rows }

// Columns are the columns' names in order.
func (t *Table) Columns() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// Types tells for each column what it holds: int, float, string, bool, time, duration or any.
func (t *Table) Types() []string {
	types := make([]string, len(t.columns))
	for i, c := range t.columns {
		types[i] = c.kind.String()
	}
	return types
}

func (t *Table) find(name string) (*column, error) {
	for _, c := range t.columns {
		if c.name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("table: no column %q; there are %s", name, strings.Join(t.Columns(), ", "))
}

// Column returns the values of a column as numbers: bools as 0 and 1, times as seconds since 1970, durations as
// seconds, missing ones as NaN. Text
// is an error. The slice is the caller's.
func (t *Table) Column(name string) ([]float64, error) {
	c, err := t.find(name)
	if err != nil {
		return nil, err
	}
	return c.floats()
}

// Strings returns the values of a column as text, missing ones as "".
func (t *Table) Strings(name string) ([]string, error) {
	c, err := t.find(name)
	if err != nil {
		return nil, err
	}
	texts := make([]string, t.rows)
	for i := range texts {
		texts[i] = c.csv(i)
	}
	return texts, nil
}

// Value returns what stands in a row, counted from 0, and a column: int64, float64, string, bool, time.Time, time.Duration
// or what was put in; nil where the value is missing. A row or a column that there is not is a panic with an error, as an index out of
// range is: inside a Filter a nil would compare as different and drop every row. Go compares what an any holds by type first, so
// t.Value(i, "n") == 3 is never true of an int64: compare with int64(3).
func (t *Table) Value(row int, name string) any {
	c, err := t.find(name)
	if err == nil {
		err = t.has(row)
	}
	if err != nil {
		panic(err)
	}
	return c.value(row)
}

// has returns an error where there is no such row.
func (t *Table) has(row int) error {
	if row >= 0 && row < t.rows {
		return nil
	}
	return fmt.Errorf("table: no row %d; there are %d, counted from 0", row, t.rows)
}

// Row returns a row's values by column name. A row that there is not is a panic with an error, as an index out of range is.
func (t *Table) Row(row int) map[string]any {
	if err := t.has(row); err != nil {
		panic(err)
	}
	values := make(map[string]any, len(t.columns))
	for _, c := range t.columns {
		values[c.name] = c.value(row)
	}
	return values
}

// Head returns the first n rows.
func (t *Table) Head(n int) *Table { return t.slice(0, min(max(n, 0), t.rows)) }

// Tail returns the last n rows.
func (t *Table) Tail(n int) *Table { return t.slice(t.rows-min(max(n, 0), t.rows), t.rows) }

// slice shares the columns' memory; nobody writes to it. What is shown says how many rows there were.
func (t *Table) slice(from, to int) *Table {
	s := &Table{columns: make([]*column, len(t.columns)), rows: to - from, total: max(t.total, t.rows)}
	for i, c := range t.columns {
		s.columns[i] = c.slice(from, to)
	}
	return s
}

// Select returns the named columns in the given order. A name that there is not, or that is given twice, is an error.
func (t *Table) Select(names ...string) (*Table, error) {
	s := &Table{rows: t.rows, total: t.total}
	for _, name := range names {
		c, err := t.find(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(s.columns, c) {
			return nil, fmt.Errorf("table: column %q is selected twice, and two columns of one name cannot be told apart", name)
		}
		s.columns = append(s.columns, c)
	}
	return s, nil
}

// Filter returns the rows, counted from 0, for which keep is true.
func (t *Table) Filter(keep func(row int) bool) *Table {
	var rows []int
	for i := range t.rows {
		if keep(i) {
			rows = append(rows, i)
		}
	}
	return t.pick(rows)
}

// Sort returns the rows ordered by a column, largest first if descending. Rows that are equal keep their order; missing
// values and NaN stand last either way.
func (t *Table) Sort(name string, descending bool) (*Table, error) {
	c, err := t.find(name)
	if err != nil {
		return nil, err
	}
	rows := make([]int, t.rows)
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return c.compare(a, b, descending) })
	return t.pick(rows), nil
}

// pick copies rows in the given order.
func (t *Table) pick(rows []int) *Table {
	s := &Table{columns: make([]*column, len(t.columns)), rows: len(rows)}
	for i, c := range t.columns {
		s.columns[i] = c.pick(rows)
	}
	return s
}

// Describe summarises each column in a row: how many values it has and lacks, and of numbers mean, sample standard
// deviation, least, quartiles (linear between ranks) and greatest. NaN is lacking, as in pandas. Where values are
// infinite the mean is, or NaN between both infinities, and the deviation is NaN.
func (t *Table) Describe() *Table {
	names, counts, missing := newColumn("column", text), newColumn("count", integer), newColumn("missing", integer)
	stats := make([]*column, len(statistics))
	for i, name := range statistics {
		stats[i] = newColumn(name, float)
		stats[i].summary = true
	}
	for _, c := range t.columns {
		names.append(c.name)
		lacking := c.lacking()
		counts.append(int64(t.rows - lacking))
		missing.append(int64(lacking))
		values := c.statistics()
		for k := range stats {
			if values == nil {
				stats[k].append(nil)
			} else {
				stats[k].append(values[k])
			}
		}
	}
	return &Table{columns: append([]*column{names, counts, missing}, stats...), rows: len(t.columns)}
}

var statistics = [...]string{"mean", "sd", "min", "p25", "p50", "p75", "max"}

// statistics returns the summary of a column of numbers that has at least one value, else nil.
func (c *column) statistics() []float64 {
	if c.kind != integer && c.kind != float {
		return nil
	}
	all, _ := c.floats() // numbers always are
	values := slices.DeleteFunc(all, math.IsNaN)
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	mean, sd := moments(values)
	last := len(values) - 1
	return []float64{mean, sd, values[0], quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75), values[last]}
}

// moments returns the mean and the sample standard deviation of sorted values. The mean of values of which some are infinite is that infinity,
// or NaN between both, and they deviate by no number.
func moments(sorted []float64) (mean, sd float64) {
	least, most := sorted[0], sorted[len(sorted)-1]
	if math.IsInf(least, 0) || math.IsInf(most, 0) {
		return least + most, math.NaN()
	}
	scale, sum := scaleOf(max(-least, most)), 0.0
	for i, v := range sorted { // Welford's updates: exact for large offsets
		v /= scale
		d := v - mean
		mean += d / float64(i+1)
		sum += d * (v - mean)
	}
	return mean * scale, math.Sqrt(sum/float64(len(sorted)-1)) * scale
}

// scaleOf is the power of two by which values up to the given size are divided, so that their squares are neither infinite nor zero.
func scaleOf(size float64) float64 {
	if size == 0 || size > 1e-100 && size < 1e100 {
		return 1
	}
	_, exponent := math.Frexp(size)
	return math.Ldexp(1, exponent-1)
}

// quantile interpolates linearly between ranks (type 7 of Hyndman and Fan, 1996), as numpy does. Between an infinite value and a finite one all is
// infinite, and only the middle of both infinities is NaN.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[i]
	}
	low, high, share := sorted[i], sorted[i+1], at-float64(i)
	switch {
	case share == 0 || low == high:
		return low
	case math.IsInf(high-low, 0): // low + share × (high − low) is NaN from −∞ on
		return low*(1-share) + high*share
	}
	return low + share*(high-low)
}

// timeText is how times are written to files and shown.
const timeText = time.RFC3339Nano
