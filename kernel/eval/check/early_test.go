package check

import (
	"strings"
	"testing"
)

// TestEarly refuses what would see a variable that functions of the cell mention before it has its value. An error of "" tells what
// has to be accepted.
func TestEarly(t *testing.T) {
	const before, parts = "is used before it is declared", "declare the new ones with var"
	tests := []struct{ name, code, want string }{
		{"variable of an earlier cell", "println(n)\nn := 5\nfunc f() { println(n) }", "cell 2:1:9: n " + before},
		{"closure", "g := func() { println(n) }\nn := 5\nfunc f() { println(n) }\ng()", "cell 2:1:23: n " + before},
		{"right side", "a := n + 1\nn := 5\nfunc f() { println(a, n) }", "cell 2:1:6: n " + before},
		{"function", "println(f())\nn := 5\nfunc f() int { return g() }\nfunc g() int { return n }", "cell 2:1:9: f uses n, which is declared further down"},
		{"function of a var declaration", "var a = f()\nprintln(a)\nvar n = 5\nfunc f() int { return n }", "f uses n, which is declared further down"},
		{"method", "type T struct{}\nfunc (T) M() int { return n }\nprintln(T{}.M())\nn := 5", "M uses n, which is declared further down"},
		{"method of an earlier type", "func (P) M() int { return n }\nprintln(P{}.M())\nn := 5", "M uses n, which is declared further down"},
		{"argument", "func call(f func()) { f() }\ncall(func() { f() })\nn := 5\nfunc f() { println(n) }", "f uses n, which is declared further down"},
		{"goroutine", "go f()\nn := 5\nfunc f() { println(n) }", "f uses n, which is declared further down"},
		{"argument of a deferred call", "defer println(f())\nn := 5\nfunc f() int { return n }", "f uses n, which is declared further down"},
		{"init", "func init() { println(n) }\nprintln(1)\nn := 5", "n " + before},
		{"second declaration below", "a, e := 1, 2\np := &e\nb, e := 3, 4\nfunc f() { println(a, b) }\nprintln(p)", parts},
		{"second declaration stays", "a, e := 1, 2\np := &e\nb, e := 3, 4\nfunc f() { println(a) }\nprintln(p, b)", parts},
		{"first declaration stays", "e := 1\np := &e\nb, e := 3, 4\nfunc f() { println(b) }\nprintln(p)", parts},
		{"behind it", "n := 5\nfor range 2 { g := func() { n++ }; g() }\nfunc f() { println(n) }\nf()", ""},
		{"other meanings", "type T struct{ n int }\nfor n := range 2 { println(n, T{n: 1}.n) }\nfunc(n int) { println(n) }(1)\nn := 5\nfunc f() { println(n) }", ""},
		{"deferred", "defer f()\ndefer func() { f() }()\nn := 5\nfunc f() { println(n) }", ""},
		{"kept", "h := f\ng := func() { f() }\nn := 5\nfunc f() { println(n) }\ng()\nh()", ""},
		{"var declarations", "var a = n + 1\nvar n = 5\nfunc f() { println(a, n) }", ""},
		{"init behind it", "func init() { println(n) }\nn := 5\nprintln(1)", ""},
		{"second declaration of what nobody shares", "a, e := 1, 2\nprintln(e)\nb, e := 3, 4\nfunc f() { println(a) }\nprintln(e, b)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := session(t, "n := \"old\"\ntype P struct{}").Check("cell 2", tt.code)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}
