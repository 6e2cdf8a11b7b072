package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/kernel/eval"
)

// gate is a compiler that waits before each cell until the test lets it work.
type gate struct {
	t    *testing.T
	open string // the file that it waits for
}

// newGatedNotebook returns a notebook whose cells are compiled only once the gate is open, and whose compiler refuses texts that have a word.
func newGatedNotebook(t *testing.T, refuses string) (*notebook, *gate) {
	t.Helper()
	has := tools(t)
	if has == nil {
		t.Skip("cells cannot be compiled")
	}
	own, folder := *has, t.TempDir()
	g := &gate{t, filepath.Join(folder, "open")}
	own.Cache, own.Compile = filepath.Join(folder, "cells"), filepath.Join(folder, "compile")
	script := "#!/bin/sh\nwhile ! [ -e " + g.open + " ]; do sleep 0.01; done\n"
	if refuses != "" {
		script += "for f in \"$@\"; do case $f in */cell.go) if grep -q " + refuses + " $f; then echo \"$f:1: " + refuses + " is refused\"; exit 1; fi;; esac; done\n"
	}
	if err := os.WriteFile(own.Compile, []byte(script+"exec "+has.Compile+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return newConfiguredNotebook(t, eval.Config{Slow: time.Hour, Native: &own}), g
}

func (g *gate) lift() {
	if err := os.WriteFile(g.open, nil, 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// unique makes a cell's text one that this process has not loaded.
func unique(code string) string { return fmt.Sprintf("%s // %d", code, time.Now().UnixNano()) }

// TestDeclarationsNeedNoCompiler: cells that only declare, and those whose functions are plainly short, end before they are compiled, and
// so do cells that mention nothing of them. The first cell that does waits, and finds them compiled.
func TestDeclarationsNeedNoCompiler(t *testing.T) {
	n, g := newGatedNotebook(t, "")
	n.ok(
		unique("type point struct{ X, y int }\nfunc (p point) Sum() int { return p.X + p.y }\nfunc origin() point { return point{} }"),
		unique("func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }"),
		unique("base := 40\nfunc add(x int) int { return base + x }\nfunc twice(x int) int { s := 0; for range 2 { s += add(x) }; return s }\nfmt.Println(twice(1), add(2))"),
		"fmt.Println(base * 2)",
	)
	if got := n.stream("stdout"); got != "82 42\n80\n" {
		t.Errorf("without the compiler got %q", got)
	}
	waits := n.begin(false, "base = 1\nfmt.Println(twice(1), fib(20), point{1, 2}.Sum(), origin())\nfmt.Printf(\"%T\\n\", origin())")
	select {
	case r := <-waits:
		t.Fatalf("a cell that needs what is not compiled has ended: %+v", r)
	case <-time.After(200 * time.Millisecond):
	}
	g.lift()
	if r := n.ended(waits); r.Err != nil {
		t.Fatal(r.Err.Traceback)
	}
	if got, want := n.stream("stdout"), "82 42\n80\n4 6765 3 {0 0}\nmain.point\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := n.stream("stderr"); got != "" {
		t.Errorf("on stderr got %q", got)
	}
}

// TestWhatIsSlowWaits: a function that loops, calls itself or is handed on is compiled before the cell's statements call it.
func TestWhatIsSlowWaits(t *testing.T) {
	for name, code := range map[string]string{
		"recursion": "func r(n int) int { if n == 0 { return 0 }; return 1 + r(n-1) }\nfmt.Println(r(3))",
		"loop":      "func l(n int) (s int) { for i := 0; i < n; i++ { s++ }; return }\nfmt.Println(l(3))",
		"value":     "func v(n int) int { return n }\nw := v\nfmt.Println(w(3))",
		"literal":   "func m() func() int { return func() int { return 3 } }\nfmt.Println(m()())",
		"many": "func a0() int { return 3 }\n" + func() (s string) {
			for i := range 14 {
				s += fmt.Sprintf("func a%d() int { return a%d() + a%[2]d() - 3 }\n", i+1, i)
			}
			return
		}() + "fmt.Println(a14())",
		"type": "type q int\nfunc (x q) get() int { return int(x) }\nfmt.Println(q(3).get())",
	} {
		n, g := newGatedNotebook(t, "")
		waits := n.begin(false, unique(code))
		select {
		case r := <-waits:
			t.Errorf("%s: the cell has ended: %+v", name, r)
			continue
		case <-time.After(100 * time.Millisecond):
		}
		g.lift()
		if r := n.ended(waits); r.Err != nil || n.stream("stdout") != "3\n" {
			t.Errorf("%s: got %q, %+v", name, n.stream("stdout"), r.Err)
		}
	}
}

// TestRedeclaredWhileCompiled: a function that is declared anew takes the place of the old one for whoever calls it next, though it
// is not compiled yet.
func TestRedeclaredWhileCompiled(t *testing.T) {
	n, g := newGatedNotebook(t, "")
	g.lift()
	n.ok(unique("func rate() int { return 1 }"), unique("func price(x int) int { return x * rate() }"), "f := price\nfmt.Println(price(7), f(7))")
	if err := os.Remove(g.open); err != nil {
		t.Fatal(err)
	}
	n.ok(unique("func rate() int { return 2 }"))
	waits := n.begin(false, "fmt.Println(f(7))")
	g.lift()
	if r := n.ended(waits); r.Err != nil {
		t.Fatal(r.Err.Traceback)
	}
	n.ok(unique("func rate() int { return 3 }"), unique("func rate() int { return 4 }"), "fmt.Println(price(7), rate())")
	if got, want := n.stream("stdout"), "7 7\n14\n28 4\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRenewedWhileItRuns: a cell that renews a function and calls it is interpreted, unless it calls code of earlier cells, which may call
// that function in turn.
func TestRenewedWhileItRuns(t *testing.T) {
	n, g := newGatedNotebook(t, "")
	g.lift()
	n.ok(unique("func step() int { return 1 }"), unique("func walk() int { return 10 * step() }"), "call := walk\nbase := []int{7}",
		"http.HandleFunc(\"/walk\", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, walk()) })\nwalk()")
	if err := os.Remove(g.open); err != nil {
		t.Fatal(err)
	}
	n.ok(unique("func step() int { return 2 + base[0] }\nfmt.Println(step())"))
	if got := n.stream("stdout"); got != "9\n" {
		t.Errorf("without the compiler got %q", got)
	}
	for i, code := range []string{
		"func step() int { return 3 }\nfmt.Println(walk())",
		"func step() int { return 4 }\nfmt.Println(call())",
		"func step() int { return 5 }\nrec := httptest.NewRecorder()\nhttp.DefaultServeMux.ServeHTTP(rec, httptest.NewRequest(\"GET\", \"/walk\", nil))\nfmt.Println(rec.Body)",
	} {
		waits := n.begin(false, unique(code))
		select {
		case r := <-waits:
			t.Fatalf("%s: the cell has ended: %+v", code, r)
		case <-time.After(100 * time.Millisecond):
		}
		g.lift()
		if r := n.ended(waits); r.Err != nil {
			t.Fatal(r.Err.Traceback)
		}
		if got, want := lastLine(n.stream("stdout")), fmt.Sprint(10*(i+3)); got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
		if err := os.Remove(g.open); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.stream("stderr"); got != "" {
		t.Errorf("on stderr got %q", got)
	}
}

// TestLeftRunningWhileCompiled: goroutines of a cell whose functions were interpreted call the compiled ones, and those that take their
// place.
func TestLeftRunningWhileCompiled(t *testing.T) {
	n, g := newGatedNotebook(t, "")
	n.ok(unique("func rate(x int) int { return x }\nfunc price() int { return 10 * rate(1) }\nask, answer := make(chan bool), make(chan int)\nfor range 2 { go func() { <-ask; answer <- price() }() }"),
		"ask <- true\nfmt.Println(<-answer)")
	if got := n.stream("stdout"); got != "10\n" {
		t.Errorf("without the compiler got %q", got)
	}
	g.lift()
	n.ok(unique("func rate(x int) int { return x + 1 }"), "ask <- true\nfmt.Println(<-answer, price())")
	if got := lastLine(n.stream("stdout")); got != "20 20" {
		t.Errorf("got %q, want 20 20", got)
	}
	if got := n.stream("stderr"); got != "" {
		t.Errorf("on stderr got %q", got)
	}
}

// TestInterruptWhileCompiled: an interrupt ends a cell that waits for the compiler, and not what that is at.
func TestInterruptWhileCompiled(t *testing.T) {
	n, g := newGatedNotebook(t, "")
	n.ok(unique("func seven() int { for { return 7 } }"))
	waits := n.begin(false, "seven()")
	select {
	case r := <-waits:
		t.Fatalf("the cell has ended: %+v", r)
	case <-time.After(100 * time.Millisecond):
	}
	n.program.Interrupt()
	if r := n.ended(waits); r.Err == nil || r.Err.Name != "interrupted" {
		t.Errorf("got %+v, want it interrupted", r)
	}
	g.lift()
	n.ok("fmt.Println(seven())")
	if got := n.stream("stdout"); got != "7\n" {
		t.Errorf("got %q", got)
	}
}

// TestRefusedWhileCompiled: what the compiler refuses is interpreted, where it can be; where it cannot, the next cell is told, and those
// that mention it fail until it is declared again.
func TestRefusedWhileCompiled(t *testing.T) {
	n, g := newGatedNotebook(t, "refuseᐧme")
	g.lift()
	n.ok(unique("func plain() int { const refuseᐧme = 5; return refuseᐧme }"), "fmt.Println(plain())")
	if got := n.stream("stdout"); got != "5\n" {
		t.Errorf("interpreted instead: got %q", got)
	}
	n, g = newGatedNotebook(t, "refuseᐧme")
	g.lift()
	n.ok(unique("import \"unsafe\"\nfunc odd(p *int) int { const refuseᐧme = 5; return *(*int)(unsafe.Add(unsafe.Pointer(p), refuseᐧme-5)) }"))
	r := n.run("x := 3\nodd(&x)")
	if r.Err == nil || !strings.Contains(r.Err.Value, "cell 1") || !strings.Contains(r.Err.Value, "odd") || !strings.Contains(r.Err.Value, "refuseᐧme is refused") {
		t.Errorf("got %+v, want what was refused and where", r.Err)
	}
	n.ok("y := 4", unique("func odd(p *int) int { return *p }"), "fmt.Println(odd(&y))")
	if got := n.stream("stdout"); got != "4\n" {
		t.Errorf("declared again: got %q", got)
	}
}

// TestCloseWhileCompiled: the end of the program stops the compiler and waits for it.
func TestCloseWhileCompiled(t *testing.T) {
	n, _ := newGatedNotebook(t, "")
	n.ok(unique("func never() int { return 7 }"), unique("func nor() int { return 7 }"))
	closed := make(chan struct{})
	go func() { n.program.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Error("Close does not return")
	}
}
