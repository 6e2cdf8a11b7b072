package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ReadCSV reads a file of comma-separated values whose first row names the columns. A column in which every value is a
// whole number, a number, true or false, or an RFC 3339 time has that type, and an empty value in it is missing; every
// other column is text. Numbers with leading zeros, such as codes, and whole ones beyond 64 bits stay text.
func ReadCSV(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("table: read CSV: %w", err)
	}
	defer f.Close()
	t, err := readCSV(f)
	if err != nil {
		return nil, fmt.Errorf("table: read CSV %s: %w", path, err)
	}
	return t, nil
}

func readCSV(r io.Reader) (*Table, error) {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" { // spreadsheets write a byte order mark
		_, _ = b.Discard(3) // just peeked
	}
	records, err := csv.NewReader(b).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, errNoHeader
	}
	return parse(records[0], records[1:])
}

// parse types the columns of records.
func parse(header []string, records [][]string) (*Table, error) {
	t := &Table{rows: len(records)}
	for k, name := range header {
		if slices.Contains(header[:k], name) {
			return nil, fmt.Errorf("table: two columns are named %q", name)
		}
		texts := make([]string, len(records))
		for i, record := range records {
			if len(record) != len(header) {
				return nil, fmt.Errorf("table: row %d has %d values where the header names %d", i+1, len(record), len(header))
			}
			texts[i] = record[k]
		}
		t.columns = append(t.columns, parseColumn(name, texts))
	}
	return t, nil
}

// parseColumn takes the first kind that reads every value.
func parseColumn(name string, texts []string) column {
	for _, k := range []kind{integer, float, boolean, instant} {
		if c, ok := parseAs(name, k, texts); ok {
			return c
		}
	}
	return column{name: name, kind: text, texts: texts, length: len(texts)}
}

func parseAs(name string, k kind, texts []string) (c column, ok bool) {
	c = newColumn(name, k)
	for _, s := range texts {
		if s == "" {
			c.append(nil)
			continue
		}
		v, valid := parseOne(k, s)
		if !valid {
			return c, false
		}
		c.append(v)
		ok = true
	}
	return c, ok // a column without any value stays text
}

func parseOne(k kind, s string) (any, bool) {
	switch k {
	case integer:
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && !coded(s)
	case float:
		x, err := strconv.ParseFloat(s, 64)
		return x, (err == nil || errors.Is(err, strconv.ErrRange)) && !coded(s) && !tooLong(s)
	case boolean:
		return s == "true", s == "true" || s == "false"
	default:
		t, err := time.Parse(timeText, s)
		return t, err == nil
	}
}

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
	if err := out.Write(t.Columns()); err != nil {
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
