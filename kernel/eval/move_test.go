package eval_test

import (
	"strings"
	"testing"
)

// TestMove declares functions anew: who called the old one calls the new one, however it came by it.
func TestMove(t *testing.T) {
	longCompiled(t)
	tests := []struct {
		name   string
		cells  []string
		stdout string // of the last cell
		stderr string // of all
	}{
		{"caller of an earlier cell", []string{"func f() int { return 1 }", "func g() int { return f() * 10 }", "func f() int { return 2 }", "fmt.Println(f(), g())"}, "2 20\n", ""},
		{"caller of the same cell", []string{"func f() int { return 1 }\nfunc g() int { return f() * 10 }", "func f() int { return 2 }", "fmt.Println(g())"}, "20\n", ""},
		{"twice", []string{"func f() int { return 1 }\nfunc g() int { return f() * 10 }", "func f() int { return 2 }", "func h() int { return f() }\nfunc f() int { return 3 }", "fmt.Println(g(), h())"}, "30 3\n", ""},
		{"closure", []string{"func f() int { return 1 }", "g := func() int { return f() * 10 }", "func f() int { return 2 }", "fmt.Println(g())"}, "20\n", ""},
		{"value", []string{"func f(a, b int) (int, string) { return a + b, \"old\" }", "v := f\nlist := []func(int, int) (int, string){f}", "func f(a, b int) (int, string) { return a * b, \"new\" }", "fmt.Println(v(3, 4))\nfmt.Println(list[0](5, 6))"}, "12 new\n30 new\n", ""},
		{"variadic", []string{"func f(sep string, xs ...string) string { return \"old\" }", "func g(xs ...string) string { return f(\"-\", xs...) }", "func f(sep string, xs ...string) string { return strings.Join(xs, sep) }", "fmt.Println(g(\"a\", \"b\"), g())"}, "a-b \n", ""},
		{"recursion", []string{"func f(n int) int { if n == 0 { return 0 }; return 1 + f(n-1) }\nfunc g(n int) int { return f(n) }", "func f(n int) int { if n == 0 { return 100 }; return 2 + f(n-1) }", "fmt.Println(g(3))"}, "106\n", ""},
		{"no result", []string{"var log []string\nfunc f(s string) { log = append(log, \"old \"+s) }\nfunc g() { f(\"a\") }", "func f(s string) { log = append(log, \"new \"+s) }", "g()\nfmt.Println(log)"}, "[new a]\n", ""},
		{"recover", []string{"func f() { if r := recover(); r != nil { fmt.Println(\"old\", r) } }\nfunc g() { defer f(); panic(1) }", "func f() { if r := recover(); r != nil { fmt.Println(\"new\", r) } }", "g()"}, "new 1\n", ""},
		{"generic", []string{"func f[T any](x T) string { return \"old\" }\nfunc g() string { return f(1) + f(\"s\") }", "func f[T any](x T) string { return fmt.Sprintf(\"%T\", x) }", "fmt.Println(g())"}, "intstring\n", ""},
		{"method", []string{"type T struct{ n int }\nfunc (t T) M() int { return t.n }\nfunc (t *T) P() { t.n++ }\nfunc g(t T) int { t.P(); return t.M() }", "func (t T) M() int { return -t.n }\nfunc (t *T) P() { t.n += 10 }", "fmt.Println(g(T{1}), T.M(T{2}))"}, "-11 -2\n", ""},
		{"method value", []string{"type T struct{ n int }\nfunc (t T) M() int { return t.n }\nm := T{3}.M", "func (t T) M() int { return -t.n }", "fmt.Println(m())"}, "-3\n", ""},
		{"goroutine", []string{"func f(n int) int { return n }\nask, answer := make(chan int), make(chan int)\ngo func() { for n := range ask { answer <- f(n) } }()", "func f(n int) int { return n * n }", "ask <- 5\nfmt.Println(<-answer)\nclose(ask)"}, "25\n", ""},
		{"other signature", []string{"func f() int { return 1 }", "func g() int { return f() * 10 }\nfunc h() int { return f() }", "func f(n int) int { return n }", "fmt.Println(f(7), g(), h())"}, "7 10 1\n",
			"note: functions of earlier cells that call f keep the old one, since its signature changed: g (cell 2), h (cell 2)\n"},
		{"other signature without callers", []string{"func f() int { return 1 }\nf()", "func f(n int) int { return n }", "fmt.Println(f(7))"}, "7\n", ""},
		{"a variable of that name", []string{"func f() int { return 1 }\nfunc g() int { return f() }", "f := 3", "fmt.Println(f, g())"}, "3 1\n",
			"note: functions of earlier cells that call f keep the old one, since its signature changed: g (cell 1)\n"},
	}
	if tools(t) != nil { // what compiled callers keep, they say
		kept := "note: functions of earlier cells that call f keep the old one, since "
		for i, tt := range tests {
			switch tt.name {
			case "recover":
				tests[i].stdout, tests[i].stderr = "old 1\n", kept+"the new one calls recover, which only a deferred function itself can: g (cell 1)\n"
			case "generic":
				tests[i].stdout, tests[i].stderr = "oldold\n", kept+"it is generic: g (cell 1)\n"
			}
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.cells[:len(tt.cells)-1]...)
			before := n.stream("stdout")
			n.ok(tt.cells[len(tt.cells)-1])
			if got := strings.TrimPrefix(n.stream("stdout"), before); got != tt.stdout {
				t.Errorf("got %q, want %q", got, tt.stdout)
			}
			if got := n.stream("stderr"); got != tt.stderr {
				t.Errorf("on stderr got %q, want %q", got, tt.stderr)
			}
		})
	}
}

// TestRefusedCellMovesNothing keeps the callers of a function that a refused cell declares anew.
func TestRefusedCellMovesNothing(t *testing.T) {
	n := newNotebook(t)
	n.ok("func f() int { return 1 }\nfunc g() int { return f() }")
	n.run("func f() int { return 2 }\nnope()")
	n.ok("fmt.Println(g())")
	if got := n.stream("stdout"); got != "1\n" {
		t.Errorf("got %q, want 1", got)
	}
}
