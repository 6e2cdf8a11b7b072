package eval_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestWaiting declares what needs names of later cells.
func TestWaiting(t *testing.T) {
	longCompiled(t)
	const f = "func f() int { return g() + 1 }"
	tests := []struct {
		name   string
		cells  []string
		stdout string
	}{
		{"function", []string{f, "func g() int { return 41 }", "fmt.Println(f())"}, "42\n"},
		{"used in the cell that completes it", []string{f, "func g() int { return 41 }\nfmt.Println(f())"}, "42\n"},
		{"each other", []string{"func even(n int) bool { return n == 0 || odd(n-1) }", "func odd(n int) bool { return n != 0 && even(n-1) }", "fmt.Println(even(10), odd(10))"}, "true false\n"},
		{"chain", []string{"func first() int { return second() * 2 }", "func second() int { return third() + 1 }", "func third() int { return 4 }", "fmt.Println(first(), second())"}, "10 5\n"},
		{"chain from the other end", []string{"func second() int { return third() + 1 }", "func first() int { return second() * 2 }", "func third() int { return 4 }", "fmt.Println(first(), second())"}, "10 5\n"},
		{"ring of three", []string{"func red(n int) string { return \"r\" + green(n) }", "func green(n int) string { return \"g\" + blue(n) }", "func blue(n int) string {\n\tif n == 0 {\n\t\treturn \"b\"\n\t}\n\treturn \"b\" + red(n-1)\n}\nfmt.Println(red(1))", "fmt.Println(green(0))"}, "rgbrgb\ngb\n"},
		{"others of the cell", []string{f + "\nfunc h() int { return 7 }\nfmt.Println(h())", "func g() int { return 41 }", "fmt.Println(f())"}, "7\n42\n"},
		{"who uses it, of the same cell", []string{f + "\nfunc h() int { return f() * 2 }\nx := 3\nfmt.Println(x)", "func g() int { return 41 }", "fmt.Println(h())"}, "3\n84\n"},
		{"variable", []string{"func count() int { total++; return total }", "total := 40", "count()\nfmt.Println(count(), total)"}, "42 42\n"},
		{"variable of the cell that uses it", []string{"func count() int { total++; return total }", "total := 40\nfmt.Println(count(), total)"}, "41 41\n"},
		{"constant", []string{"func area(r float64) float64 { return tau / 2 * r * r }", "const tau = 6.0", "fmt.Println(area(2))"}, "12\n"},
		{"type", []string{"func sum(ps []Point) (n int) {\n\tfor _, p := range ps {\n\t\tn += p.X\n\t}\n\treturn n\n}", "type Point struct{ X int }", "fmt.Println(sum([]Point{{1}, {2}}))"}, "3\n"},
		{"types of each other", []string{"type Tree struct{ root *Branch }", "type Branch struct{ of *Tree; n int }", "t := &Tree{}\nt.root = &Branch{t, 5}\nfmt.Println(t.root.of.root.n)"}, "5\n"},
		{"type and its methods", []string{"type Tree struct{ root *Branch }\nfunc (t Tree) String() string { return fmt.Sprint(\"T\", t.root.n) }", "type Branch struct{ n int }", "fmt.Println(Tree{&Branch{5}})"}, "T5\n"},
		{"method and its type", []string{"type P struct{ x int }\nfunc (p P) String() string { return show(p.x) }", "func show(n int) string { return fmt.Sprint(\"<\", n, \">\") }", "fmt.Println(P{3})"}, "<3>\n"},
		{"method before its type", []string{"func (p *P) Add(n int) { p.x += n }\nfunc (p P) Get() int { return p.x }", "type P struct{ x int }", "p := P{1}\np.Add(2)\nfmt.Println(p.Get())"}, "3\n"},
		{"method of a later cell", []string{"type P struct{ x int }", "func twice(p P) int { return 2 * p.Area() }", "func (p P) Area() int { return p.x * p.x }", "fmt.Println(twice(P{3}))"}, "18\n"},
		{"interface", []string{"func all(xs ...Shape) (n int) {\n\tfor _, x := range xs {\n\t\tn += x.Area()\n\t}\n\treturn n\n}", "type Square struct{ a int }\nfunc (s Square) Area() int { return s.a * s.a }", "type Shape interface{ Area() int }", "fmt.Println(all(Square{2}, Square{3}))"}, "13\n"},
		{"constants", []string{"const double = single * 2", "const single = 4", "fmt.Println(double)"}, "8\n"},
		{"generic", []string{"func apply[T any](xs []T) []T { return each(xs, func(x T) T { return x }) }", "func each[T any](xs []T, f func(T) T) (all []T) {\n\tfor _, x := range xs {\n\t\tall = append(all, f(x))\n\t}\n\treturn all\n}", "fmt.Println(apply([]int{1, 2}), apply([]string{\"a\"}))"}, "[1 2] [a]\n"},
		{"generic type", []string{"type Stack[T any] struct{ top *Node[T] }\nfunc (s *Stack[T]) Push(x T) { s.top = &Node[T]{x, s.top} }", "type Node[T any] struct {\n\tv T\n\tnext *Node[T]\n}", "var s Stack[string]\ns.Push(\"a\")\ns.Push(\"b\")\nfmt.Println(s.top.v, s.top.next.v)"}, "b a\n"},
		{"import", []string{"import m \"math\"\nfunc f() float64 { return m.Sqrt(g()) }", "func g() float64 { return 9 }", "fmt.Println(f())"}, "3\n"},
		{"declared anew while it waits", []string{f, "func f() int { return g() + 2 }", "func g() int { return 40 }", "fmt.Println(f())"}, "42\n"},
		{"declared anew without it", []string{f, "func f() int { return 5 }", "func g() int { return 40 }", "fmt.Println(f())"}, "5\n"},
		{"run again", []string{f, f, "func g() int { return 41 }", f, "fmt.Println(f())"}, "42\n"},
		{"what it needs declared anew", []string{f, "func g() int { return 41 }", "func g() int { return 1 }", "fmt.Println(f())"}, "2\n"},
		{"wrong, then right", []string{f, "func g() string { return \"\" }", "func g() int { return 41 }", "fmt.Println(f())"}, "42\n"},
		{"closure", []string{"func f() func() int { return func() int { return g(func() int { return base }) } }", "base := 20", "func g(h func() int) int { return h() * 2 }", "h := f()\nbase++\nfmt.Println(h())"}, "42\n"},
		{"loops", []string{"func f(n int) (s int) {\n\tfor i := range n {\n\t\ts += g(i)\n\t}\n\treturn s\n}", "func g(i int) int { return i * i }", "fmt.Println(f(1000))"}, "332833500\n"},
		{"magics", []string{"%time 1\n" + f, "%time 2\nfunc g() int { return 41 }", "fmt.Println(f())"}, "42\n"},
		{"magics, used at once", []string{f, "func g() int { return 41 }\n%time 0\nfmt.Println(f())"}, "42\n"},
		{"several at once", []string{"func a() int { return base + 1 }\nfunc b() int { return base + a() }", "func c() int { return a() * b() }", "const base = 2", "fmt.Println(a(), b(), c())"}, "3 5 15\n"},
		{"panic", []string{"\n" + f, "func g() int { panic(\"g\") }", "defer func() { fmt.Println(recover()) }()\nf()"}, "g\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.cells...)
			if got := n.stream("stdout"); !strings.HasSuffix(got, tt.stdout) {
				t.Errorf("got %q, want %q\n%s", got, tt.stdout, n.stream("stderr"))
			}
		})
	}
}

// TestWaitingTold says what waits for what, and what is wrong.
func TestWaitingTold(t *testing.T) {
	const f = "func f() int { return g() + 1 }"
	const waits = "note: f cannot be used yet: it waits for a cell that declares g\ncell 1:1:23: undefined: g\n    1 | func f() int { return g() + 1 }\n      |                       ^\n"
	tests := []struct {
		name   string
		cells  []string // the last may fail
		stderr string   // of the first
		last   string   // of the last, without what came before
		err    string
	}{
		{"used", []string{f, "fmt.Println(f())"}, waits, "", "cell 2:1:13: undefined: f (cell 1 declares it, and it waits for g)"},
		{"ready", []string{f, "func g() int { return 1 }"}, waits, "note: f (cell 1) can be used now: what it has waited for is declared\n", ""},
		{"type that does not fit", []string{f, "func g() string { return \"\" }"}, waits, "note: f (cell 1) cannot be used, though what it has waited for is declared:\ncell 1:1:23: invalid operation: g() + 1 (mismatched types string and untyped int)", ""},
		{"used though wrong", []string{f, "func g() string { return \"\" }", "f()"}, waits, "", "undefined: f (cell 1 declares it, but: cell 1:1:23: "},
		{"wrong and used at once", []string{f, "func g() string { return \"\" }\nfmt.Println(f())"}, waits, "", "undefined: f (cell 1 declares it, and it waits for g)"},
		{"statement", []string{"x := 1", "x = g()"}, "", "", "cell 2:1:5: undefined: g"},
		{"variable", []string{"x := 1", "var y = g()"}, "", "", "cell 2:1:9: undefined: g"},
		{"variable of a type", []string{"x := 1", "var y T"}, "", "", "cell 2:1:7: undefined: T"},
		{"statement of the cell", []string{"x := 1", f + "\nf()"}, "", "", "cell 2:1:23: undefined: g"},
		{"function literal", []string{"x := 1", "h := func() int { return g() }"}, "", "", "cell 2:1:26: undefined: g"},
		{"misspelled variable", []string{"x := 1", "func f(count int) int { return cuont + 1 }"}, "", "", "cell 2:1:32: undefined: cuont (it is like count: "},
		{"misspelled function", []string{"func total(n int) int { return n }", "func f() int { return totl(1) }"}, "", "", "cell 2:1:23: undefined: totl (it is like total: "},
		{"misspelled word", []string{"x := 1", "func f() strng { return \"\" }"}, "", "", "undefined: strng (it is like string: "},
		{"misspelled package", []string{"x := 1", "func f() string { return strngs.ToUpper(\"a\") }"}, "", "", "undefined: strngs (it is like strings: "},
		{"another error", []string{"x := 1", "func f() int { g(); return \"\" }"}, "", "", "cell 2:1:16: undefined: g"},
		{"function that means something", []string{"func f() int { return 1 }", f}, "", "", "cell 2:1:23: undefined: g (f means something already, so what is to take its place does not wait for later cells: declare g first)"},
		{"method of a type that is in use", []string{"type P struct{}", "func (p P) String() string { return pad() }"}, "", "", "cell 2:1:37: undefined: pad (P is in use, so its methods do not wait for later cells: declare pad first)"},
		{"name of the language", []string{"x := 1", "func max(a, b int) int { return bigger(a, b) }"}, "", "", "cell 2:1:33: undefined: bigger"},
		{"name that every cell knows", []string{"x := 1", "func must(err error) { handle(err) }"}, "", "", "cell 2:1:24: undefined: handle"},
		{"main", []string{"x := 1", "func main() { start() }"}, "", "", "cell 2:1:15: undefined: start (main would run, so it does not wait for later cells: declare start first)"},
		{"member of a package", []string{"x := 1", "func f() { fmt.Prin() }"}, "", "", "cell 2:1:16: undefined: fmt.Prin"},
		{"reset", []string{f, "%reset", "f()"}, waits, "", "cell 3:1:1: undefined: f"},
		{"failed cell", []string{f, "func g() int { return 1 }\npanic(f())"}, waits, "note: f (cell 1) can be used now: what it has waited for is declared\n", "2"},
		{"each other", []string{"func even(n int) bool { return n == 0 || odd(n-1) }", "even(1)"}, "note: even cannot be used yet: it waits for a cell that declares odd\ncell 1:1:42: undefined: odd\n    1 | func even(n int) bool { return n == 0 || odd(n-1) }\n      |                                          ^\n", "", "cell 2:1:1: undefined: even (cell 1 declares it, and it waits for odd)"},
		{"used before a variable that it needs", []string{"func f() int { return step + 1 }", "fmt.Println(f())\nstep := 2"}, "", "", "cell 2:1:13: "},
		{"literal of a type", []string{"func origin() Point { return Point{X: 1, Y: one} }\nconst one = 1", "type Point struct{ X, Y int }\nfmt.Println(origin())"}, "note: origin cannot be used yet: it waits for a cell that declares Point\ncell 1:1:15: undefined: Point\n    1 | func origin() Point { return Point{X: 1, Y: one} }\n      |               ^\n", "", ""},
		{"used though a method of it waits", []string{"type P struct{ x int }\nfunc (p P) String() string { return pad(p.x) }", "fmt.Println(P{1})"}, "", "", "cell 2:1:13: undefined: P (cell 1 declares it, and it waits for pad)"},
		{"method that waits", []string{"type P struct{}\nfunc twice(p P) int { return 2 * p.Area() }", "twice(P{})"}, "note: twice cannot be used yet: it waits for a cell that declares P.Area\ncell 1:2:36: p.Area undefined (type P has no field or method Area)\n    2 | func twice(p P) int { return 2 * p.Area() }\n      |                                    ^\n", "", "undefined: twice (cell 1 declares it, and it waits for P.Area)"},
		{"misspelled method", []string{"type P struct{}\nfunc (p P) Round() int { return 1 }", "func twice(p P) int { return 2 * p.Ruond() }"}, "", "", "p.Ruond undefined (type P has no field or method Ruond) (it is like Round: "},
		{"each other, wrong", []string{f, "func g() string { return f() }"}, waits, "note: g cannot be used yet: it waits for a cell that declares f\ncell 2:1:26: undefined: f\n    1 | func g() string { return f() }\n      |                          ^\nnote: f (cell 1) cannot be used, though what it has waited for is declared:\ncell 1:1:23: invalid operation: g() + 1 (mismatched types string and untyped int)\n", ""},
		{"place of a panic", []string{"\n\nfunc f() int {\n\treturn g() + 1\n}", "func g() int { panic(\"g\") }\n\n\nf()"}, "", "", "g"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.cells[0])
			first := n.stream("stderr")
			if tt.stderr != "" && first != tt.stderr {
				t.Errorf("got  %q\nwant %q", first, tt.stderr)
			}
			n.ok(tt.cells[1 : len(tt.cells)-1]...)
			before := n.stream("stderr")
			r := n.run(tt.cells[len(tt.cells)-1])
			if last := n.stream("stderr")[len(before):]; !strings.HasPrefix(last, tt.last) {
				t.Errorf("got  %q\nwant %q", last, tt.last)
			}
			switch {
			case tt.err == "" && r.Err != nil:
				t.Error(r.Err)
			case tt.err != "" && (r.Err == nil || !strings.Contains(r.Err.Value, tt.err)):
				t.Errorf("got %v, want %q", r.Err, tt.err)
			}
		})
	}
}

// TestRefusedCellWaits: of a cell that is refused nothing waits, and what waits is as it was.
func TestRefusedCellWaits(t *testing.T) {
	n := newNotebook(t)
	n.run("func f() int { return g() }\nnope()")
	if r := n.run("f()"); r.Err == nil || r.Err.Value != "cell 2:1:1: undefined: f" {
		t.Errorf("got %v", r.Err)
	}
	n.ok("func f() int { return g() + 1 }")
	for _, code := range []string{"func g() string { return \"\" }\nnope()", "func f() int { return h() }\nnope()", "%time 1\nfunc g() string { return \"\" }\n%time nope()"} {
		if r := n.run(code); r.Err == nil {
			t.Errorf("%s ran", code)
		}
		if r := n.run("f()"); r.Err == nil || !strings.HasSuffix(r.Err.Value, "undefined: f (cell 3 declares it, and it waits for g)") {
			t.Errorf("after %s: got %v", code, r.Err)
		}
	}
	n.ok("func g() int { return 41 }", "fmt.Println(f())")
	if got := n.stream("stdout"); got != "42\n" {
		t.Errorf("got %q", got)
	}
}

// TestWaitingTraceback shows a panic of a function that has waited at its own place.
func TestWaitingTraceback(t *testing.T) {
	for name, cells := range map[string][]string{
		"apart":    {"\n\nfunc f() int {\n\treturn 1 + g()\n}", "func g() int { panic(\"g\") }", "\nf()"},
		"together": {"\n\nfunc f() int {\n\treturn 1 + g()\n}", "func g() int { panic(\"g\") }\n\n\nf()"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(cells[:len(cells)-1]...)
			r := n.run(cells[len(cells)-1])
			if r.Err == nil {
				t.Fatal("no panic")
			}
			trace := strings.Join(r.Err.Traceback, "\n")
			for _, want := range []string{"in g (cell 2:1)", "in f (cell 1:4)"} {
				if !strings.Contains(trace, want) {
					t.Errorf("%s has no %q", trace, want)
				}
			}
		})
	}
}

// TestWaitingStopped: a function that has waited for a variable which the cell does not come to declare waits for it again.
func TestWaitingStopped(t *testing.T) {
	n := newNotebook(t)
	n.ok("func f() int { return limit + 1 }\nfunc h() int { return f() * 2 }\nfunc k() int { return size }")
	if r := n.run("size := 3\npanic(\"early\")\nlimit := 5"); r.Err == nil {
		t.Fatal("no panic")
	}
	for code, want := range map[string]string{
		"f()": "undefined: f (cell 1 declares it, and it waits for limit)", "h()": "undefined: h (cell 1 declares it, and it waits for limit)",
		"limit": "undefined: limit (cell 2 ended before it declared it)",
	} {
		if r := n.run(code); r.Err == nil || !strings.HasSuffix(r.Err.Value, want) {
			t.Errorf("%s: got %v, want %q", code, r.Err, want)
		}
	}
	n.ok("fmt.Println(k())", "limit := 6", "fmt.Println(f(), h())")
	if got, want := n.stream("stdout"), "3\n7 14\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWaitingCallers: a note about a function that has waited names its own cell.
func TestWaitingCallers(t *testing.T) {
	if tools(t) == nil {
		t.Skip("interpreted functions call the new one")
	}
	n := newNotebook(t)
	n.ok("func f() int { return g() + 1 }", "func g() int { return 1 }")
	before := n.stream("stderr")
	n.ok("func g() string { return \"\" }")
	if got, want := n.stream("stderr")[len(before):], "note: functions of earlier cells that call g keep the old one, since its signature changed: f (cell 1)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWaitingTests: a test that waits is not passed over.
func TestWaitingTests(t *testing.T) {
	if tools(t) == nil {
		t.Skip("tests are compiled functions")
	}
	n := newNotebook(t)
	n.ok("import \"testing\"\nfunc TestF(t *testing.T) { helper(t) }\nfunc TestOther(t *testing.T) {}")
	if r := n.run("%test"); r.Err == nil || r.Err.Value != "%test: TestF (cell 1) cannot be used yet: no cell declares helper" {
		t.Errorf("got %v", r.Err)
	}
	n.ok("func helper(t *testing.T) { fmt.Println(\"helped\") }\n%test -v -run TestF")
	if got := n.stream("stdout"); !strings.Contains(got, "helped\n--- PASS: TestF") {
		t.Errorf("got %q", got)
	}
}

// TestWaitingAtRandom declares a program in cells of any order, some of which are run again, and wants what the program prints.
// CANCHA_SEED begins with another seed.
func TestWaitingAtRandom(t *testing.T) {
	longCompiled(t)
	pieces := []string{
		"type Shape interface{ Area() int }",
		"type Square struct{ side int }\nfunc (s Square) Area() int { return scale * s.side * s.side }",
		"type Pile struct { of []Shape; below *Heap }\nfunc (p Pile) Area() (n int) {\n\tfor _, s := range p.of {\n\t\tn += s.Area()\n\t}\n\tif p.below != nil {\n\t\tn += p.below.Weight()\n\t}\n\treturn n\n}",
		"type Heap struct{ top *Pile }\nfunc (h Heap) Weight() int {\n\tif h.top == nil {\n\t\treturn 1\n\t}\n\treturn h.top.Area()\n}",
		"const scale = unit * 2",
		"const unit = 3",
		"func even(n int) bool { return n == 0 || odd(n-1) }",
		"func odd(n int) bool { return n != 0 && even(n-1) }",
		"func mapped[T, U any](xs []T, f func(T) U) (us []U) {\n\tfor _, x := range xs {\n\t\tus = append(us, keep(f(x)))\n\t}\n\treturn us\n}",
		"func keep[T any](x T) T { calls++; return x }",
		"calls := 0",
		"func total(xs ...Shape) (n int) {\n\tfor _, a := range mapped(xs, Shape.Area) {\n\t\tn += a\n\t}\n\treturn n\n}",
	}
	first, _ := strconv.ParseUint(os.Getenv("CANCHA_SEED"), 10, 64)
	sessions := uint64(25)
	if tools(t) != nil {
		sessions = 3 // a cell takes its compiler's time
	}
	for seed := first; seed < first+sessions; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			n, order := newNotebook(t), r.Perm(len(pieces))
			var cells []string
			for len(order) > 0 {
				var cell []string
				for range min(1+r.IntN(3), len(order)) {
					cell, order = append(cell, pieces[order[0]]), order[1:]
				}
				cells = append(cells, strings.Join(cell, "\n"))
				n.ok(cells[len(cells)-1])
				if r.IntN(4) == 0 {
					n.ok(cells[r.IntN(len(cells))])
				}
			}
			n.ok("fmt.Println(total(Square{1}, Pile{of: []Shape{Square{2}}, below: &Heap{}}), even(10), odd(7), calls)")
			if got, want := n.stream("stdout"), "31 true true 2\n"; got != want {
				t.Errorf("got %q, want %q\n%s", got, want, strings.Join(cells, "\n--\n"))
			}
			if t.Failed() {
				t.Logf("CANCHA_SEED=%d", seed)
			}
		})
	}
}
