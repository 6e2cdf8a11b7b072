package eval_test

import (
	"strings"
	"testing"
)

// TestRunAgain declares types again: made of the same, they stay what they are, and old values have the methods of now.
func TestRunAgain(t *testing.T) {
	longCompiled(t)
	const typ = "type P struct{ X int }"
	tests := []struct {
		name   string
		cells  []string
		stdout string // of the last cell
	}{
		{"function", []string{typ, "p := P{4}", "func show(p P) string { return fmt.Sprint(\"P\", p.X) }", typ, "fmt.Println(show(p), show(P{5}))"}, "P4 P5\n"},
		{"function again", []string{typ, "p := P{4}", "func show(p P) string { return \"a\" }", typ, "func show(p P) string { return \"b\" }", "fmt.Println(show(p))"}, "b\n"},
		{"map", []string{typ, "ps := map[string]P{\"a\": {1}}", typ, "ps[\"b\"] = P{5}\nfmt.Println(ps)"}, "map[a:{1} b:{5}]\n"},
		{"key", []string{typ, "ps := map[P]int{{1}: 1}", typ, "ps[P{1}]++\nfmt.Println(ps)"}, "map[{1}:2]\n"},
		{"type switch", []string{typ, "var v any = P{3}", typ, "switch v := v.(type) {\ncase P:\n\tfmt.Println(\"P\", v.X)\ndefault:\n\tfmt.Printf(\"%T\\n\", v)\n}"}, "P 3\n"},
		{"comments and layout", []string{typ, "var v any = P{3}", "// P is a point.\ntype P struct { // of one number\n\tX int // which is this\n}", "_, ok := v.(P)\nfmt.Println(ok)"}, "true\n"},
		{"number", []string{"type Celsius float64", "temps := []Celsius{1}", "type Celsius float64", "temps = append(temps, Celsius(2))\nfmt.Println(temps)"}, "[1 2]\n"},
		{"option", []string{"type cfg struct{ n int }\ntype Opt func(*cfg)", "opts := []Opt{func(c *cfg) { c.n++ }}", "type cfg struct{ n int }\ntype Opt func(*cfg)", "opts = append(opts, func(c *cfg) { c.n += 10 })\nvar c cfg\nfor _, o := range opts { o(&c) }\nfmt.Println(c.n)"}, "11\n"},
		{"generic", []string{"type Node[T any] struct {\n\tv T\n\tnext *Node[T]\n}", "head := &Node[int]{1, nil}", "type Node[T any] struct {\n\tv T\n\tnext *Node[T]\n}", "head = &Node[int]{2, head}\nfmt.Println(head.v, head.next.v)"}, "2 1\n"},
		{"generic with methods", []string{"type L[T any] struct{ xs []T }\nfunc (l *L[T]) Push(x T) { l.xs = append(l.xs, x) }\nfunc (l *L[T]) Len() int { return len(l.xs) }", "var l L[int]\nl.Push(1)", "type L[T any] struct{ xs []T }\nfunc (l *L[T]) Push(x T) { l.xs = append(l.xs, x) }\nfunc (l *L[T]) Len() int { return len(l.xs) }", "l.Push(2)\nvar m L[int] = l\nfmt.Println(m.Len(), l.xs)"}, "2 [1 2]\n"},
		{"interface", []string{"type Shape interface{ Area() int }\ntype Sq struct{ A int }\nfunc (s Sq) Area() int { return s.A * s.A }", "shapes := []Shape{Sq{2}}", "type Shape interface{ Area() int }\ntype Sq struct{ A int }\nfunc (s Sq) Area() int { return s.A * s.A }", "shapes = append(shapes, Sq{3})\nfor _, s := range shapes { fmt.Print(s.Area(), \" \", s.(Sq).A, \" \") }\nfmt.Println()"}, "4 2 9 3 \n"},
		{"group", []string{"type (\n\tA struct{ b *B }\n\tB struct{ a *A; n int }\n\tID string\n)", "x := &A{&B{n: 1}}\nx.b.a = x\nvar id any = ID(\"i\")", "type (\n\tA struct{ b *B }\n\tB struct{ a *A; n int }\n\tID string\n)", "x.b = &B{a: x, n: 2}\n_, ok := id.(ID)\nfmt.Println(x.b.a.b.n, ok)"}, "2 true\n"},
		{"one of a group", []string{"type (\n\tA struct{ n int }\n\tB struct{ n int }\n)", "a, b := A{1}, B{2}", "type (\n\tA struct{ n int }\n\tB struct{ n, m int }\n)", "a = A{3}\nfmt.Println(a, b, B{4, 5})"}, "{3} {2} {4 5}\n"},
		{"with statements", []string{"const n = 3\ntype V [n]int\nvar v V\nv[0]++\nfmt.Println(v)", "old := v", "const n = 3\ntype V [n]int\nvar v V\nv[0]++\nfmt.Println(v)", "v = old\nfmt.Println(v)"}, "[1 0 0]\n"},
		{"closure", []string{typ, "p := P{1}\nget := func() P { return p }\nset := func(q P) { p = q }", typ, "set(P{7})\nfmt.Println(get() == P{7})"}, "true\n"},
		{"method stays", []string{typ + "\nfunc (p P) Dbl() int { return 2 * p.X }", "p := P{4}\nf := p.Dbl", typ + "\nfunc (p P) Dbl() int { return 2 * p.X }", "fmt.Println(p.Dbl(), f(), P{5}.Dbl())"}, "8 8 10\n"},
		{"method of a later cell stays", []string{typ, "func (p P) String() string { return fmt.Sprint(\"<\", p.X, \">\") }", "var v any = P{4}", typ, "fmt.Println(v, P{5})"}, "<4> <5>\n"},
		{"method changed", []string{typ + "\nfunc (p P) Dbl() int { return 2 * p.X }", "p := P{4}\nf := p.Dbl\nfunc g(p P) int { return p.Dbl() }\nvar d interface{ Dbl() int } = p", typ + "\nfunc (p P) Dbl() int { return 200 * p.X }", "fmt.Println(p.Dbl(), f(), g(p), d.Dbl(), p.Dbl())"}, "800 800 800 800 800\n"},
		{"method added", []string{typ + "\nfunc (p P) Dbl() int { return 2 * p.X }", "p := P{4}\nvar v any = p\nps := []any{p, &p}", typ + "\nfunc (p P) Dbl() int { return 2 * p.X }\nfunc (p P) String() string { return \"P\" }", "_, ok := v.(fmt.Stringer)\nfmt.Println(p, v, ps, ok)"}, "P P [P P] true\n"},
		{"method removed", []string{typ + "\nfunc (p P) String() string { return \"P\" }\nfunc (p P) Dbl() int { return 2 * p.X }", "p := P{4}\nvar v any = p", typ + "\nfunc (p P) Dbl() int { return 2 * p.X }", "_, ok := v.(fmt.Stringer)\n_, same := v.(P)\nfmt.Println(p, v, ok, same, p.Dbl())"}, "{4} {4} false true 8\n"},
		{"all methods removed", []string{typ + "\nfunc (p P) String() string { return \"P\" }", "p := P{4}\nvar v any = p", typ, "fmt.Println(p, v)"}, "{4} {4}\n"},
		{"removed and called", []string{typ + "\nfunc (p P) Dbl() int { return 2 * p.X }", "func g(p P) int { return p.Dbl() + 1 }", "p := P{4}", typ, "fmt.Println(g(p), g(P{5}))"}, "9 11\n"},
		{"removed and back", []string{typ + "\nfunc (p P) String() string { return \"a\" }", "var v any = P{4}", typ, "fmt.Println(v)", typ + "\nfunc (p P) String() string { return \"b\" }", "fmt.Println(v)"}, "b\n"},
		{"other signature", []string{typ + "\nfunc (p P) Area() int { return p.X }", "p := P{4}\nfunc g(p P) int { return p.Area() }", typ + "\nfunc (p P) Area() float64 { return float64(p.X) / 8 }", "fmt.Println(p.Area(), g(p))"}, "0.5 4\n"},
		{"other signature, in a cell of its own", []string{typ, "func (p P) Area() int { return p.X }", "p := P{4}", "func (p P) Area() float64 { return float64(p.X) / 8 }", "fmt.Println(p.Area())"}, "0.5\n"},
		{"other receiver", []string{typ + "\nfunc (p P) Set() { p.X++ }", "p := P{4}", typ + "\nfunc (p *P) Set() { p.X++ }", "p.Set()\nfmt.Println(p.X)"}, "5\n"},
		{"method that recovers", []string{typ + "\nfunc (p *P) guard() { if r := recover(); r != nil { p.X = r.(int) } }", "p := P{4}\nfunc f(p *P) { defer p.guard(); panic(7) }", typ + "\nfunc (p *P) guard() { if r := recover(); r != nil { p.X = 10 * r.(int) } }", "f(&p)\nfmt.Println(p.X)"}, "70\n"},
		{"promoted", []string{typ + "\nfunc (p P) Name() string { return \"P\" }", "type Q struct{ P }", "q := Q{P{1}}\nvar v any = q", typ + "\nfunc (p P) Name() string { return \"new\" }\nfunc (p P) String() string { return \"s\" }", "fmt.Println(q.Name(), q, v)"}, "new s s\n"},
		{"constant", []string{"type Day int\nconst (\n\tMon Day = iota\n\tTue\n)\nfunc (d Day) String() string { return []string{\"Mon\", \"Tue\"}[d] }", "d := Tue\nvar v any = d", "type Day int\nconst (\n\tMon Day = iota\n\tTue\n)\nfunc (d Day) String() string { return []string{\"Mon\", \"Tue\"}[d] }", "fmt.Println(d == Tue, v == Tue, v)"}, "true true Tue\n"},
		{"array length", []string{"const n = 2\ntype V [n]int", "v := V{1}", "const n = 3\ntype V [n]int", "fmt.Println(v, V{1})"}, "[1 0] [1 0 0]\n"},
		{"tags", []string{"type P struct{ X int }", "p := P{1}", "type P struct{ X int `json:\"x\"` }", "b, _ := json.Marshal(P(p))\nfmt.Println(string(b))"}, "{\"x\":1}\n"},
		{"alias", []string{typ + "\ntype A = P", "var a A\nvar v any = a", typ + "\ntype A = P", "_, ok := v.(A)\na = P{2}\nfmt.Println(ok, a)"}, "true {2}\n"},
		{"constraint", []string{"type Num interface{ ~int | ~float64 }\ntype Acc[T Num] struct{ sum T }", "a := Acc[int]{1}", "type Num interface{ ~int | ~float64 }\ntype Acc[T Num] struct{ sum T }", "a = Acc[int]{a.sum + 1}\nfmt.Println(a.sum)"}, "2\n"},
		{"package", []string{"import \"time\"\ntype E struct{ At time.Time; D time.Duration }", "e := E{D: time.Second}", "import \"time\"\ntype E struct{ At time.Time; D time.Duration }", "e = E{D: 2 * e.D}\nfmt.Println(e.D)"}, "2s\n"},
		{"method of a generic type", []string{"type L[T any] struct{ xs []T }", "var l L[int]", "func (l *L[T]) Push(x T) { l.xs = append(l.xs, x) }", "l.Push(3)\nfmt.Println(l.xs)"}, "[3]\n"},
		{"methods of a generic type", []string{"type L[T any] struct{ xs []T }\nfunc (l *L[T]) Push(x T) { l.xs = append(l.xs, x) }", "var l L[int]\nl.Push(1)\nvar v any = &l\ns := L[string]{[]string{\"a\"}}", "func (l L[E]) String() string { return fmt.Sprint(\"L\", l.xs) }", "func (l *L[_]) Len() int { return len(l.xs) }", "l.Push(2)\ns.Push(\"b\")\nst, ok := v.(fmt.Stringer)\nfmt.Println(l, s, st, ok, v.(interface{ Len() int }).Len(), s.Len())"}, "L[1 2] L[a b] L[1 2] true 2 2\n"},
		{"method of a generic type changed", []string{"type L[T any] struct{ xs []T }\nfunc (l *L[T]) Len() int { return len(l.xs) }\nfunc (l *L[T]) Twice() int { return 2 * l.Len() }", "l := &L[int]{[]int{1}}\nfunc f(l *L[int]) int { return l.Len() }\nvar v interface{ Len() int } = l", "type L[T any] struct{ xs []T }\nfunc (l *L[T]) Len() int { return 10 * len(l.xs) }\nfunc (l *L[T]) Twice() int { return 2 * l.Len() }", "fmt.Println(l.Len(), l.Twice(), f(l), v.Len())"}, "10 20 10 10\n"},
		{"method of a generic type removed", []string{"type L[T any] struct{ xs []T }\nfunc (l L[T]) String() string { return \"L\" }", "l := L[int]{[]int{1}}\nvar v any = l", "type L[T any] struct{ xs []T }", "_, ok := v.(fmt.Stringer)\n_, same := v.(L[int])\nfmt.Println(l, v, ok, same)"}, "{[1]} {[1]} false true\n"},
		{"method of a generic type with another signature", []string{"type L[T any] struct{ xs []T }\nfunc (l L[T]) Len() int { return len(l.xs) }", "l := L[int]{[]int{1}}", "func (l L[T]) Len() string { return fmt.Sprint(len(l.xs), \"!\") }", "fmt.Println(l.Len() + \"?\")"}, "1!?\n"},
		{"constraints", []string{"type Num interface{ ~int | ~float64 }\ntype M[K comparable, S ~[]V, V Num] struct{ m map[K]S }", "m := M[string, []int, int]{map[string][]int{\"a\": {1, 2}}}", "func (m M[K, S, V]) Sum(k K) (sum V) {\n\tfor _, v := range m.m[k] {\n\t\tsum += v\n\t}\n\treturn sum\n}", "fmt.Println(m.Sum(\"a\"))"}, "3\n"},
		{"constraint of itself", []string{"type Less[T any] interface{ Less(T) bool }\ntype Max[T Less[T]] struct{ v *T }\ntype I int\nfunc (i I) Less(j I) bool { return i < j }", "var m Max[I]", "func (m *Max[T]) Add(x T) {\n\tif m.v == nil || (*m.v).Less(x) {\n\t\tm.v = &x\n\t}\n}", "m.Add(3)\nm.Add(5)\nm.Add(4)\nfmt.Println(*m.v)"}, "5\n"},
		{"generic types of each other", []string{"type Tree[T any] struct{ root *Item[T] }\ntype Item[T any] struct{ v T; l, r *Item[T] }", "t := Tree[int]{&Item[int]{v: 1, l: &Item[int]{v: 2}}}", "func (n *Item[T]) Size() int {\n\tif n == nil {\n\t\treturn 0\n\t}\n\treturn 1 + n.l.Size() + n.r.Size()\n}", "func (t Tree[T]) Size() int { return t.root.Size() }", "fmt.Println(t.Size(), t.root.l.Size())"}, "2 1\n"},
		{"refused method of a generic type", []string{"type L[T any] struct{ xs []T }\nvar l L[int]", "func (l L[T]) Len() int { return len(l.xs) }", "fmt.Println(l.Len())"}, "0\n"},
		{"in a cell with values", []string{"ps := []any{}", "type P struct{ X int }\np := P{len(ps)}\nps = append(ps, p)", "old := p", "type P struct{ X int }\np := P{len(ps)}\nps = append(ps, p)", "_, a := ps[0].(P)\n_, b := ps[1].(P)\nfmt.Println(a, b, old == p, ps[0] == any(old))"}, "true true false true\n"},
		{"function type with a method", []string{"type H func(int) int\nfunc (h H) Serve(x int) int { return h(x) + 1 }", "h := H(func(x int) int { return 2 * x })\nvar v any = h\nvar s interface{ Serve(int) int } = h", "type H func(int) int\nfunc (h H) Serve(x int) int { return h(x) + 10 }", "_, ok := v.(H)\nfmt.Println(h.Serve(1), ok, s.Serve(1))"}, "12 true 12\n"},
		{"sorted", []string{"type P struct{ N int }\ntype byN []P\nfunc (b byN) Len() int { return len(b) }\nfunc (b byN) Less(i, j int) bool { return b[i].N < b[j].N }\nfunc (b byN) Swap(i, j int) { b[i], b[j] = b[j], b[i] }", "ps := []P{{2}, {3}, {1}}\nsort.Sort(byN(ps))\nl := byN(ps)", "type P struct{ N int }\ntype byN []P\nfunc (b byN) Len() int { return len(b) }\nfunc (b byN) Less(i, j int) bool { return b[i].N > b[j].N }\nfunc (b byN) Swap(i, j int) { b[i], b[j] = b[j], b[i] }", "sort.Sort(l)\nfmt.Println(ps)"}, "[{3} {2} {1}]\n"},
		{"error", []string{"type E struct{ code int }\nfunc (e *E) Error() string { return fmt.Sprint(\"E\", e.code) }\nfunc fail() error { return fmt.Errorf(\"x: %w\", &E{7}) }", "err := fail()", "type E struct{ code int }\nfunc (e *E) Error() string { return fmt.Sprint(\"E\", e.code) }\nfunc fail() error { return fmt.Errorf(\"x: %w\", &E{7}) }", "var e *E\nfmt.Println(errors.As(err, &e), e)"}, "true E7\n"},
		{"recursive types", []string{"type F func(F) int\ntype M map[string]M\ntype T []T", "var f F = func(F) int { return 1 }\nm := M{\"a\": nil}\nt := T{nil}\nvs := []any{f, m, t}", "type F func(F) int\ntype M map[string]M\ntype T []T", "_, a := vs[0].(F)\n_, b := vs[1].(M)\n_, c := vs[2].(T)\nt, m[\"b\"] = append(t, T{}), m\nfmt.Println(a, b, c, f(f), len(m), len(t))"}, "true true true 1 2 2\n"},
		{"method on an alias", []string{typ + "\ntype A = P\nfunc (a A) Get() int { return a.X }", "p := P{3}\nvar v any = p", typ + "\ntype A = P\nfunc (a A) Get() int { return -a.X }", "_, ok := v.(A)\nfmt.Println(p.Get(), ok)"}, "-3 true\n"},
		{"generic function", []string{typ + "\nfunc mapped[T, U any](xs []T, f func(T) U) (us []U) {\n\tfor _, x := range xs {\n\t\tus = append(us, f(x))\n\t}\n\treturn us\n}", "ps := []P{{1}, {2}}\nxs := func() []int { return mapped(ps, func(p P) int { return p.X }) }", typ + "\nfunc (p P) String() string { return \"p\" }", "fmt.Println(xs(), mapped(ps, P.String), mapped(xs(), func(x int) P { return P{x} }))"}, "[1 2] [p p] [p p]\n"},
		{"pasted program", []string{"package main\n\nimport \"fmt\"\n\ntype P struct{ X int }\n\nfunc (p P) String() string { return fmt.Sprint(\"P\", p.X) }\n\nvar all []any\n\nfunc init() { all = append(all, P{1}) }\n\nfunc main() { fmt.Println(all...) }", "keep := all[0]", "package main\n\nimport \"fmt\"\n\ntype P struct{ X int }\n\nfunc (p P) String() string { return fmt.Sprint(\"P\", p.X) }\n\nvar all []any\n\nfunc init() { all = append(all, P{1}) }\n\nfunc main() { fmt.Println(all...) }", "_, ok := keep.(P)\nfmt.Println(keep, ok)"}, "P1 true\n"},
		{"parts of a layout", []string{"type A struct{ n int }", "type B struct{ a A; next *B }", "b := B{a: A{1}}\nvar v any = b", "type A struct{ n int }", "type B struct{ a A; next *B }", "_, ok := v.(B)\nb.a = A{2}\nb.next = &B{}\nfmt.Println(ok, b.a.n)"}, "true 2\n"},
		{"other layout of a part", []string{"type A struct{ n int }\ntype B struct{ a A }", "b := B{A{1}}", "type A struct{ n, m int }\ntype B struct{ a A }", "fmt.Println(b, B{A{1, 2}})"}, "{{1}} {{1 2}}\n"},
		{"names of type parameters", []string{"type L[T any] struct{ xs []T }\nfunc (l L[T]) First() T { return l.xs[0] }", "l := L[string]{[]string{\"a\"}}\nvar v any = l", "type L[Elem any] struct{ xs []Elem }\nfunc (l L[Elem]) First() Elem { return l.xs[0] }", "_, ok := v.(L[string])\nfmt.Println(ok, l.First())"}, "true a\n"},
		{"instance of a kept type", []string{"type Box[T any] struct{ v T }\nfunc (b Box[T]) Get() T { return b.v }", typ, "b := Box[P]{P{1}}\nvar v any = b\nm := map[Box[P]]int{b: 1}", typ + "\nfunc (p P) String() string { return \"p\" }", "got, ok := v.(Box[P])\nfmt.Println(ok, got.Get(), b.Get(), m[Box[P]{P{1}}])"}, "true p p 1\n"},
		{"in the library", []string{typ, "var at atomic.Pointer[P]\nat.Store(&P{1})\nvar once sync.Map\nonce.Store(\"a\", P{2})\nl := list.New()\nl.PushBack(P{3})", typ, "v, _ := once.Load(\"a\")\n_, a := v.(P)\n_, b := l.Front().Value.(P)\nat.Store(&P{4})\nfmt.Println(a, b, at.Load().X)"}, "true true 4\n"},
		{"constant of another cell", []string{"const n = 2", "type V [n]int", "v := V{1}", "const n = 2", "type V [n]int", "v = V{2}\nfmt.Println(v)"}, "[2 0]\n"},
		{"run all above twice", []string{typ, "func (p P) Dbl() int { return 2 * p.X }", "var d interface{ Dbl() int } = P{4}", typ, "func (p P) Dbl() int { return 2 * p.X }", typ, "func (p P) Dbl() int { return 3 * p.X }", "fmt.Println(d.Dbl(), P{1}.Dbl())"}, "12 3\n"},
		{"channel and goroutine", []string{typ, "in, out := make(chan P), make(chan int)\ngo func() { for p := range in { out <- p.X } }()", typ, "in <- P{6}\nfmt.Println(<-out)\nclose(in)"}, "6\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "recursive types" && tools(t) == nil {
				t.Skip("the interpreter cannot build them")
			}
			n := newNotebook(t)
			n.ok(tt.cells[:len(tt.cells)-1]...)
			before := n.stream("stdout")
			n.ok(tt.cells[len(tt.cells)-1])
			if got := strings.TrimPrefix(n.stream("stdout"), before); got != tt.stdout {
				t.Errorf("got %q, want %q", got, tt.stdout)
			}
		})
	}
}

// TestTypeMadeOfSomethingElse says what keeps the older of two types of one name, and how to go on with it.
func TestTypeMadeOfSomethingElse(t *testing.T) {
	tests := []struct {
		name  string
		cells []string
		notes string
		then  string // what the note tells to write, and more
	}{
		{"struct", []string{"type P struct{ X int }", "p := P{4}", "type P struct{ X, Y int }"},
			"note: P is a new type, and that of cell 1 stays another one: p is one of those, and P{X: p.X} takes over what both have\n", "q := P{X: p.X}; q == P{4, 0}"},
		{"tag", []string{"type P struct{ X int }", "p, q := P{4}, &P{5}", "type P struct{ X int `json:\"x\"` }"},
			"note: P is a new type, and that of cell 1 stays another one: p is one of those, and P(p) converts it; q points to one of those, and (*P)(q) converts it\n", "P(p) == P{4} && *(*P)(q) == P{5}"},
		{"bodies", []string{"type P struct{ X int }\nfunc is(x any) bool { switch x.(type) { case P: return true }; return false }", "type T struct{}\nfunc (T) Is(x any) bool { _, ok := x.(P); return ok }\nis2 := func(x any) bool { _, ok := x.(P); return ok }", "type P struct{ X, Y int }"},
			"note: P is a new type, and that of cell 1 stays another one: T.Is (cell 2), is (cell 1), is2 (cell 2) use the old one: run their cells again\n", "is(P{1, 2}) == false"},
		{"interfaces", []string{"type P struct{ X int }", "zoo := []any{P{1}}\nvar s fmt.Stringer\nvar _ = s\nm := map[string]error{}", "type P struct{ X, Y int }"},
			"note: P is a new type, and that of cell 1 stays another one: what zoo may hold of it is no P now\n", "len(m) == 0 && zoo[0] != any(P{1, 0})"},
		{"number", []string{"type C float64", "c := C(1)", "type C float32"}, "note: C is a new type, and that of cell 1 stays another one: c is one of those, and C(c) converts it\n", "C(c) == 1"},
		{"nothing in common", []string{"type P struct{ X int }", "p := P{4}", "type P struct{ Y string }"}, "note: P is a new type, and that of cell 1 stays another one: p is one of those, which nothing converts\n", "p.X == 4"},
		{"what is made of it", []string{"type P struct{ X int }", "ps, byName := []P{{1}}, map[string]P{}\nfunc show(p P) {}\ntype Q struct{ p P }", "type P struct{ X, Y int }"},
			"note: P is a new type, and that of cell 1 stays another one: byName, ps hold the old one; Q (cell 2), show (cell 2) use the old one: run their cells again\n", "len(ps) == 1"},
		{"interface", []string{"type S interface{ A() int }", "type P struct{}\nfunc (P) A() int { return 1 }\nfunc (P) B() int { return 2 }\nvar s S = P{}", "type S interface{ A() int; B() int }"},
			"note: S is a new type, and that of cell 1 stays another one: s is one of those, and s.(S) converts it where its value has the methods\n", "s.(S).B() == 2"},
		{"methods of later cells", []string{"type P struct{ X int }\nfunc (p P) A() {}", "func (p P) String() string { return \"\" }", "type P struct{ X, Y int }"},
			"note: P is a new type, and that of cell 1 stays another one: P.String (cell 2) uses the old one: run its cell again\n", "true"},
		{"nothing", []string{"type P struct{ X int }", "p := P{1}\np.X", "p := 1", "type P struct{ X, Y int }"}, "", "p == 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.cells...)
			n.ok(tt.then)
			if got := n.stream("stderr"); got != tt.notes {
				t.Errorf("got  %q\nwant %q", got, tt.notes)
			}
			if got := n.results(); len(got) == 0 || got[len(got)-1] != "true" {
				t.Errorf("%s: got %q", tt.then, got)
			}
		})
	}
}

// TestDroppedMethods says who keeps a method that its type has no more.
func TestDroppedMethods(t *testing.T) {
	const typ, dbl = "type P struct{ X int }", "\nfunc (p P) Dbl() int { return 2 * p.X }"
	compiled := tools(t) != nil
	tests := []struct {
		name  string
		cells []string
		notes string // of compiled cells
		fails string // a cell, and how
		want  string
	}{
		{"called", []string{typ + dbl, "func g(p P) int { return p.Dbl() }", typ}, "note: functions of earlier cells that call P.Dbl keep the old one, since the type has it no more: g (cell 2)\n", "P{1}.Dbl()", "P{…}.Dbl undefined (type P has no field or method Dbl)"},
		{"other signature", []string{typ + dbl, "func g(p P) int { return p.Dbl() }", typ + "\nfunc (p P) Dbl() string { return \"\" }"}, "note: functions of earlier cells that call P.Dbl keep the old one, since its signature changed: g (cell 2)\n", "var n int = P{1}.Dbl()", "cannot use P{…}.Dbl() (value of type string) as int value in variable declaration"},
		{"not called", []string{typ + dbl, typ}, "", "var d interface{ Dbl() int } = P{1}", "cannot use P{…} (value of struct type P) as interface{Dbl() int} value in variable declaration: P does not implement interface{Dbl() int} (missing method Dbl)"},
		{"field of that name", []string{typ}, "", "func (p P) X() {}", "field and method with the same name X"},
		{"twice", []string{typ}, "", "func (p P) A() {}\nfunc (p P) A() {}", "method P.A already declared"},
		{"pointer", []string{"type N *int"}, "", "func (n N) M() {}", "invalid receiver type N (pointer or interface type)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.cells...)
			if got := n.stream("stderr"); compiled && got != tt.notes {
				t.Errorf("got  %q\nwant %q", got, tt.notes)
			}
			if r := n.run(tt.fails); r.Err == nil || !strings.HasSuffix(r.Err.Value, tt.want) {
				t.Errorf("%s: got %v, want %q", tt.fails, r.Err, tt.want)
			}
		})
	}
}

// TestRefusedCellKeepsMethods leaves types as they were where the cell that declares them again is refused.
func TestRefusedCellKeepsMethods(t *testing.T) {
	n := newNotebook(t)
	n.ok("type P struct{ X int }\nfunc (p P) Dbl() int { return 2 * p.X }\nfunc (p P) String() string { return \"P\" }", "p := P{4}")
	for _, code := range []string{"type P struct{ X int }\nnope()", "type P struct{ X int }\nfunc (p P) Dbl() float64 { return 1 }\nnope()", "func (p P) Dbl() string { return nope }"} {
		n.run(code)
	}
	n.ok("var d interface{ Dbl() int } = p\nfmt.Println(p, p.Dbl(), d.Dbl())")
	if got := n.stream("stdout"); got != "P 8 8\n" {
		t.Errorf("got %q", got)
	}
}

// TestImportTakesName: a package that a cell imports takes the name of what an earlier cell declared, as a declaration would, and functions that
// use that go on as they were. A declaration takes it back.
func TestImportTakesName(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells []string
		want  string
	}{
		{"a function's", []string{"func path() string { return \"x\" }\nfunc use() string { return path() + \"!\" }",
			"import \"path\"\nfmt.Print(path.Base(\"/a/b\"), use())", "fmt.Print(path.Base(\"/c\"), use())"}, "bx!cx!"},
		{"a variable's, and back", []string{"path := \"x\"", "import \"path\"\nfmt.Print(path.Base(\"/a/b\"))", "fmt.Print(path.Base(\"/c\"))",
			"path := 3\nfmt.Print(path)"}, "bc3"},
		{"a type's", []string{"type path struct{ n int }\nfunc (p path) M() int { return p.n }\nv := path{3}",
			"import \"path\"\nfmt.Print(path.Base(\"/a/b\"), v.M())", "fmt.Print(path.Base(\"/c\"), v)"}, "b3c{3}"},
		{"a constant's, renamed", []string{"const sc = 3\nfunc f() int { return sc }",
			"import sc \"strconv\"\nfunc g() string { return sc.Itoa(f()) }\nfmt.Print(g())",
			"fmt.Print(sc.Itoa(1))"}, "31"},
		{"a function's, beside a new method", []string{
			"type T struct{ n int }\nfunc path() string { return \"x\" }\nfunc use() string { return path() + \"!\" }\nt := T{1}",
			"import \"path\"\nfunc (t T) Base() string { return path.Base(\"/a/b\") }\nfmt.Print(t.Base(), use())",
			"fmt.Print(use(), path.Base(\"/c\"), t.Base())"}, "bx!x!cb"},
		{"one that a method names", []string{"type T struct{}\nfunc (T) A() string { return path }\nvar path = \"p\"",
			"import \"path\"\nfunc (T) B() string { return path.Base(\"/a/b\") }\nfmt.Print(T{}.A(), T{}.B())"}, "pb"},
		{"a package's that a method names", []string{"import \"path\"\ntype T struct{}\nfunc (T) A() string { return path.Base(\"/x/y\") }",
			"path := \"p\"\nfunc (T) B() string { return path }\nfmt.Print(T{}.A(), T{}.B())"}, "yp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(c.cells...)
			if got := n.stream("stdout"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
