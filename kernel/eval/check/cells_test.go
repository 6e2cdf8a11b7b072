package check

import (
	"slices"
	"strings"
	"testing"
)

// TestTypesOfCells names types of earlier cells as the compiler would, and those declared anew since with their cells.
func TestTypesOfCells(t *testing.T) {
	before := []string{
		"type P struct{ X int }\nfunc use(p P) {}\np := P{1}\nvar q *P",
		"type P struct{ X, Y int }\nvar list []P",
		"type Q[T any] struct{ v T }\nvar qi Q[int]\ntype same int",
		"type Q[T any] struct{ w T }",
	}
	tests := []struct{ name, code, want string }{
		{"current", "var x int = P{1, 2}", "cannot use P{…} (value of struct type P) as int value in variable declaration"},
		{"in a composite", "var x int = list", "cannot use list (variable of type []P) as int value in variable declaration"},
		{"old beside new", "var x P = p", "cannot use p (variable of struct type P (cell 1)) as P value in variable declaration"},
		{"pointer to old", "var x *P = q", "cannot use q (variable of type *P (cell 1)) as *P value in variable declaration"},
		{"old parameter", "use(P{})", "cannot use P{} (value of struct type P) as P (cell 1) value in argument to use"},
		{"declared anew by this cell", "type P struct{}\nvar x P = list[0]", "cannot use list[0] (variable of struct type P (cell 2)) as P value in variable declaration"},
		{"generic", "var x Q[int] = qi", "cannot use qi (variable of struct type Q[int] (cell 3)) as Q[int] value in variable declaration"},
		{"member", "p.Y", "p.Y undefined (type P (cell 1) has no field or method Y)"},
		{"another package", "var x same = time.Second", "cannot use time.Second (constant 1000000000 of int64 type time.Duration) as same value in variable declaration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := session(t, before...).Check("cell 9", tt.code)
			if err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestDeclared(t *testing.T) {
	s := session(t, "type P struct{ X int }\np := P{1}", "type P struct{}\nconst c = 1.5\nfunc f(p P) (int, error) { return 0, nil }\nimport str \"strings\"", "m := map[string]P{}")
	want := []Declared{
		{"P", "type", "struct{}", "cell 2"},
		{"c", "constant", "untyped float", "cell 2"},
		{"f", "function", "func(p P) (int, error)", "cell 2"},
		{"m", "variable", "map[string]P", "cell 3"},
		{"p", "variable", "P (cell 1)", "cell 1"},
	}
	if got := s.Declared(); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := s.TypeCell("P") + s.TypeCell("p") + s.TypeCell("none"); got != "cell 2" {
		t.Errorf("the newest P is of %q, want cell 2", got)
	}
	s.Reset()
	if got := s.Declared(); len(got) > 0 {
		t.Errorf("got %v after a reset", got)
	}
	if _, err := s.Check("cell 4", "str.ToUpper(\"a\")"); err == nil {
		t.Error("the import of before the reset still counts")
	}
}

// TestAskOldTypes names such types in inspections and in the signatures of completions.
func TestAskOldTypes(t *testing.T) {
	s := session(t, "type P struct{ Next *P; X int }\nfunc (p P) M(q P) {}\nvar old P\nfunc use(p P) []P { return nil }", "type P struct{}\nvar fresh P\nfunc (p P) N() P { return p }")
	for code, want := range map[string]string{
		"old": "var old P (cell 1)", "fresh": "var fresh P", "use": "func use(p P (cell 1)) []P (cell 1)", "P": "type P struct {}\nfunc (P).N() P",
		"old.M": "func (P (cell 1)).M(q P (cell 1))", "old.Next": "field Next *P (cell 1)", "fresh.N": "func (P).N() P",
	} {
		in := s.Inspect(code, len(code), 0)
		text, _ := in.Data["text/plain"].(string)
		if got, _, _ := strings.Cut(text, "\ndeclared in"); got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
	for code, want := range map[string]string{"us": "(p P (cell 1)) []P (cell 1)", "fres": "P", "old.Nex": "*P (cell 1)"} {
		c := s.Complete(code, len(code))
		if len(c.Matches) == 0 || c.Matches[0].Signature != want {
			t.Errorf("%s: got %+v, want the signature %q", code, c.Matches, want)
		}
	}
}

func TestMark(t *testing.T) {
	s := session(t, "x := 1\ntype T struct{}")
	undo, _ := s.Mark()
	for i, code := range []string{"x := \"a\"\ny := 1\nimport str \"strings\"", "func (t T) M() {}"} {
		c, err := s.Check("cell "+string(rune('2'+i)), code)
		if err != nil {
			t.Fatal(err)
		}
		s.Lock()
		s.Commit(c)
		s.Unlock()
	}
	undo()
	for _, code := range []string{"y", "str.Lower", "T{}.M()", "x + \"a\""} {
		if _, err := s.Check("cell 3", code); err == nil {
			t.Errorf("%s is accepted after undo", code)
		}
	}
	if _, err := s.Check("cell 3", "x + 1\nfunc (t T) M() {}"); err != nil {
		t.Error(err)
	}
}

// TestMarkKeepsMethods: a method that an undone cell defines anew is still there.
func TestMarkKeepsMethods(t *testing.T) {
	s := session(t, "type T struct{}\nfunc (t T) M() {}")
	undo, _ := s.Mark()
	c, err := s.Check("cell 2", "func (t T) M() {}\nfunc (t T) New() {}")
	if err != nil {
		t.Fatal(err)
	}
	s.Lock()
	s.Commit(c)
	s.Unlock()
	undo()
	if _, err := s.Check("cell 3", "T{}.M()"); err != nil {
		t.Error(err)
	}
	if _, err := s.Check("cell 3", "T{}.New()"); err == nil {
		t.Error("New is there after undo")
	}
}

// TestMethodsOfGenericType: methods of an earlier cell's generic type are checked as those of the cell that declares it.
func TestMethodsOfGenericType(t *testing.T) {
	tests := []struct{ name, code, want string }{ // want: of the error
		{"method", "func (q *Q[X]) Size() int { return len(q.items) }\nvar n int = q.Size()", ""},
		{"other name", "func (q Q[E]) First() E { return q.items[0] }\nvar n int = q.First()", ""},
		{"blank", "func (q Q[_]) Size() int { return len(q.items) }", ""},
		{"constraint", "func (s S[T]) Sum() (t T) { return t + 1 }", ""},
		{"too few", "func (p Pair[K]) Key() K { return p.k }", "receiver declares 1 type parameters, but receiver base type declares 2"},
		{"none", "func (q Q) Size() int { return 0 }", "cannot use generic type Q[X any] without instantiation"},
		{"not generic", "func (t T[X]) M() {}", "T is not a generic type"},
		{"wrong body", "func (q Q[X]) First() int { return q.items[0] }", "cannot use q.items[0] (variable of type X constrained by any) as int value in return statement"},
		{"field", "func (q Q[X]) items() {}", "field and method with the same name items"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := session(t, "type T struct{}\ntype Q[X any] struct{ items []X }\ntype S[X ~int] struct{}\ntype Pair[K comparable, V any] struct { k K; v V }\nvar q Q[int]")
			_, err := s.Check("cell 2", tt.code)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if _, err := s.Check("cell 2", "q.Size()"); err == nil {
				t.Error("a cell that was not committed has given Q a method")
			}
		})
	}
}

// TestPackageClause: a cell may be a file of package main, however that is written, and of no other.
func TestPackageClause(t *testing.T) {
	const refused = "cell 2:1:1: a cell belongs to package main: remove the package clause"
	for code, want := range map[string]string{
		"package main":                          "",
		"package main; x := 1":                  "",
		"package main // sales\nx := 1":         "",
		"package main /* x */\nx := 1":          "",
		"package main /* x */; x := 1":          "",
		"package /* no other than */ main":      "",
		"package sales // main":                 refused,
		"package mainly":                        refused,
		"package main.v2 // has a path\nx := 1": refused,
	} {
		got := ""
		if _, err := session(t).Check("cell 2", code); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", code, got, want)
		}
	}
}

// TestCommentsBehind: comments, some of several lines, may stand behind anything.
func TestCommentsBehind(t *testing.T) {
	for _, first := range []string{"package main", "import \"fmt\"", "var x int", "type T int", "func f() {}", "x := 1", "x := 1;"} {
		code := first + " /* a,\r\nb */\ny := 1 /* c */ /* d\n*/\ny, 2 // e"
		if _, err := session(t).Check("cell 2", code); err != nil {
			t.Errorf("%q: %v", code, err)
		}
	}
}

func TestCheckLoop(t *testing.T) {
	tests := []struct{ name, code, want string }{ // want: of the error
		{"call", "fmt.Sprint(1)", ""},
		{"without value", "clear(m)", ""},
		{"expression", "x + 1", ""},
		{"two values", "strconv.Atoi(\"1\")", ""},
		{"builtin", "len(m)", ""},
		{"conversion", "float64(x)", ""},
		{"declaration", "x := 2; _ = x", ""},
		{"lines", "s := 0\nfor i := range 3 {\n\ts += i\n}\ns", ""},
		{"return in a function", "func() int { return 1 }()", ""},
		{"function of its own", "f := func() int { return x }\nf()", ""},
		{"wrong", "x := 1\ny + 1", "cell 2:2:1: undefined: y"},
		{"syntax", "x +", "cell 2:1:4: syntax error: expected operand, found the end of the cell"},
		{"return", "if x > 1 {\n return }", "cell 2:2:2: what is timed cannot leave its cell: the loop around it would end"},
		{"break", "break", "cell 2:1:1: break not in for, switch, or select statement"},
		{"function", "func g() {}", "cell 2:1:1: what is timed cannot declare constants, types and functions, or import: do that in a cell of its own"},
		{"import", "import \"math\"\nmath.Sqrt(2)", "cell 2:1:1: what is timed cannot declare constants, types and functions, or import: do that in a cell of its own"},
		{"package", "math.Sqrt(2)", ""},
		{"several", "x, len(m), \"a\"", ""},
		{"error", "io.EOF", ""},
		{"error behind a comment", "os.Open(\"a\") // a", ""},
		{"error with a name of its own", "check := io.EOF\ncheck", ""},
		{"comment behind", "x + 1 // one", ""},
		{"closing bracket", "}; {", "cell 2:1:1: syntax error: unexpected }"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := session(t, "x := 1\nm := map[string]int{}").CheckLoop("cell 2", tt.code, true)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			if err == nil && len(c.Objects) > 0 {
				t.Errorf("declares %v", c.Objects)
			}
		})
	}
}

// TestUndoneType: a type whose edit is undone is a third one, and a note says so, once.
func TestUndoneType(t *testing.T) {
	const one, two = "type P struct{ X int }", "type P struct{ X, Y int }"
	for _, test := range []struct {
		name  string
		cells []string
		want  string // of the last cell's notes
	}{
		{"undone", []string{one + "\nvar e any = P{9}", two, one}, "P is a new type, and that of cell 1, made of the same, stays another one: what an interface holds of it is no P now"},
		{"with a variable", []string{one + "\nvar p P", two, one}, "no P now; p is one of those, and P(p) converts it"},
		{"edited", []string{one + "\nvar e any = P{9}", two}, "P is a new type, and that of cell 1 stays another one: what e may hold of it is no P now"},
		{"edited, and nothing holds it", []string{one + "\nvar e fmt.Stringer\nvar n = P{9}.X", two}, ""},
		{"run again", []string{one + "\nvar e any = P{9}", one}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, notes := session(t), []string(nil)
			for i, code := range test.cells {
				c, err := s.Check("cell "+string(rune('1'+i)), code)
				if err != nil {
					t.Fatal(err)
				}
				notes = c.Outdated()
				s.Lock()
				s.Commit(c)
				s.Unlock()
			}
			if got := strings.Join(notes, "\n"); !strings.Contains(got, test.want) || test.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
