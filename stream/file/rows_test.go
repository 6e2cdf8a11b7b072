package file

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// parse reads rows of CSV without a header as a file's reader does; each is a list of texts.
func parse(text []byte) (all [][]string, err error) {
	r := newRows(',', nil, true)
	for line := range bytes.Lines(text) {
		end := len(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
		if !r.open() && end == 0 {
			continue
		}
		whole, err := r.take(line, end)
		if err != nil {
			return all, err
		}
		if whole {
			all = append(all, slices.Clone(r.fields))
			r.fields = r.fields[:0]
		}
	}
	if r.open() {
		return all, errors.New("a row that does not end")
	}
	return all, nil
}

// FuzzRows: whatever encoding/csv reads is read the same, and whatever it refuses is refused. Where they differ on purpose is left out: we keep
// line breaks of Windows within fields, and refuse what is not UTF-8.
func FuzzRows(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "\"a\"\"\n\",b\n", "a\"b\n", "\"a\"b\n", "\"", "\"\"", ",\n,,\n", "\n\n\"\n\n\"\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) || bytes.IndexByte(text, '\r') >= 0 {
			t.Skip()
		}
		theirs := csv.NewReader(bytes.NewReader(text))
		theirs.FieldsPerRecord = -1
		want, wrong := theirs.ReadAll()
		got, err := parse(text)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("%q: got error %v, encoding/csv has %v", text, err, wrong)
		}
		if err == nil && !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%q: got %q, encoding/csv has %q", text, got, want)
		}
	})
}

// FuzzQuoted: every text comes back from its JSON.
func FuzzQuoted(f *testing.F) {
	f.Add("a\"\\\n\x00\x7fé\u2028")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip()
		}
		var got string
		if err := json.Unmarshal(appendQuoted(nil, []byte(text)), &got); err != nil || got != text {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
	})
}

// BenchmarkRead reads files of 200,000 records, and the same bytes with what the standard library has.
func BenchmarkRead(b *testing.B) {
	var lines, table strings.Builder
	table.WriteString("id,name,x,y,when\n")
	for i := range 200_000 {
		fmt.Fprintf(&lines, `{"id":%d,"name":"player %d","x":%d.5,"y":%d,"when":"2026-03-01T15:00:00Z"}`+"\n", i, i%700, i%120, i%80)
		fmt.Fprintf(&table, "%d,player %d,%d.5,%d,2026-03-01T15:00:00Z\n", i, i%700, i%120, i%80)
	}
	for _, c := range []struct{ name, file, text string }{
		{"lines", "a.jsonl", lines.String()}, {"lines.gz", "a.jsonl.gz", gz(b, lines.String())}, {"lines.zst", "a.jsonl.zst", zst(b, lines.String())},
		{"csv", "a.csv", table.String()},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := Source(write(b, b.TempDir(), c.file, c.text))
			b.SetBytes(int64(lines.Len()))
			if c.name == "csv" {
				b.SetBytes(int64(table.Len()))
			}
			for b.Loop() {
				n := &count{}
				if err := f.Run(b.Context(), n); err != nil || n.records != 200_000 {
					b.Fatal(err, n.records)
				}
			}
		})
	}
	b.Run("lines, bufio.Scanner", func(b *testing.B) {
		b.SetBytes(int64(lines.Len()))
		for b.Loop() {
			s, n := bufio.NewScanner(strings.NewReader(lines.String())), 0
			for s.Scan() {
				n++
			}
		}
	})
	b.Run("csv, encoding/csv", func(b *testing.B) {
		b.SetBytes(int64(table.Len()))
		for b.Loop() {
			r := csv.NewReader(strings.NewReader(table.String()))
			r.ReuseRecord = true
			for {
				if _, err := r.Read(); errors.Is(err, io.EOF) {
					break
				}
			}
		}
	})
}
