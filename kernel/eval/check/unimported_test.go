package check

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cancha/kernel/cell"
)

func TestUndefinedNamesTheImport(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"one library", "x := []float64{1}\nstat.Mean(x, nil)", `cell 1:2:1: undefined: stat (import "gonum.org/v1/gonum/stat")`},
		{"a type", "var m *mat.Dense", `cell 1:1:8: undefined: mat (import "gonum.org/v1/gonum/mat")`},
		{"in a function", "func f() any { return table.Of }", `cell 1:1:23: undefined: table (import "cancha/runtime/table")`},
		{"several", "rand.Int()", `cell 1:1:1: undefined: rand (import one of "crypto/rand", "math/rand", "math/rand/v2")`},
		{"several, of which one has it", "template.JS(\"x\")", `cell 1:1:1: undefined: template (import "html/template")`},
		{"none has it", "stat.Nope()", `cell 1:1:1: undefined: stat (import "gonum.org/v1/gonum/stat")`},
		{"of the standard library, which has it not", "draw.NewCanvas", `cell 1:1:1: undefined: draw (import "gonum.org/v1/plot/vg/draw")`},
		{"beside another error", "x := nope\nstat.Mean(nil, nil)", `cell 1:1:6: undefined: nope; cell 1:2:1: undefined: stat (import "gonum.org/v1/gonum/stat")`},
		{"in a cell that is checked twice", "must(os.Remove(\"x\"))\nstat.Mean(nil, nil)", `cell 1:2:1: undefined: stat (import "gonum.org/v1/gonum/stat")`},
		{"nowhere", "nope.F()", "cell 1:1:1: undefined: nope"},
		{"no package", "stat + 1", "cell 1:1:1: undefined: stat"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := libraryScope(t).Check("cell 1", tt.code)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			var got []string
			for _, d := range e.Diagnostics {
				got = append(got, e.Cell+d.String())
			}
			if got := strings.Join(got, "; "); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestStandardPackagesComeFirst: in whatever order the packages are given, one of the standard library is meant by a name alone.
func TestStandardPackagesComeFirst(t *testing.T) {
	packages, export := library()
	slices.SortStableFunc(packages, func(a, b Package) int { // the others first
		return strings.Compare(strconv.FormatBool(a.Standard), strconv.FormatBool(b.Standard))
	})
	_, err := NewScope(packages, export).Check("cell 1", "draw.Nope()")
	if err == nil || !strings.Contains(err.Error(), "undefined: draw.Nope") {
		t.Errorf("got %v, want undefined: draw.Nope", err)
	}
}

func TestStandardPackagesNeedNoImport(t *testing.T) {
	for _, code := range []string{"strings.ToUpper(\"a\")", "x := sort.Ints", "draw.Draw", "var c draw.Image"} {
		if _, err := libraryScope(t).Check("cell 1", code); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestStandardComesFirst: which package a name means does not depend on the order in which packages became known.
func TestStandardComesFirst(t *testing.T) {
	packages, export := library()
	slices.Reverse(packages)
	_, err := NewScope(packages, export).Check("cell 1", "draw.Nope")
	if want := "undefined: draw.Nope"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCompleteUnimported(t *testing.T) {
	tests := []struct{ name, code, match, signature string }{
		{"of the standard library", "strin‸", "strings", `import "strings"`},
		{"of another", "sta‸", "stat", `import "gonum.org/v1/gonum/stat"`},
		{"ours", "x := tabl‸", "table", `import "cancha/runtime/table"`},
		{"several", "ran‸", "rand", `import one of "crypto/rand", "math/rand", "math/rand/v2"`},
		{"member", "strings.ToU‸", "ToUpper", "(s string) string"},
		{"member of another library's", "stat.Me‸", "Mean", `(x []float64, weights []float64) float64 // import "gonum.org/v1/gonum/stat"`},
		{"member of one of several", "rand.Shuf‸", "Shuffle", `(n int, swap func(i int, j int)) // import one of "math/rand", "math/rand/v2"`},
		{"of one that the standard library hides", "draw.NewCanv‸", "NewCanvas", `(c vg.Canvas, w vg.Length, h vg.Length) draw.Canvas // import "gonum.org/v1/plot/vg/draw"`},
	}
	s := session(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, cursor := ask(t, tt.code)
			matches := s.Complete(code, cursor).Matches
			i := slices.IndexFunc(matches, func(m cell.Match) bool { return m.Text == tt.match })
			if i < 0 {
				t.Fatalf("%s is not offered: %v", tt.match, matches)
			}
			if got := matches[i].Signature; got != tt.signature {
				t.Errorf("it says %q, want %q", got, tt.signature)
			}
		})
	}
	if m := s.Complete("stat", 4).Matches[0]; m.Type != "module" {
		t.Errorf("a package is offered as %q", m.Type)
	}
}

func TestInspectUnimported(t *testing.T) {
	s := session(t, "import \"cancha/stream\"")
	for code, want := range map[string]string{
		"stat‸":          `package stat // import "gonum.org/v1/gonum/stat"`,
		"stat.Mean‸":     `func stat.Mean(x []float64, weights []float64) float64 // import "gonum.org/v1/gonum/stat"`,
		"strings.Title‸": "func strings.Title(s string) string",
		"stream.Query‸":  "type stream.Query struct",
	} {
		code, cursor := ask(t, code)
		text, _ := s.Inspect(code, cursor, 0).Data["text/plain"].(string)
		if !strings.Contains(text, want) || !strings.Contains(want, "import") && strings.Contains(text, "// import") {
			t.Errorf("%s: got %q, want %q", code, text, want)
		}
	}
}
