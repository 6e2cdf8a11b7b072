package ml

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"cancha/runtime/table"
)

// Table is rows of named columns, such as a *Table of package runtime/table.
type Table interface {
	Len() int          // number of rows
	Columns() []string // names, no two the same
	// Column returns the values of a column as numbers, missing ones as NaN. Text is an error.
	Column(name string) ([]float64, error)
	// Strings returns the values of a column as text, missing ones as "".
	Strings(name string) ([]string, error)
}

// OpenCSV makes a dataset of a file of comma-separated values whose first row names the columns. To look at the table, or to change it before, read it
// with table.ReadCSV (cancha/runtime/table), which says what counts as a number, and call [FromTable].
func OpenCSV(path string, r Roles) (*Dataset, error) {
	t, err := table.ReadCSV(path)
	if err != nil {
		return nil, fmt.Errorf("ml: %w", err)
	}
	d, err := FromTable(t, r)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return d, nil
}

// ReadCSV is [OpenCSV] for what is no file: a response, an archive's entry. All of it is read into memory.
func ReadCSV(r io.Reader, roles Roles) (*Dataset, error) {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(len(byteOrderMark)); string(mark) == byteOrderMark { // spreadsheets write one
		_, _ = b.Discard(len(mark)) // just peeked
	}
	rows, err := csv.NewReader(b).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("ml: read CSV: %w", err)
	}
	t, err := table.Of(rows)
	if err != nil {
		return nil, fmt.Errorf("ml: read CSV: %w", err)
	}
	return FromTable(t, roles)
}

const byteOrderMark = "\ufeff"

// FromTable makes a dataset of a table: features of the columns that have no other role, labels or targets, groups and weights as the roles
// say. Rows keep their order, and numbers all their digits ([Dataset].Exact). Text, and values that are missing, are errors that name the
// column, a row (from 0) and what to do, unless the roles say what becomes of them.
func FromTable(t Table, r Roles) (*Dataset, error) {
	r, err := r.Learn(t)
	if err != nil {
		return nil, err
	}
	var columns []column
	for _, name := range r.Features {
		made, err := r.features(t, name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, made...)
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("ml: no column is left to learn from: all have another role")
	}
	d, err := r.assemble(columns, t.Len())
	if err != nil {
		return nil, err
	}
	if err := r.answers(d, t); err != nil {
		return nil, err
	}
	if err := r.circumstances(d, t); err != nil {
		return nil, err
	}
	return d, d.Validate()
}

// column is a feature in the making.
type column struct {
	name   string
	values []float64 // NaN where missing
}

// features makes one column of a table one feature, or several.
func (r Roles) features(t Table, name string) ([]column, error) {
	oneHot := slices.Contains(r.OneHot, name)
	if !oneHot && !slices.Contains(r.Ordinal, name) {
		values, err := r.numbers(t, name)
		return []column{{name, values}}, err
	}
	at, err := r.positions(t, name)
	if err != nil || !oneHot {
		return []column{{name, at}}, err
	}
	columns := make([]column, len(r.Values[name]))
	for k, value := range r.Values[name] {
		columns[k] = column{name + "_" + value, make([]float64, len(at))}
		for i, v := range at {
			switch {
			case math.IsNaN(v):
				columns[k].values[i] = v
			case int(v) == k:
				columns[k].values[i] = 1
			}
		}
	}
	return columns, nil
}

// numbers reads a column that holds numbers.
func (r Roles) numbers(t Table, name string) ([]float64, error) {
	values, err := t.Column(name)
	if err != nil {
		if values, err = parse(t, name); err != nil {
			return nil, err
		}
	}
	for i, v := range values {
		if math.IsNaN(v) && !r.Missing {
			return nil, missing(name, i)
		}
	}
	return values, nil
}

// missing is the error where nothing stands.
func missing(name string, row int) error {
	return fmt.Errorf("ml: column %q has no value in row %d; fill it in, leave the row out, or set Missing to keep it as NaN, which a forest can learn from", name, row)
}

// parse reads numbers out of a column of text: one where words stand for what is missing.
func parse(t Table, name string) ([]float64, error) {
	texts, err := t.Strings(name)
	if err != nil {
		return nil, fmt.Errorf("ml: column %q: %w", name, err)
	}
	values := make([]float64, len(texts))
	for i, s := range texts {
		switch s {
		case "", "NA", "N/A", "NaN", "nan", "null":
			values[i] = math.NaN()
			continue
		}
		if values[i], err = strconv.ParseFloat(s, 64); err != nil {
			return nil, fmt.Errorf("ml: column %q holds text, %q in row %d, and a model learns from numbers; name it in OneHot (a feature for each value) or Ordinal (one feature, the value's position), or leave it out with Drop",
				name, s, i)
		}
	}
	return values, nil
}

// positions tells where the values of a column stand among those that it may have.
func (r Roles) positions(t Table, name string) ([]float64, error) {
	texts, err := t.Strings(name)
	if err != nil {
		return nil, fmt.Errorf("ml: column %q: %w", name, err)
	}
	position := map[string]float64{}
	for k, value := range r.Values[name] {
		position[value] = float64(k)
	}
	at := make([]float64, len(texts))
	for i, s := range texts {
		k, ok := position[s]
		switch {
		case ok:
			at[i] = k
		case s == "" && r.Missing:
			at[i] = math.NaN()
		case s == "":
			return nil, missing(name, i)
		default:
			return nil, fmt.Errorf("ml: column %q has %q in row %d, which is none of its values %q; add it to Values and learn again, or leave the row out", name, s, i, r.Values[name])
		}
	}
	return at, nil
}

// assemble puts columns side by side.
func (r Roles) assemble(columns []column, rows int) (*Dataset, error) {
	features, table := make([]string, len(columns)), make([][]float64, rows)
	for k, c := range columns {
		features[k] = c.name
		if len(c.values) != rows {
			return nil, fmt.Errorf("ml: column %q has %d values for %d rows", c.name, len(c.values), rows)
		}
	}
	all := make([]float64, rows*len(columns))
	for i := range table {
		table[i] = all[i*len(columns) : (i+1)*len(columns)]
		for k, c := range columns {
			table[i][k] = c.values[i]
		}
	}
	return fromRows(features, table, r.Missing)
}

// answers reads what is to be learned.
func (r Roles) answers(d *Dataset, t Table) error {
	d.Classes = r.Classes
	if r.Unlabelled {
		return nil
	}
	if r.Label != "" {
		texts, err := t.Strings(r.Label)
		if err != nil {
			return fmt.Errorf("ml: label %q: %w", r.Label, err)
		}
		class := map[string]int{}
		for k, name := range r.Classes {
			class[name] = k
		}
		d.Labels = make([]int, len(texts))
		for i, s := range texts {
			k, ok := class[s]
			if !ok {
				return fmt.Errorf("ml: the label of row %d, column %q, is %q, which is none of the classes %q", i, r.Label, s, r.Classes)
			}
			d.Labels[i] = k
		}
	}
	var err error
	if r.Target != "" {
		d.Targets, err = Roles{}.numbers(t, r.Target)
	}
	return err
}

// circumstances reads groups and weights.
func (r Roles) circumstances(d *Dataset, t Table) (err error) {
	if r.Weight != "" {
		if d.Weights, err = (Roles{}).numbers(t, r.Weight); err != nil {
			return err
		}
	}
	if r.Group == "" {
		return nil
	}
	texts, err := t.Strings(r.Group)
	if err != nil {
		return fmt.Errorf("ml: group %q: %w", r.Group, err)
	}
	d.Groups, err = groups(r.Group, texts)
	return err
}

// groups are whole numbers as they are; other names are numbered from 0 by first appearance.
func groups(column string, texts []string) ([]int64, error) {
	out, whole := make([]int64, len(texts)), true
	for i, s := range texts {
		v, err := strconv.ParseInt(s, 10, 64)
		if s == "" {
			return nil, fmt.Errorf("ml: column %q has no group in row %d; a row without one is its own: give it a name of its own", column, i)
		}
		out[i], whole = v, whole && err == nil && strconv.FormatInt(v, 10) == s // 007 is a name, and not that of 7
	}
	if whole {
		return out, nil
	}
	number := map[string]int64{}
	for i, s := range texts {
		if _, ok := number[s]; !ok {
			number[s] = int64(len(number))
		}
		out[i] = number[s]
	}
	return out, nil
}
