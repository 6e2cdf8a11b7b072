package recursion

import (
	"os"
	"strings"
	"testing"
)

// TestFromReport: what Go's runtime printed of programs that do not end becomes one sentence and a few lines.
func TestFromReport(t *testing.T) {
	for _, test := range []struct{ file, text, trace string }{
		{"fmt.txt", "recursion without end in package fmt: most likely a value that contains itself", ""},
		{"promoted.txt", "recursion without end: W.Write calls itself (a promoted method)", "    in W.Write (a promoted method)\n    … again and again"},
		{"string.txt", "recursion without end: T.String calls itself by way of package fmt (cell 2:2)", "    in T.String (cell 2:2)\n    … again and again"},
	} {
		report, err := os.ReadFile("testdata/" + test.file)
		if err != nil {
			t.Fatal(err)
		}
		text, trace := Describe(FromReport(string(report)))
		if got := strings.Join(trace, "\n"); text != test.text || got != test.trace {
			t.Errorf("%s: got %q and\n%s\nwant %q and\n%s", test.file, text, got, test.text, test.trace)
		}
	}
}

// TestDescribe names what calls what, from the calls alone.
func TestDescribe(t *testing.T) {
	again := func(n int, calls ...Call) (all []Call) {
		for range n {
			all = append(all, calls...)
		}
		return all
	}
	f, g := Call{"f", "cell 1:1"}, Call{"g", "cell 2:3"}
	var many []Call
	for i := range 20 {
		many = append(many, Call{string(rune('a' + i)), "cell 1"})
	}
	for _, test := range []struct {
		name  string
		calls []Call
		want  string
		lines int
	}{
		{"nothing", nil, "recursion without end: a function calls itself", 0},
		{"one", again(10, f), "recursion without end: f calls itself (cell 1:1)", 2},
		{"one that came last", append([]Call{g}, again(10, f)...), "recursion without end: f calls itself (cell 1:1)", 2},
		{"two", again(10, f, g), "recursion without end: f and g call each other (cell 1:1, cell 2:3)", 3},
		{"two, seen late", []Call{f, g, f}, "recursion without end: f and g call each other (cell 1:1, cell 2:3)", 3},
		{"two, seen late, and one that came last", []Call{{"h", "cell 3:1"}, f, g, f}, "recursion without end: f and g call each other (cell 1:1, cell 2:3)", 3},
		{"a literal", again(10, Call{"", "cell 1:2"}), "recursion without end: a function literal calls itself (cell 1:2)", 2},
		{"a library between", again(10, f, Call{"sort.Slice", ""}), "recursion without end: f calls itself by way of package sort (cell 1:1)", 2},
		{"many", again(10, many...), "recursion without end: a, b, c, d, e, f, g, h and others call each other (cell 1)", most + 2},
	} {
		if text, trace := Describe(test.calls); text != test.want || len(trace) != test.lines {
			t.Errorf("%s: got %q and %d lines, want %q and %d", test.name, text, len(trace), test.want, test.lines)
		}
	}
}
