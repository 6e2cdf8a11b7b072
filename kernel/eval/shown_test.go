package eval_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/eval"
	"cancha/runtime/display"
)

// TestLastExpression shows what a user wants to see of a cell's last expression.
func TestLastExpression(t *testing.T) {
	once(t)
	tests := []struct {
		name, code string
		want       []string // nothing or one text
	}{
		{"value", "1 + 2", []string{"3"}},
		{"nothing", "x := 1", nil},
		{"nil", "var none any; none", nil},
		{"nil error", "error(nil)", nil},
		{"no results", "func() {}()", nil},
		{"Println", "fmt.Println(\"a\")", nil},
		{"Printf", "fmt.Printf(\"%d\", 1)", nil},
		{"Fprintln", "fmt.Fprintln(os.Stdout, \"a\")", nil},
		{"Println in parentheses", "(fmt.Println(\"a\"))", nil},
		{"Sprintln", "fmt.Sprintln(1)", []string{"1\n"}},
		{"error of a cell", "type E struct{}\nfunc (E) Error() string { return \"mine\" }\nE{}", []string{"error: mine"}},
		{"value and no error", "strconv.Atoi(\"1\")", []string{"1"}},
		{"two results", "func() (int, string) { return 1, \"a\" }()", []string{"(1, a)"}},
		{"two results and no error", "func() (int, string, error) { return 1, \"a\", nil }()", []string{"(1, a)"}},
		{"error of a cell in a variable", "type E struct{}\nfunc (*E) Error() string { return \"mine\" }\ne := &E{}\ne", []string{"error: mine"}},
		{"nil of such a type", "type E struct{}\nfunc (*E) Error() string { return \"mine\" }\nfunc f() *E { return nil }\nf()", nil},
		{"value and nil of such a type", "type E struct{}\nfunc (*E) Error() string { return \"mine\" }\nfunc f() (int, *E) { return 1, nil }\nf()", []string{"1"}},
		{"error as any", "any(io.EOF)", []string{"error: EOF"}},
		{"conversion to an error", "syscall.Errno(2)", []string{"error: no such file or directory"}},
		{"nil and no error", "func() (any, error) { return nil, nil }()", nil},
		{"function", "strings.ToUpper", []string{"func(string) string"}},
		{"list", "x := 1\nx, \"a\"", []string{"(1, a)"}},
		{"list over lines", "x := []int{1, 2}\nlen(x), // how many\n\tx,\n\tstrings.Repeat(\"a\", // one\n\t2); // end", []string{"(2, [1 2], aa)"}},
		{"list with nil", "nil, 1 << 3, 'a', error(nil)", []string{"(<nil>, 8, 97, <nil>)"}},
		{"list with a nil error", "n, err := strconv.Atoi(\"3\")\nn, err", []string{"(3, <nil>)"}},
		{"list in front of a function", "f(), f()\nfunc f() int { return 1 }", []string{"(1, 1)"}},
		{"list of types of the cell", "type P struct{ X int; name string }\np := P{1, \"a\"}\np, &p, []P{p}", []string{"({X:1 name:a}, &{X:1 name:a}, [{X:1 name:a}])"}},
		{"list in order", "i := 0\nnext := func() int { i++; return i }\nnext(), i, next()", []string{"(1, 2, 2)"}},
		{"list of functions and channels", "func() int { return 1 }(), <-func() chan int { c := make(chan int, 1); c <- 5; return c }()", []string{"(1, 5)"}},
		{"list behind a magic", "!true\n1, 2", []string{"(1, 2)"}},
		{"list timed", "%time 1, 2", []string{"(1, 2)"}},
		{"received", "c := make(chan int, 1); c <- 7; <-c", []string{"7"}},
		{"semicolon behind", "1;", []string{"1"}},
		{"comment behind", "1 // one", []string{"1"}},
		{"before a declaration", "2\nfunc after() {}", []string{"2"}},
		{"in front of a magic", "len(\"abc\")\n!true", nil},
		{"behind a magic", "!true\nlen(\"abc\")", []string{"3"}},
		{"timed", "%time len(\"abc\")", []string{"3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.code)
			if got := n.results(); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDrawnByItself: what a value's own MIMEBundle gives is shown, a text alone too, and what goes wrong in it is told.
func TestDrawnByItself(t *testing.T) {
	n := newConfiguredNotebook(t, eval.Config{Slow: time.Hour, Render: display.Of})
	for _, tt := range []struct{ name, body, want string }{
		{"several types", `return map[string]any{"text/html": "<b>", "text/plain": "b"}`, `"text/plain":"b"`},
		{"a text alone", `return map[string]any{"text/plain": "own words"}`, `"own words"`},
		{"nothing", `return nil`, `"{X:1}"`},
		{"a panic", `panic("boom")`, `boom (in `},
		{"what has no JSON", `return map[string]any{"application/json": func() {}}`, `cannot show application/json`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			typ := "Drawn" + strings.ReplaceAll(tt.name, " ", "")
			n.ok("type " + typ + " struct{ X int }\nfunc (" + typ + ") MIMEBundle() map[string]any { " + tt.body + " }")
			from := n.sentSoFar()
			n.ok(typ + "{1}")
			if got := n.since(from); !strings.Contains(got, tt.want) || strings.Contains(got, "primitive") {
				t.Errorf("it shows %s, want %s", got, tt.want)
			}
		})
	}
}

// TestWrongLists tells what is wrong with them at their place.
func TestWrongLists(t *testing.T) {
	once(t)
	tests := []struct{ code, want string }{
		{"x := 1\nx, nope", "cell 1:2:4: undefined: nope"},
		{"strconv.Atoi(\"1\"), 2", "cell 1:1:1: multiple-value strconv.Atoi(\"1\") (value of type (int, error)) in single-value context"},
		{"1, func() {}()", "cell 1:1:4: (func() literal)() (no value) used as value"},
		{"1, 1 << 70", "cell 1:1:4: cannot use 1 << 70 (untyped int constant 1180591620717411303424) as int value in the cell's last line (overflows)"},
		{"1, int", "cell 1:1:4: int (type) is not an expression"},
		{"1, 2\n3", "cell 1:1:1: syntax error: expected 1 expression"},
		{"1, +", "cell 1:1:5: syntax error: expected operand, found the end of the cell"},
	}
	for _, tt := range tests {
		r := newNotebook(t).run(tt.code)
		if r.Err == nil || r.Err.Value != tt.want {
			t.Errorf("%q: got %v, want %s", tt.code, r.Err, tt.want)
		}
	}
}

// TestLargeValues are cut to head, length and tail, whatever they are made of.
func TestLargeValues(t *testing.T) {
	once(t)
	tests := []struct{ name, code, head, tail string }{
		{"slice", "make([]int, 1_000_000)", "[0 0", "(1,000,000 in all) … 0 0 0 0 0 0 0 0 0 0]"},
		{"structs of a cell", "type P struct{ X int; name string }\nmake([]P, 1_000_000)", "[{X:0 name:} {X:0", "(1,000,000 in all) …" + strings.Repeat(" {X:0 name:}", 10) + "]"},
		{"numbers of a cell", "type N int\nmake([]N, 1_000_000)", "[0 0", "(1,000,000 in all) … 0 0 0 0 0 0 0 0 0 0]"},
		{"map", "m := map[int]bool{}\nfor i := range 5000 { m[i] = true }\nm", "map[0:true 1:true", "4998:true 4999:true]"},
		{"nested", "type T struct{ Name string; Rows [][]float64 }\nt := T{\"t\", make([][]float64, 1000)}\nfor i := range t.Rows { t.Rows[i] = make([]float64, 1000) }\nt", "{Name:t Rows:[[0 0 0 0 0 0 0 0 0 0 … (1,000 in all) … 0 0 0] [", " 0 0 0]]}"},
		{"string", "strings.Repeat(\"a\", 1_000_000)", "aaa", "… (1,000,000 bytes in all) …" + strings.Repeat("a", 512)},
		{"string of a cell", "type S string\nS(strings.Repeat(\"a\", 1_000_000))", "aaa", "… (1,000,000 bytes in all) …" + strings.Repeat("a", 512)},
		{"several", "func() ([]int, string) { return make([]int, 1000), strings.Repeat(\"a\", 100_000) }()", "([0 0", "a)"},
		{"error", "any(errors.New(strings.Repeat(\"a\", 100_000)))", "error: aa", "a"},
		{"ring", "type R struct{ Next *R; All []any }\nr := &R{}\nr.Next, r.All = r, []any{r}\nr", "&{Next:0x", "]}"},
		{"slice that holds itself", "s := []any{1, nil}\ns[1] = s\ns", "[1 [1 [1", "]]]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.code)
			got := n.results()
			if len(got) != 1 || !strings.HasPrefix(got[0], tt.head) || !strings.HasSuffix(got[0], tt.tail) {
				t.Fatalf("got %.300q, want %s … %s", got, tt.head, tt.tail)
			}
			if len(got[0]) > 10_000 {
				t.Errorf("%d bytes", len(got[0]))
			}
		})
	}
}

// TestTypesDeclaredAnew names values of types that have been declared anew with their cells: where they are shown, in errors of
// the check, and in a failed assertion.
func TestTypesDeclaredAnew(t *testing.T) {
	n := newNotebook(t)
	n.ok("type P struct{ X int }\ntype L []P\ntype N int\np, l, k := P{1}, L{{2}}, N(3)\nvar held any = p\nfunc use(P) {}", "p", "type P struct{ X, Y int }\ntype L []int\ntype N int64\nq := P{1, 2}")
	tests := []struct{ code, want string }{
		{"p", "P (cell 1) {X:1}"},
		{"&p", "*P (cell 1) &{X:1}"},
		{"[]P{q}", "[{X:1 Y:2}]"},
		{"l", "L (cell 1) [{X:2}]"},
		{"k", "N (cell 1) 3"},
		{"q", "{X:1 Y:2}"},
		{"N(4)", "4"},
		{"held", "P (cell 1) {X:1}"},
		{"map[string]any{\"a\": q}", "map[a:{X:1 Y:2}]"},
		{"func() (any, int) { return p, 1 }()", "(P (cell 1) {X:1}, 1)"},
		{"fmt.Sprintf(\"%T %T\", p, q)", "main.P main.P"},
	}
	want := []string{"{X:1}"}
	for _, tt := range tests {
		n.ok(tt.code)
		want = append(want, tt.want)
	}
	if got := n.results(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for code, want := range map[string]string{
		"use(q)":             "cannot use q (variable of struct type P) as P (cell 1) value in argument to use",
		"q = p":              "cannot use p (variable of struct type P (cell 1)) as P value in assignment",
		"held.(P)":           "interface conversion: interface {} is P (cell 1), not P",
		"var n N = k; _ = n": "cannot use k (variable of int type N (cell 1)) as N value in variable declaration",
	} {
		if r := n.run(code); r.Status != cell.Failed || !strings.HasSuffix(r.Err.Value, want) {
			t.Errorf("%s: got %v, want %q", code, r.Err, want)
		}
	}
}

// TestTypesReflected compares what package reflect tells of compiled cells' types with what it tells in a program; interpreted cells
// refuse that.
func TestTypesReflected(t *testing.T) {
	if tools(t) == nil {
		t.Skip("cells are interpreted")
	}
	n := newNotebook(t)
	n.ok(`import ("fmt"; "reflect")
type B struct{ n int }
func (B) M() string { return "B.M" }
func (B) m() string { return "B.m" }
func (*B) Z() string { return "B.Z" }
type P struct{}
func (P) p() {}
type G[X any] struct{ x X }
type I interface { M() string; m() string }
func show(x any) {
	t, v := reflect.TypeOf(x), reflect.ValueOf(x)
	for i := range t.NumMethod() { fmt.Print(t.Method(i).Name, " ") }
	for m := range t.Methods() { fmt.Print(m.Name, " ") }
	for m, f := range v.Methods() { fmt.Print(m.Name, f.Call(nil)[0], " ") }
	fmt.Println(t.NumMethod(), v.NumMethod(), t.PkgPath() == "main", len(t.String()), len(t.Name()))
}
show(B{}); show(&B{}); show(P{}); show(G[B]{})`,
		`func later() {
	t, i := reflect.TypeFor[G[map[string]*B]](), reflect.TypeFor[I]()
	fmt.Println(t.String() == "main.G[map[string]*main.B]", len(t.Name()), t.PkgPath(), i.NumMethod(), reflect.TypeFor[fmt.Stringer]().PkgPath())
	defer func() { fmt.Println(recover() != nil) }()
	var none reflect.Type
	none.NumMethod()
}
later()`)
	want := `M M MB.M 1 1 true 6 1
M Z M Z MB.M ZB.Z 2 2 false 7 0
0 0 true 6 1
0 0 true 14 9
true 21 main 2 fmt
true
`
	if got := n.stream("stdout"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestShownByPrintln: what println writes of a value whose type is a parameter is what it writes of one of that type.
func TestShownByPrintln(t *testing.T) {
	n := newNotebook(t)
	n.ok("func show[T any](x T) { println(x, []T{x}[0]) }\ntype fooer[T any] interface{ foo() T }\ntype six int\nfunc (s six) foo() int { return int(s) }",
		"show(5)\nshow(\"a\")\nshow(1.5)\nshow(true)",
		"func foo[T any](i any) {\n\tif x, ok := i.(fooer[T]); ok {\n\t\tprintln(\"fooer\", x.foo())\n\t}\n}\nfoo[int](six(6))\nfoo[string](six(6))")
	n.await("stderr", "fooer 6\n")
	if got, want := n.stream("stderr"), "5 5\na a\n1.5 1.5\ntrue true\nfooer 6\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
