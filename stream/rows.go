package stream

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Column is a statistic's column.
type Column struct {
	Name    string
	Integer bool // a count
}

// Row is one window of one group: the keys in the order of GroupBy and the statistics in the order of the columns, NaN
// where a statistic is absent.
type Row struct {
	Start  time.Time // of the window, UTC
	End    time.Time // of the window: the first instant that is not in it
	Keys   []Key
	Values []float64
}

// Key is the value of a group's path in a row: an integer or a text.
type Key struct {
	ID     int64  // 0 if the key is a text
	Text   string // the text, or the integer in decimal
	IsText bool
}

func (k Key) String() string { return k.Text }

// compareKeys orders integers by size, and before texts.
func compareKeys(a, b Key) int {
	if a.IsText != b.IsText {
		if b.IsText {
			return -1
		}
		return 1
	}
	if a.IsText {
		return cmp.Compare(a.Text, b.Text)
	}
	return cmp.Compare(a.ID, b.ID)
}

func compareRows(a, b Row) int {
	if c := slices.CompareFunc(a.Keys, b.Keys, compareKeys); c != 0 {
		return c
	}
	return a.Start.Compare(b.Start)
}

// Rows are rows of a query's result, with the names of their columns.
type Rows struct {
	KeyNames []string // the paths of GroupBy
	Columns  []Column
	Rows     []Row
	Total    int64 // rows that the query has given out; more than are here if some were left out
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.Rows) }

// Sort orders the rows by their keys, then by window.
func (r *Rows) Sort() *Rows {
	slices.SortStableFunc(r.Rows, compareRows)
	return r
}

// Head returns the first n rows.
func (r *Rows) Head(n int) *Rows { return r.part(r.Rows[:max(0, min(n, len(r.Rows)))]) }

// Tail returns the last n rows.
func (r *Rows) Tail(n int) *Rows { return r.part(r.Rows[len(r.Rows)-max(0, min(n, len(r.Rows))):]) }

// Select returns the rows whose key of that name is id; none if there is no such key.
func (r *Rows) Select(key string, id int64) *Rows {
	var rows []Row
	if at := slices.Index(r.KeyNames, key); at >= 0 {
		for _, row := range r.Rows {
			if k := row.Keys[at]; !k.IsText && k.ID == id {
				rows = append(rows, row)
			}
		}
	}
	return r.part(rows)
}

// Only returns the rows with the columns of these names alone, in this order, to be shown; names that there are not are left
// out, and one that is given twice counts once.
func (r *Rows) Only(names ...string) *Rows {
	only := &Rows{KeyNames: r.KeyNames, Total: r.Total, Rows: slices.Clone(r.Rows)}
	var at []int
	for _, name := range names {
		if i := slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == name }); i >= 0 && !slices.Contains(at, i) {
			at, only.Columns = append(at, i), append(only.Columns, r.Columns[i])
		}
	}
	for i := range only.Rows {
		values := make([]float64, len(at))
		for k, column := range at {
			values[k] = r.Rows[i].Values[column]
		}
		only.Rows[i].Values = values
	}
	return only
}

// Named returns the rows to be shown with names for a key of numbers: what name gives for each, and the number where that is nothing. The
// column "team_id" is called "team" then, unless the rows have such a column already: then it stays "team_id". Rows are in the order in which they were.
func (r *Rows) Named(key string, name func(id int64) string) *Rows {
	at := slices.Index(r.KeyNames, key)
	if at < 0 {
		return r
	}
	named := r.part(slices.Clone(r.Rows))
	named.KeyNames = slices.Clone(r.KeyNames)
	if short := strings.TrimSuffix(key, "_id"); short != "" && !r.has(short) {
		named.KeyNames[at] = short
	}
	for i := range named.Rows {
		keys := slices.Clone(named.Rows[i].Keys)
		if k := keys[at]; !k.IsText {
			keys[at] = Key{Text: cmp.Or(name(k.ID), k.Text), IsText: true}
		}
		named.Rows[i].Keys = keys
	}
	return named
}

// has tells whether a column of any kind is called name.
func (r *Rows) has(name string) bool {
	return name == "window_start" || name == "window_end" || slices.Contains(r.KeyNames, name) ||
		slices.ContainsFunc(r.Columns, func(c Column) bool { return c.Name == name })
}

func (r *Rows) part(rows []Row) *Rows {
	return &Rows{KeyNames: r.KeyNames, Columns: r.Columns, Rows: rows, Total: r.Total}
}

// Starts returns the start of each row's window.
func (r *Rows) Starts() []time.Time {
	starts := make([]time.Time, len(r.Rows))
	for i, row := range r.Rows {
		starts[i] = row.Start
	}
	return starts
}

// Keys returns each row's key of that name; nil if there is no such key.
func (r *Rows) Keys(name string) []Key {
	at := slices.Index(r.KeyNames, name)
	if at < 0 {
		return nil
	}
	keys := make([]Key, len(r.Rows))
	for i, row := range r.Rows {
		keys[i] = row.Keys[at]
	}
	return keys
}

// Column returns each row's value of a column, NaN where it is absent; nil if there is no such column.
func (r *Rows) Column(name string) []float64 {
	at := slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	values := make([]float64, len(r.Rows))
	for i, row := range r.Rows {
		values[i] = row.Values[at]
	}
	return values
}

// WriteCSV writes the rows in the order they have: a head line, then the keys, window_start in RFC 3339 and the statistics.
// Numbers are written with as many digits as tell them apart from every other float64; absent ones are empty.
func (r *Rows) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append(slices.Clone(r.KeyNames), "window_start")
	for _, c := range r.Columns {
		head = append(head, c.Name)
	}
	fields := make([]string, 0, len(head))
	out.Write(head) // errors are kept for Flush
	for _, row := range r.Rows {
		fields = fields[:0]
		for _, k := range row.Keys {
			fields = append(fields, k.Text)
		}
		fields = append(fields, row.Start.Format(time.RFC3339Nano))
		for _, v := range row.Values {
			fields = append(fields, formatExact(v))
		}
		out.Write(fields)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write rows as CSV: %w", err)
	}
	return nil
}

// WriteWindowsCSV writes rows as the file windows.csv: as WriteCSV does, sorted by keys and window. It leaves r as it is.
func WriteWindowsCSV(w io.Writer, r *Rows) error {
	return r.part(slices.Clone(r.Rows)).Sort().WriteCSV(w)
}

// formatExact writes a number as encoding/json would, and NaN as nothing.
func formatExact(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
