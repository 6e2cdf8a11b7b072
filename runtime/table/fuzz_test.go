package table

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A value takes a comma and is a string of 16 bytes in a record, in its column and, grown as they are, in lists of them; a row takes as
// little and is a list.
const perByte, constant = 200, 128 << 10

// FuzzCSV reads arbitrary text, with memory in proportion, and reads what it writes of it again.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n,\n", "a\n2020_21\n0x1p4\nNaN\n", "\ufeffa,b\r\n\"x\"\"y\",2026-01-01T00:00:00Z\r\n", "a,a\n", "a\ntrue\nfalse\n",
		"a\n9223372036854775808\n-0\n", strings.Repeat(",", 300), strings.Repeat("a\n", 300), "a\n\"unfinished", "a,b\n1\n", "\ufeff\ufeff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := readCSV(bytes.NewReader(text), nil)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > constant+perByte*uint64(len(text)) {
			t.Errorf("reading %d bytes took %d", len(text), took)
		}
		if err != nil {
			return
		}
		var written bytes.Buffer
		if err := got.writeCSV(&written); err != nil {
			t.Fatalf("%q: what was read cannot be written: %v", text, err)
		}
		again, err := readCSV(&written, nil)
		if err != nil || again.Len() != got.Len() || len(again.Columns()) != len(got.Columns()) {
			t.Errorf("%q: read again: %v, %v", text, again, err)
		}
	})
}

// TestManyColumns: looking for names that come twice takes no time that grows with their square.
func TestManyColumns(t *testing.T) {
	var header strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&header, ",c%d", i)
	}
	got, err := readCSV(strings.NewReader(header.String()[1:]+"\n"), nil)
	if err != nil || len(got.Columns()) != 300_000 {
		t.Errorf("got %v", err)
	}
}
