package table

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"cancha/internal/alloctest"
)

// FuzzCSV reads arbitrary text, with memory in proportion, and reads what it writes of it again.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n,\n", "a\n2020_21\n0x1p4\nNaN\n", "\ufeffa,b\r\n\"x\"\"y\",2026-01-01T00:00:00Z\r\n", "a,a\n", "a\ntrue\nfalse\n",
		"a\n9223372036854775808\n-0\n", strings.Repeat(",", 300), strings.Repeat("a\n", 300), "a\n\"unfinished", "a,b\n1\n", "\ufeff\ufeff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got *Table
		var err error
		alloctest.Bounded(t, len(text), func() { got, err = readCSV(bytes.NewReader(text), nil) })
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

// TestProportion reads what makes most of its bytes: values of nothing, rows of next to nothing, names of a byte.
func TestProportion(t *testing.T) {
	many := func(s string) string { return strings.Repeat(s, (1<<18)/len(s)) }
	var names strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&names, "%s,", strconv.FormatInt(int64(i), 36))
	}
	for name, c := range map[string]struct{ text, want string }{
		"names of nothing":  {many(","), "line 1 has 1024 names in 1024 bytes, so two columns have the same name"},
		"names of a byte":   {many("a,"), `two columns are named "a"`},
		"quoted names":      {many(`"",`), `two columns are named ""`},
		"names":             {names.String(), ""},
		"row of nothing":    {"a,b\n1,2\n" + many(","), "line 3 has more values than the header's 2"},
		"behind line ends":  {"\r\n\na\n\"\n\"\n" + many(","), "line 6 has more values than the header's 1"},
		"commas in quotes":  {`a,"` + many(",") + "\"\n1,2\n", ""},
		"rows of a byte":    {many("a\n"), ""},
		"rows of numbers":   {"n\n" + many("1\n"), ""},
		"rows of nothing":   {"a,b\n" + many(",\n"), ""},
		"missing numbers":   {"a,b\n1,\n" + many(",\n"), ""},
		"missing times":     {"a,b\n2026-01-01T00:00:00Z,\n" + many(",\n"), ""},
		"missing truths":    {"a,b\ntrue,\n" + many(",\n"), ""},
		"one long value":    {many("a"), ""},
		"quotes":            {`a` + "\n" + `"` + many(`""`) + `"`, ""},
		"unfinished quotes": {"a\n" + many(`",`), "line 2 has more values than the header's 1"},
	} {
		t.Run(name, func(t *testing.T) {
			alloctest.Bounded(t, len(c.text), func() {
				if _, err := readCSV(strings.NewReader(c.text), nil); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		})
	}
}
