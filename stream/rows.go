package stream

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cancha/stream/internal/value"
)

// Rows are rows of a query's result, with the names of their columns.
type Rows struct {
	Columns []Column
	Total   int64 // rows that the query has given out; more than are here if some were left out
	// Unit is, for a sink of a query with a Checkpoint, the part of the query whose rows these are, for which epochs are counted: checkpoint.Whole, or
	// one partition where several processes share them. Without a checkpoint, and of Results, it is empty.
	Unit string
	// Run is, for such a sink, the run of the query that took the snapshot of the epoch. An epoch that comes again has its number and its Run. One with its
	// number and another Run is another one: the query has gone back to an older snapshot, and counts on from there.
	Run  string
	rows [][]Value
}

// NewRows returns no rows of these columns.
func NewRows(columns ...Column) *Rows { return &Rows{Columns: columns} }

// Append adds a row, with one value for each column.
func (r *Rows) Append(values ...Value) {
	if len(values) != len(r.Columns) {
		panic(fmt.Sprintf("stream: a row of %d values for %d columns", len(values), len(r.Columns)))
	}
	r.rows = append(r.rows, slices.Clone(values))
	r.Total++
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.rows) }

// At returns a value by its row and column.
func (r *Rows) At(row, column int) Value { return r.rows[row][column] }

// Index returns where a column is, -1 if there is none of that name.
func (r *Rows) Index(column string) int {
	return slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == column })
}

// Names returns the names of the columns.
func (r *Rows) Names() []string {
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = c.Name
	}
	return names
}

// Row returns a row.
func (r *Rows) Row(i int) Row { return Row{names: r.Names(), values: r.rows[i]} }

func (r *Rows) part(rows [][]Value) *Rows {
	return &Rows{Columns: r.Columns, Total: r.Total, rows: rows}
}

// Filter returns the rows that keep says yes to.
func (r *Rows) Filter(keep func(Row) bool) *Rows {
	names := r.Names()
	var rows [][]Value
	for _, row := range r.rows {
		if keep(Row{names: names, values: row}) {
			rows = append(rows, row)
		}
	}
	return r.part(rows)
}

// Select returns the rows with these columns alone, in this order. A name that there is not, or that is given twice, is an error.
func (r *Rows) Select(names ...string) (*Rows, error) {
	s := &Rows{Total: r.Total}
	var at []int
	for _, name := range names {
		i := r.Index(name)
		if i < 0 {
			return nil, r.without(name)
		}
		if slices.Contains(at, i) {
			return nil, fmt.Errorf("stream: column %q is selected twice, and two columns of one name cannot be told apart", name)
		}
		at = append(at, i)
		s.Columns = append(s.Columns, r.Columns[i])
	}
	for _, row := range r.rows {
		picked := make([]Value, len(at))
		for k, i := range at {
			picked[k] = row[i]
		}
		s.rows = append(s.rows, picked)
	}
	return s, nil
}

// Sort orders the rows by these columns; without names by all, from the first on. A name that there is not is a fault of the program, as in
// [Row.Value]: Sort panics, and no row has moved.
func (r *Rows) Sort(names ...string) *Rows {
	at := make([]int, 0, len(r.Columns))
	for _, name := range names {
		at = append(at, r.must(name))
	}
	if len(names) == 0 {
		for i := range r.Columns {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(r.rows, func(a, b []Value) int {
		for _, i := range at {
			if c := value.Compare(a[i], b[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	return r
}

// Head returns the first n rows, or all if there are fewer.
func (r *Rows) Head(n int) *Rows { return r.part(r.rows[:min(max(n, 0), len(r.rows))]) }

// Column returns a column as numbers, NaN where there is none. A name that there is not is an error.
func (r *Rows) Column(name string) ([]float64, error) { return column(r, name, Value.Float) }

// Strings returns a column as texts, "" where there is nothing. A name that there is not is an error.
func (r *Rows) Strings(name string) ([]string, error) { return column(r, name, Value.String) }

// Times returns a column as times, the zero time where there is none. A name that there is not is an error.
func (r *Rows) Times(name string) ([]time.Time, error) { return column(r, name, Value.Time) }

func column[T any](r *Rows, name string, of func(Value) T) ([]T, error) {
	at := r.Index(name)
	if at < 0 {
		return nil, r.without(name)
	}
	values := make([]T, len(r.rows))
	for i, row := range r.rows {
		values[i] = of(row[at])
	}
	return values, nil
}

// without is the error of a name that no column has.
func (r *Rows) without(name string) error {
	return fmt.Errorf("stream: there is no column %q; there are %s", name, strings.Join(r.Names(), ", "))
}

// must returns where a column is. It panics where there is none: rows in another order than was asked for look right.
func (r *Rows) must(name string) int {
	at := r.Index(name)
	if at < 0 {
		panic(r.without(name))
	}
	return at
}

// Named returns the rows to be shown with names for a column of integers: what name gives for each, and the integer where that is nothing. The
// column "team_id" is called "team" then, unless there is such a column already. A column that there is not is a fault of the program: Named panics.
func (r *Rows) Named(column string, name func(id int64) string) *Rows {
	at := r.must(column)
	named := &Rows{Columns: slices.Clone(r.Columns), Total: r.Total}
	if short := strings.TrimSuffix(column, "_id"); short != "" && r.Index(short) < 0 {
		named.Columns[at].Name = short
	}
	named.Columns[at].Kind = Text
	for _, row := range r.rows {
		if text := name(row[at].Int()); row[at].Kind() == Int && text != "" {
			row = slices.Clone(row)
			row[at] = TextOf(text)
		}
		named.rows = append(named.rows, row)
	}
	return named
}

// AppendJSON appends a row as a JSON object: the columns in their order, times in RFC 3339, absent values left out.
func (r *Rows) AppendJSON(dst []byte, row int) []byte {
	dst = append(dst, '{')
	first := true
	for i, c := range r.Columns {
		v := r.rows[row][i]
		if v.IsNull() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(value.AppendQuoted(dst, c.Name), ':')
		dst = v.AppendJSON(dst)
	}
	return append(dst, '}')
}

// WriteCSV writes the rows in the order they have, below a line of the columns' names. Numbers have as many digits as tell them apart from
// every other float64; absent values are empty.
func (r *Rows) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	fields := r.Names()
	out.Write(fields) // errors are kept for Flush
	for _, row := range r.rows {
		for i, v := range row {
			fields[i] = v.String()
		}
		out.Write(fields)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write rows as CSV: %w", err)
	}
	return nil
}

// Row is one row, whose values are asked for by the names of their columns. A name that there is not is a fault of the program: it panics.
type Row struct {
	names    []string
	values   []Value
	borrowed bool // texts lie in memory that is used again
}

// Value returns the value of a column.
func (r Row) Value(column string) Value {
	i := slices.Index(r.names, column)
	if i < 0 {
		panic(fmt.Sprintf("stream: the row has no %q; it has %q", column, r.names))
	}
	if r.borrowed {
		return r.values[i].Clone()
	}
	return r.values[i]
}

// Float returns a number, NaN where there is none.
func (r Row) Float(column string) float64 { return r.Value(column).Float() }

// Int returns an integer, 0 where there is none.
func (r Row) Int(column string) int64 { return r.Value(column).Int() }

// Text returns a text, "" where there is none.
func (r Row) Text(column string) string { return r.Value(column).Text() }

// Time returns a time in UTC, the zero time where there is none.
func (r Row) Time(column string) time.Time { return r.Value(column).Time() }

// Bool returns a truth, false where there is none.
func (r Row) Bool(column string) bool { return r.Value(column).Bool() }
