package check

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	names := map[kind]string{statement: "stmt", declaration: "decl", variable: "var", importing: "import", clause: "package"}
	tests := []struct{ name, code, want string }{
		{"empty", "", ""},
		{"comment", "// nothing", ""},
		{"kinds", "package main\nimport \"fmt\"\nvar x = 1\ntype T int\nconst c = 2\nfunc f() {}\nf()", "package import var decl decl decl stmt"},
		{"method", "func (t T) m() {}", "decl"},
		{"method of a pointer", "func (t *T[K, V]) m() {}", "decl"},
		{"generic function", "func f[T any](x T) {}", "decl"},
		{"literal that is called", "func() {}()", "stmt"},
		{"literal with a parameter", "func(x int) int { return x }(1)", "stmt"},
		{"semicolons", "x := 1; y := 2; func f() {}", "stmt stmt decl"},
		{"block", "if x { a(); b() }\nc()", "stmt stmt"},
		{"group", "var (\n\ta = 1\n\tb = 2\n)\na++", "var stmt"},
		{"call over lines", "f(\n\t1,\n\t2,\n)", "stmt"},
		{"label", "outer:\nfor {\n}", "stmt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pieces, fault := split(tt.code)
			if fault != nil {
				t.Fatal(fault.text)
			}
			var got []string
			for _, p := range pieces {
				got = append(got, names[p.kind])
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

// TestSlashComment: a comment that begins with /*/ has not ended there.
func TestSlashComment(t *testing.T) {
	code := "x := 1 /*/ a\nb */\n_ = x"
	pieces, fault := split(code)
	if fault != nil || len(pieces) != 2 {
		t.Fatal(pieces, fault)
	}
	if want := "x := 1 /*/ a\nb */"; code[pieces[0].start:pieces[0].end] != want {
		t.Errorf("got %q, want %q", code[pieces[0].start:pieces[0].end], want)
	}
}

func TestLists(t *testing.T) {
	tests := []struct{ code, want string }{
		{"a, b", "a, b"},
		{"x := 1\na, f(x, 2), []int{1, 2}", "a, f(x, 2), []int{1, 2}"},
		{"a, // first\nb; // second", "a, // first\nb"},
		{"func() int { return 1 }(), map[string]int{}, <-c", "func() int { return 1 }(), map[string]int{}, <-c"},
		{"a, b\nfunc f() {}\ntype T int", "a, b"},
		{"a, b\nvar c int", ""},
		{"a, b\nc", ""},
		{"a, b = b, a", ""},
		{"a, b := 1, 2", ""},
		{"for a, b := range c {\n}", ""},
		{"return a, b", ""},
		{"f(a, b)", ""},
		{"a,", ""},
		{"L: a, b", ""},
		{"a, b...", ""},
		{"a, b // c", "a, b "},
		{"a, /* c */ b /* d\n*/ // e\n", "a, /* c */ b "},
	}
	for _, tt := range tests {
		pieces, _ := split(tt.code)
		got := ""
		if p := listAtEnd(pieces); p != nil {
			got = tt.code[p.start:p.stop]
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.code, got, tt.want)
		}
	}
}

func TestSplitFaults(t *testing.T) {
	tests := []struct {
		name, code string
		offset     int
		open       bool // more text could mend it
	}{
		{"brace not closed", "func f() {", 10, true},
		{"bracket closed by another", "f(1]", 3, false},
		{"closed too often", "f())", 3, false},
		{"raw string", "x := `a", 5, true},
		{"string", "x := \"a\ny", 5, false},
		{"comment", "x /* a", 2, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, fault := split(tt.code)
			if fault == nil || fault.offset != tt.offset || fault.open != tt.open {
				t.Errorf("got %+v, want offset %d and open %v", fault, tt.offset, tt.open)
			}
		})
	}
}

// TestKeep blanks out what is not kept, byte for byte, so that positions stay.
func TestKeep(t *testing.T) {
	code := "x := 1\n// F is a function.\nfunc F() {}\ny := \"é\""
	pieces, fault := split(code)
	if fault != nil {
		t.Fatal(fault.text)
	}
	got := keep(code, pieces, declaration)
	want := "      \n// F is a function.\nfunc F() {}\n         "
	if strings.TrimRight(got, " ") != strings.TrimRight(want, " ") || len(got) != len(code) {
		t.Errorf("got %q (%d bytes), want %q (%d)", got, len(got), want, len(code))
	}
}

// TestObjects lists what a cell declares, in order, and takes it in only when it is committed.
func TestObjects(t *testing.T) {
	s := NewScope(nil, nil)
	tests := []struct{ name, code, want string }{
		{"variables", "x, y := 1, \"s\"\nvar z float64", "var x int, var y string, var z float64"},
		{"redeclared", "x := \"new\"", "var x string"},
		{"forward", "func f() int { return later }\nlater := 2", "func main.f() int, var main.later int"},
		{"local", "if w := 1; w > 0 { v := 2; _ = v }", ""},
		{"key of a literal", "m := map[string]int{x: 1}\nfunc g() []int { return []int{at: 1} }\nconst at = 2", "func main.g() []int, const main.at untyped int, var m map[string]int"},
		{"types", "type P struct{ X int }\nconst c = 1", "type main.P struct{X int}, const main.c untyped int"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := s.Check("cell 1", tt.code)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range c.Objects {
				if s.Lookup(o.Name()) == o {
					t.Errorf("%s is known before the cell is committed", o.Name())
				}
				got = append(got, o.String())
			}
			if text := strings.Join(got, ", "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
			s.Lock()
			s.Commit(c)
			s.Unlock()
		})
	}
}
