package eval_test

import (
	"strings"
	"testing"
	"time"

	"cancha/kernel/eval"
)

// TestStoppedNote: a note names the functions that use what a cell has not come to declare.
func TestStoppedNote(t *testing.T) {
	once(t)
	n := newNotebook(t)
	if r := n.run("type T struct{}\nfunc (T) M() int { return zz }\nfunc f() int { return zz }\nfunc g() int { return yy }\nvar yy = 1\npanic(1)\nvar zz = 5"); r.Err == nil {
		t.Fatal("the cell did not fail")
	}
	if got, want := n.stream("stderr"), "zz has no value yet where T.M, f uses it"; !strings.Contains(got, want) || strings.Contains(got, "yy has") {
		t.Errorf("got %q, want %q", got, want)
	}
	n.ok("zz := 7", "fmt.Print(f(), T{}.M(), g())")
	if got := n.stream("stdout"); got != "7 7 1" {
		t.Errorf("got %q, want 7 7 1", got)
	}
}

// TestStoppedCell: what a cell has not come to declare has no meaning; what it has declared before it ended stays.
func TestStoppedCell(t *testing.T) {
	longCompiled(t)
	for _, c := range []struct {
		name, before, code, use string
		want                    string // of use: its output, or how its error ends
	}{
		{"a panic", "", "a := 1\nvar m map[string]int\nm[\"k\"] = 1\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"what was declared", "", "a := 1\nvar m map[string]int\nm[\"k\"] = 1\nzz := 5", "fmt.Print(a, m == nil)", "1 true"},
		{"on one line", "", "var m map[string]int; m[\"k\"] = 1; zz, yy := 5, []int{1, 2}", "yy", "undefined: yy (cell 2 ended before it declared it)"},
		{"what was declared on that line", "", "a := 1; var m map[string]int; m[\"k\"] = 1; zz := 5", "fmt.Print(a)", "1"},
		{"the declaration itself", "", "a := 1\nzz := must(strconv.Atoi(\"x\"))", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"the declaration itself, of several lines", "", "a := 1\nzz := []int{\n\ta,\n\t[]int{}[a],\n}\nb := 2", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"in a function", "func f() int { panic(\"no\") }", "a := f()\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"in a function of the cell", "", "func f(n int) int {\n\tif n == 0 {\n\t\tpanic(\"no\")\n\t}\n\treturn f(n - 1)\n}\na := 1\n_ = f(3)\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"one that a function of the cell mentions", "", "func f() int { return zz }\npanic(\"no\")\nvar zz = 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"a variable in front of functions", "", "var zz = 5\nfunc f() int { return zz }\npanic(\"no\")", "fmt.Print(zz, f())", "5 5"},
		{"a function that uses it, afterwards", "", "func f() int { return zz * 2 }\npanic(\"no\")\nvar zz = 5", "zz := 20\nfmt.Print(f())", "40"},
		{"a method that uses it, afterwards", "", "type T struct{}\nfunc (T) M() int { zz++; return zz }\npanic(\"no\")\nvar zz = 5", "zz := 20\nfmt.Print(T{}.M(), zz)", "21 21"},
		{"a function that uses it, with another type", "", "func f() int { return zz * 2 }\npanic(\"no\")\nvar zz = 5", "zz := \"s\"\nfmt.Print(zz, f())", "s0"},
		{"in a deferred call", "", "defer func() { panic(\"no\") }()\nzz := []int{1}\nyy := 2", "fmt.Print(zz, yy)", "[1] 2"},
		{"in a deferred function", "func f() { panic(\"no\") }", "defer f()\nzz := []int{1}", "fmt.Print(zz)", "[1]"},
		{"in a deferred call, behind a panic", "", "defer func() { panic(recover()) }()\na := 1\npanic(a)\nzz := []int{1}", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"zero behind a deferred call that fails", "", "defer func() { panic(\"no\") }()\nzz := 0", "fmt.Print(zz)", "0"},
		{"in a group", "", "var (\n\ta = 1\n\tzz = must(strconv.Atoi(\"q\"))\n)", "fmt.Print(a)", "1"},
		{"behind in a group", "", "var (\n\ta = must(strconv.Atoi(\"q\"))\n\tzz = 1\n)", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"in a loop", "", "a := 0\nfor {\n\ta++\n\tif a > 3 {\n\t\tpanic(a)\n\t}\n}\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"compiled", "", "type T struct{ n int }\na := T{1}\npanic(a)\nzz := T{5}", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"what was declared, compiled", "", "type T struct{ n int }\na := T{1}\npanic(a)\nzz := T{5}", "fmt.Print(a, T{2})", "{1} {2}"},
		{"one of that type was there", "zz := 7", "panic(1)\nzz := 5", "fmt.Print(zz)", "7"},
		{"one of another type was there", "zz := \"s\"", "panic(1)\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"behind a magic", "", "%cd /no/such/folder\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"in front of a magic", "", "panic(1)\n%pwd\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"the last value", "", "zz := 5\nerrors.New(\"no\")", "fmt.Print(zz)", "5"},
		{"os.Exit", "", "a := 1\nos.Exit(3)\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"what was declared before os.Exit", "", "a := 1\nos.Exit(3)\nzz := 5", "fmt.Print(a)", "1"},
		{"os.Exit in the declaration", "", "zz := func() int { os.Exit(3); return 1 }()", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"os.Exit in a function", "func f() int { os.Exit(3); return 1 }", "a := 1\na = f()\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"os.Exit in a library's call", "", "a := 1\nslices.SortFunc([]int{2, a}, func(x, y int) int { os.Exit(3); return x - y })\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"os.Exit on a goroutine", "", "a := 1\ngo os.Exit(3)\nselect {}\nzz := a", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"log.Fatal", "", "a := 1\nlog.Fatal(a)\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"Goexit", "", "a := 1\nruntime.Goexit()\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"what was declared before Goexit", "", "a := 1\nruntime.Goexit()\nzz := 5", "fmt.Print(a)", "1"},
		{"recursion without end", "func f(n int) int { return f(n+1) + 1 }", "a := 1\na = f(a)\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"its own names stay", "", "func f() int { return 1 }\npanic(1)\nzz := 5", "fmt.Print(f())", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newConfiguredNotebook(t, eval.Config{Slow: time.Hour, MaxStack: 64 << 20})
			n.ok(c.before)
			if r := n.run(c.code); r.Err == nil {
				t.Fatal("the cell did not fail")
			}
			n.meets(t, c.use, c.want)
		})
	}
}

// TestLeftCell: so it is where a cell ends early without an error.
func TestLeftCell(t *testing.T) {
	for _, c := range []struct {
		name, code, use string
		want            string // as above
	}{
		{"by return", "v := 1\nif v > 0 {\n\treturn\n}\nzz := v + 10", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"what was declared before a return", "v := 1\nif v > 0 {\n\treturn\n}\nzz := v + 10", "fmt.Print(v)", "1"},
		{"no return after all", "v := 1\nif v > 1 {\n\treturn\n}\nzz, yy := 0, v-1\nvar xx int", "fmt.Print(zz, yy, xx)", "0 0 0"},
		{"by return on one line", "v := 1; if v > 0 { return }; zz := v + 10", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"by return in a loop", "for i := range 5 {\n\tif i == 3 {\n\t\treturn\n\t}\n}\nzz := 1", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"by return, a function that uses it, afterwards",
			"func f() int { return zz * 2 }\nif len(os.Args) > 0 {\n\treturn\n}\nvar zz = 5", "zz := 20\nfmt.Print(f())", "40"},
		{"by return, compiled", "type T struct{ n int }\na := T{1}\nif a.n == 1 {\n\treturn\n}\nzz := T{5}", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"by return behind a magic", "%cd .\na := 1\nif a == 1 {\n\treturn\n}\nzz := 5", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"what was declared in front of a magic", "yy := 0\n%cd .\na := 1\nif a == 1 {\n\treturn\n}\nzz := 5", "fmt.Print(yy, a)", "0 1"},
		{"a recovered panic", "defer func() { recover() }()\na := 0\npanic(1)\nzz := 2", "zz", "undefined: zz (cell 2 ended before it declared it)"},
		{"what was declared before a recovered panic", "defer func() { recover() }()\na := 0\npanic(1)\nzz := 2", "fmt.Print(a)", "0"},
		{"a recovered panic in the declaration", "defer func() { recover() }()\na, zz := 0, must(strconv.Atoi(\"q\"))", "a", "undefined: a (cell 2 ended before it declared it)"},
		{"a recovered panic in a group", "defer func() { recover() }()\nvar (\n\ta = 1\n\tzz = must(strconv.Atoi(\"q\"))\n)", "fmt.Print(a)", "1"},
		{"no panic to recover", "defer func() { recover() }()\nzz := 0", "fmt.Print(zz)", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newConfiguredNotebook(t, eval.Config{Slow: time.Hour})
			n.ok("", c.code)
			n.meets(t, c.use, c.want)
		})
	}
}

// meets checks what the use of a variable gives: its output, or how its error ends. It can then be declared again.
func (n *notebook) meets(t *testing.T, use, want string) {
	t.Helper()
	n.forget()
	r := n.run(use)
	if r.Err == nil {
		if got := n.stream("stdout"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		return
	}
	if !strings.HasSuffix(r.Err.Value, want) {
		t.Errorf("got %q, want %q", r.Err.Value, want)
	}
	if n.ok("zz := []string{\"again\"}", "fmt.Print(zz)"); !strings.HasSuffix(n.stream("stdout"), "[again]") {
		t.Errorf("declared after that: got %q", n.stream("stdout"))
	}
}
