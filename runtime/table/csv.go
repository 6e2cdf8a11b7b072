package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Types are the types of columns by their names, in the words of [Table.Types]: int, float, string, bool or time.
type Types map[string]string

// ReadCSV reads a file of comma-separated values whose first row names the columns. A column in which every value is a
// whole number, a number, true or false, or an RFC 3339 time has that type, and an empty value in it is missing; every
// other column is text. A number is written in decimal digits, with a point and an exponent where it needs them; NaN, +Inf and
// -Inf, as [Table.WriteCSV] writes them, count as numbers beside others. Numbers with leading zeros, such as codes, and whole
// ones beyond 64 bits stay text, and so do 2020_21, 0x10 and Inf.
//
// Types say what a column is where its values do not, or say something else; a value that is none of the type is an error with
// its row.
func ReadCSV(path string, types ...Types) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("table: read CSV: %w", err)
	}
	defer f.Close()
	t, err := readCSV(f, types)
	if err != nil {
		return nil, fmt.Errorf("table: read CSV %s: %w", path, err)
	}
	return t, nil
}

const byteOrderMark = "\ufeff"

func readCSV(r io.Reader, types []Types) (*Table, error) {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(len(byteOrderMark)); string(mark) == byteOrderMark { // spreadsheets write one
		_, _ = b.Discard(len(mark)) // just peeked
	}
	in := csv.NewReader(&widths{in: b})
	in.ReuseRecord = true
	header, err := in.Read()
	if err == io.EOF {
		return nil, errNoHeader
	}
	if err != nil {
		return nil, err
	}
	header = slices.Clone(header)
	given, err := kinds(header, types)
	if err != nil {
		return nil, err
	}
	rows, err := readRows(in, len(header))
	if err != nil {
		return nil, err
	}
	return parse(header, rows.n, rows.column, given)
}

// texts are the values of a file, row by row, in blocks of so many rows each.
type texts struct {
	blocks       [][]string
	n, columns   int // rows and columns
	rowsPerBlock int
}

// valuesPerBlock are as many as are copied while a block grows to its size.
const valuesPerBlock = 4096

func readRows(in *csv.Reader, columns int) (*texts, error) {
	t := &texts{columns: columns, rowsPerBlock: max(1, valuesPerBlock/columns)}
	for {
		record, err := in.Read()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if t.n%t.rowsPerBlock == 0 {
			t.blocks = append(t.blocks, nil)
		}
		last := &t.blocks[len(t.blocks)-1]
		*last = append(*last, record...)
		t.n++
	}
}

// column puts the values of a column into a list, which must be as long as the table.
func (t *texts) column(k int, into []string) {
	for i := range into {
		into[i] = t.blocks[i/t.rowsPerBlock][i%t.rowsPerBlock*t.columns+k]
	}
}

// kinds are the types that are given, each of a column that there is.
func kinds(header []string, types []Types) (map[string]kind, error) {
	given := map[string]kind{}
	for _, each := range types {
		for _, name := range slices.Sorted(maps.Keys(each)) {
			if !slices.Contains(header, name) {
				return nil, fmt.Errorf("there is no column %q to have a type; there are %s", name, strings.Join(header, ", "))
			}
			at := slices.IndexFunc(parsed, func(k kind) bool { return k.String() == each[name] })
			if at < 0 {
				return nil, fmt.Errorf("column %q cannot be of type %q: want int, float, string, bool or time", name, each[name])
			}
			given[name] = parsed[at]
		}
	}
	return given, nil
}

// parsed are the kinds that a text is tried as, in this order.
var parsed = []kind{integer, float, boolean, instant, text}

// parse types the columns of so many rows; at puts the texts of one column into a list.
func parse(header []string, rows int, at func(column int, into []string), given map[string]kind) (*Table, error) {
	t := &Table{rows: rows}
	seen := make(map[string]bool, len(header))
	var values []string
	for k, name := range header {
		if seen[name] {
			return nil, fmt.Errorf("table: two columns are named %q", name)
		}
		seen[name] = true
		if values == nil {
			values = make([]string, rows)
		}
		at(k, values)
		c, err := parseColumn(name, values, given)
		if err != nil {
			return nil, err
		}
		if c.kind == text {
			values = nil // they are the column's now
		}
		t.columns = append(t.columns, c)
	}
	return t, nil
}

// parseColumn takes the kind that is given, else the first that reads every value. A column without a value, or of NaN and infinities
// only, is text.
func parseColumn(name string, texts []string, given map[string]kind) (*column, error) {
	if k, ok := given[name]; ok {
		c, bad := parseAs(name, k, texts)
		if bad >= 0 {
			return nil, fmt.Errorf("column %q, row %d: %q is no %s", name, bad+1, texts[bad], k)
		}
		return c, nil
	}
	if !slices.ContainsFunc(texts, func(s string) bool { return s != "" && !unbounded(s) }) {
		return textColumn(name, texts), nil
	}
	for _, k := range parsed {
		if c, bad := parseAs(name, k, texts); bad < 0 {
			return c, nil
		}
	}
	return textColumn(name, texts), nil
}

func textColumn(name string, texts []string) *column {
	return &column{name: name, kind: text, texts: texts, length: len(texts)}
}

// convincing are so many values of one kind that the others are expected to be too.
const convincing = 1000

// parseAs returns the row of the first value that is not of the kind, -1 if all are.
func parseAs(name string, k kind, texts []string) (c *column, bad int) {
	if k == text {
		return textColumn(name, texts), -1
	}
	c = newColumn(name, k)
	for i, s := range texts {
		if i == convincing {
			c.reserve(len(texts))
		}
		if s == "" {
			c.append(nil)
			continue
		}
		v, valid := parseOne(k, s)
		if !valid {
			return c, i
		}
		c.append(v)
	}
	return c, -1
}

func parseOne(k kind, s string) (any, bool) {
	switch k {
	case integer:
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && !coded(s)
	case float:
		x, err := strconv.ParseFloat(s, 64)
		return x, unbounded(s) || (err == nil || errors.Is(err, strconv.ErrRange)) && inDigits(s) && !coded(s) && !tooLong(s)
	case boolean:
		return s == "true", s == "true" || s == "false"
	default:
		t, err := time.Parse(timeText, s)
		return t, err == nil
	}
}

// unbounded finds the numbers that have no digits, as WriteCSV writes them.
func unbounded(s string) bool { return s == "NaN" || s == "+Inf" || s == "-Inf" }

// inDigits leaves out what else Go takes for a number: 2020_21, 0x1p-2, inf and nan.
func inDigits(s string) bool { return strings.Trim(s, "0123456789.eE+-") == "" }

// coded finds what only looks like a number: a leading plus or zero, or hexadecimal.
func coded(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return strings.HasPrefix(digits, "+") || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' && digits[1] != 'e'
}

// tooLong finds whole numbers that a float would round.
func tooLong(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return len(digits) > 17 && strings.Trim(digits, "0123456789") == ""
}

// WriteCSV writes the table with a header; a missing value is empty, numbers are exact, times RFC 3339. Folders are made as
// needed, and the file appears whole or not at all. Of an excerpt it writes the excerpt.
func (t *Table) WriteCSV(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("table: write CSV: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("table: write CSV: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // what went wrong before is told
			err = fmt.Errorf("table: write CSV %s: %w", path, err)
		}
	}()
	err = errors.Join(t.writeCSV(f), f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeRecord quotes an empty value that is alone in its row: encoding/csv writes an empty line, which readers skip.
func (t *Table) writeRecord(w io.Writer, out *csv.Writer, record []string) error {
	if len(record) != 1 || record[0] != "" {
		return out.Write(record)
	}
	out.Flush()
	_, err := io.WriteString(w, `""`+"\n")
	return err
}

func (t *Table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if names := t.Columns(); len(names) > 0 && strings.HasPrefix(names[0], byteOrderMark) { // readers take the first one for the file's
		if _, err := io.WriteString(w, byteOrderMark); err != nil {
			return err
		}
	}
	if err := t.writeRecord(w, out, t.Columns()); err != nil {
		return err
	}
	record := make([]string, len(t.columns))
	for i := range t.rows {
		for k := range t.columns {
			record[k] = t.columns[k].csv(i)
		}
		if err := t.writeRecord(w, out, record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
