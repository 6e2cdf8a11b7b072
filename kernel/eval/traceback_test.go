package eval_test

import (
	"strings"
	"testing"
)

// TestTraceback names the functions of the cells that a panic has left and the lines that they were at.
func TestTraceback(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("without lines: see raceEnabled")
	}
	tests := []struct{ name, first, code, want string }{
		{"statement", "x := []int{1}", "fmt.Println(\"a\")\n\n\tx[3] = 1\nx = nil",
			"panic: runtime error: index out of range [3] with length 1\n    at cell 2:3\n    3 | \tx[3] = 1\n      | \t^"},
		{"function", "func f(xs []int) int {\n\tn := len(xs)\n\tn++\n\treturn xs[n]\n}", "y := 1\nf(nil)",
			"panic: runtime error: index out of range [1] with length 0\n    in f (cell 1:4)\n    at cell 2:2\n    4 | \treturn xs[n]\n      | \t^"},
		{"functions", "func f(m map[string]int) {\n\tm[\"a\"] = 1\n}\nfunc g() {\n\tfmt.Sprint(1)\n\tf(nil)\n\tfmt.Sprint(2)\n}", "g()",
			"panic: assignment to entry in nil map\n    in f (cell 1:2)\n    in g (cell 1:6)\n    at cell 2:1\n    2 | \tm[\"a\"] = 1\n      | \t^"},
		{"method", "type T struct{ p *int }\nfunc (t *T) Get() int {\n\tif t != nil {\n\t\treturn *t.p\n\t}\n\treturn 0\n}", "(&T{}).Get()",
			"panic: runtime error: invalid memory address or nil pointer dereference\n    in T.Get (cell 1:4)\n    at cell 2:1\n    4 | \t\treturn *t.p\n      | \t\t^"},
		{"loop", "func f(xs []int) (s int) {\n\tfor i := 0; i <= len(xs); i++ {\n\t\ts += i\n\t\ts += xs[i]\n\t}\n\treturn\n}", "f([]int{1, 2})",
			"panic: runtime error: index out of range [2] with length 2\n    in f (cell 1:4)\n    at cell 2:1\n    4 | \t\ts += xs[i]\n      | \t\t^"},
		{"head of a loop", "func f(xs []int) (s int) {\n\tfor i := 0; xs[i] > 0; i++ {\n\t\tif s == 100 {\n\t\t\tcontinue\n\t\t}\n\t\ts += xs[i]\n\t}\n\treturn\n}", "f([]int{1, 2})",
			"panic: runtime error: index out of range [2] with length 2\n    in f (cell 1:2)\n    at cell 2:1\n    2 | \tfor i := 0; xs[i] > 0; i++ {\n      | \t^"},
		{"literal", "func each(n int, f func(int)) {\n\tfor i := range n {\n\t\tf(i)\n\t}\n}", "each(3, func(i int) {\n\tif i == 2 {\n\t\tpanic(fmt.Errorf(\"no %d\", i))\n\t}\n})",
			"panic: no 2\n    at cell 2:3\n    in each (cell 1:3)\n    at cell 2:3\n    3 | \t\tpanic(fmt.Errorf(\"no %d\", i))\n      | \t\t^"},
		{"else if", "func f(a, b []int) {\n\tif len(a) > 0 {\n\t} else if b[0] > 0 {\n\t}\n}", "f(nil, nil)",
			"panic: runtime error: index out of range [0] with length 0\n    in f (cell 1:3)\n    at cell 2:1\n    3 | \t} else if b[0] > 0 {\n      | \t^"},
		{"recursion", "func f(n int) int {\n\tif n == 0 {\n\t\tpanic(\"bottom\")\n\t}\n\treturn f(n-1) + 1\n}", "f(50)",
			"panic: bottom\n    in f (cell 1:3)\n    at cell 2:1\n    3 | \t\tpanic(\"bottom\")\n      | \t\t^"},
		{"library", "func f(xs []string) {\n\tslices.SortFunc(xs, func(a, b string) int {\n\t\tpanic(\"in \" + a)\n\t})\n}", "f([]string{\"b\", \"a\"})",
			"panic: in a\n    in f (cell 1:3)\n    at cell 2:1\n    3 | \t\tpanic(\"in \" + a)\n      | \t\t^"},
		{"deferred", "func f() {\n\tdefer func() {\n\t\tfmt.Sprint(1)\n\t}()\n\tvar p *int\n\t*p = 1\n}", "f()",
			"panic: runtime error: invalid memory address or nil pointer dereference\n    in f (cell 1:6)\n    at cell 2:1\n    6 | \t*p = 1\n      | \t^"},
		{"grid", "func f(g [][]int, n int) int {\n\ts := 0\n\tfor i := range g {\n\t\ts += g[i][n]\n\t}\n\treturn s\n}", "f([][]int{{1, 2}, {1}}, 1)",
			"panic: runtime error: index out of range [1] with length 1\n    in f (cell 1:4)\n    at cell 2:1\n    4 | \t\ts += g[i][n]\n      | \t\t^"},
		{"division", "func f(a, b int) int {\n\tc := a\n\tc /= b\n\treturn c\n}", "f(1, 0)",
			"panic: runtime error: integer divide by zero\n    in f (cell 1:3)\n    at cell 2:1\n    3 | \tc /= b\n      | \t^"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok(tt.first)
			r := n.run(tt.code)
			if r.Err == nil {
				t.Fatal("got no error")
			}
			if got := strings.Join(r.Err.Traceback, "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestTracebackOfGoroutine looks like that of a cell, under the cell that started the goroutine, which may have ended.
func TestTracebackOfGoroutine(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("without lines: see raceEnabled")
	}
	n := newNotebook(t)
	n.ok("func work(xs []int) {\n\tfor i := range 3 {\n\t\txs[i]++\n\t}\n}", "start := make(chan bool)\ngo func() {\n\t<-start\n\twork(nil)\n}()", "close(start)")
	n.await("stderr", "      | \t\t^\n")
	n.ok("go work(nil)\nfor range 1000 {\n\tfmt.Sprint(1)\n}")
	n.await("stderr", "at cell 4:1\n")
	want := "panic in goroutine: runtime error: index out of range [0] with length 0\n    in work (cell 1:3)\n    at cell 2:4\n    3 | \t\txs[i]++\n      | \t\t^\n"
	if got := n.stream("stderr"); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPanicText: a panic's value is shown as Go prints it.
func TestPanicText(t *testing.T) {
	n := newNotebook(t)
	n.ok("type Celsius float64; type Name string; type On bool; type Phase complex64; type Level int; type Wrong int",
		"func (l Level) String() string { return fmt.Sprint(\"level \", int(l)) }\nfunc (w Wrong) Error() string { return \"wrong\" }")
	for code, want := range map[string]string{
		"Celsius(21.5)": "main.Celsius(21.5)", `Name("a\nb")`: "main.Name(\"a\nb\")", "On(true)": "main.On(true)", "Phase(1+2i)": "main.Phase(1+2i)",
		"Level(3)": "level 3", "Wrong(1)": "wrong", "21.5": "21.5", "1+2i": "(1+2i)", "'x'": "120", `"a"`: "a", "[]int{1}": "[1]",
	} {
		if r := n.run("panic(" + code + ")"); r.Err == nil || r.Err.Value != want {
			t.Errorf("%s: got %v, want %s", code, r.Err, want)
		}
	}
}
