package decode_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"cancha/stream/internal/decode"
	"cancha/stream/internal/value"
)

func TestCSVFields(t *testing.T) {
	columns := []string{"id", "city", "at"}
	for _, test := range []struct {
		line string
		want decode.Want
		show string
	}{
		{"1,Lima,x", decode.Natural, "1 Lima x"}, {"1,Lima,x\r\n", decode.Natural, "1 Lima x"}, {",,", decode.Natural, "- - -"},
		{`"1","a ""b"", c","x` + "\n" + `y"`, decode.Natural, "1 a \"b\", c x\ny"}, {"1.50,true,-0", decode.Natural, "1.5 true 0"},
		{"01,+1,1e3", decode.Natural, "01 +1 1000"}, {"1,2,3", decode.Number, "1 2 3"}, {"1, 2,3", decode.Number, "bad: city: want a number, got another text"},
		{"1e151,2,3", decode.Number, "bad: id: want a number, got another text"}, {"1,2", decode.Natural, "bad: CSV with 2 fields, want 3"},
		{"1,2,3,4", decode.Natural, "bad: CSV with 4 fields, want 3"}, {`1,a"b,3`, decode.Natural, "bad: CSV with a quote within a field"},
		{`1,"ab`, decode.Natural, "bad: CSV with a quote that is not closed"}, {`1,"a"b,3`, decode.Natural, "bad: CSV with text behind a closing quote"},
		{"", decode.Natural, "bad: CSV with 1 fields, want 3"}, {"a\xff,b,c", decode.Text, "a\uFFFD b c"},
		{"2026-03-01T12:00:00Z,2026-03-01T12:00:00.5Z,", decode.Instant, "2026-03-01T12:00:00Z 2026-03-01T12:00:00.5Z -"},
		{"x,,", decode.Instant, "bad: id: want an RFC 3339 time, got another text"},
	} {
		var slots []decode.Slot
		for i, c := range columns {
			slots = append(slots, decode.Slot{Path: c, Want: test.want, At: i})
		}
		row := make([]value.Value, 3)
		if got := show(row, decode.NewCSV(slots, columns, ',').Decode([]byte(test.line), row)); got != test.show {
			t.Errorf("%q as %v: got %q, want %q", test.line, test.want, got, test.show)
		}
	}
}

func TestCSVReadsTheColumnsItIsAskedFor(t *testing.T) {
	d := decode.NewCSV([]decode.Slot{{Path: "c", At: 0}, {Path: "a", Want: decode.Number, At: 1}, {Path: "c", Want: decode.Text, At: 2}}, []string{"a", "b", "c"}, ';')
	row := make([]value.Value, 3)
	if got := show(row, d.Decode([]byte("1;not, a number;3"), row)); got != "3 1 3" || row[0].Kind() != value.Int || row[2].Kind() != value.Text {
		t.Errorf("got %s", got)
	}
	if !d.Seen(0) || !d.Seen(1) {
		t.Error("what was there was not seen")
	}
}

func TestTexts(t *testing.T) {
	d := decode.NewText([]decode.Slot{{Path: "text", At: 1}})
	row := make([]value.Value, 2)
	if reason := d.Decode([]byte("a line\xff"), row); reason != "" || row[1].Text() != "a line\uFFFD" || !row[0].IsNull() {
		t.Errorf("got %v, %q", row, reason)
	}
}

// FuzzCSV compares with encoding/csv: what that takes as one record of three fields has the same fields here, and nothing panics.
func FuzzCSV(f *testing.F) {
	for _, line := range []string{"a,b,c", `"a","b ""x""",`, "1,\"two\nlines\",3", `a"b,c,d`, ",,", `"a`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var slots []decode.Slot
		for i, c := range []string{"a", "b", "c"} {
			slots = append(slots, decode.Slot{Path: c, Want: decode.Text, At: i})
		}
		row := make([]value.Value, 3)
		reason := decode.NewCSV(slots, []string{"a", "b", "c"}, ',').Decode([]byte(line), row)
		in := csv.NewReader(strings.NewReader(line))
		records, err := in.ReadAll()
		if err != nil || len(records) != 1 || strings.ContainsAny(line, "\r") || strings.HasPrefix(line, "\n") || strings.HasSuffix(line, "\n") {
			return
		}
		if (reason == "") != (len(records[0]) == 3) {
			t.Fatalf("%q: got %q, want %q", line, reason, records[0])
		}
		for i := range row {
			if reason == "" && row[i].Text() != strings.ToValidUTF8(records[0][i], "\uFFFD") {
				t.Fatalf("%q: field %d: got %q, want %q", line, i, row[i].Text(), records[0][i])
			}
		}
	})
}
