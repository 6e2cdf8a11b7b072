package eval_test

import (
	"fmt"
	"testing"
)

// TestCellsBesideGoroutines evaluates cells that declare variables, types and functions while goroutines of earlier cells run
// functions, closures and methods and use variables, and checks what these have computed. Under the race detector it shows that
// the interpreter compiles nothing that somebody reads, and that its table of variables stays where it is.
func TestCellsBesideGoroutines(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok(`type acc struct { mu sync.Mutex; sum, turns int }
func (a *acc) add(v int) { a.mu.Lock(); defer a.mu.Unlock(); a.sum += v; a.turns++ }
func square(n int) int { if n < 2 { return n }; return square(n-1) + 2*n - 1 }
type named interface { name() string }
func (a *acc) name() string { return "acc" }`,
		`var stop atomic.Bool
var wg sync.WaitGroup
accs := make([]*acc, 4)
base := 3
twice := func(n int) int { return n + n + base - 3 }`,
		`for i := range accs {
	accs[i] = &acc{}
	wg.Add(1)
	go func() {
		defer wg.Done()
		var who named = accs[i]
		for !stop.Load() {
			xs := []int{}
			for j := range 4 { xs = append(xs, square(j+1)) }
			for _, x := range xs { accs[i].add(twice(x)) }
			if who.name() != "acc" { panic("name") }
		}
	}()
}`)
	for i := range 60 {
		n.ok(fmt.Sprintf("v%d := %d\nw%d := map[string][]int{\"a\": {v%d}}", i, i, i, i),
			fmt.Sprintf("type t%d struct { a int; b []string }\nfunc (t t%d) sum() int { return t.a + square(%d) }", i, i, i%5),
			fmt.Sprintf("func f%d(x int) int { return x + t%d{a: x}.sum() + v%d }\nf%d(2)", i, i, i, i),
			fmt.Sprintf("g%d := func() int { return f%d(v%d) + len(w%d) }\ng%d()", i, i, i, i, i))
	}
	n.ok("stop.Store(true)\nwg.Wait()", `for _, a := range accs {
	if a.turns == 0 || a.turns % 4 != 0 || a.sum != a.turns / 4 * 60 { fmt.Println("wrong", a.turns, a.sum) }
}
fmt.Println("done")`)
	if got := n.stream("stdout"); got != "done\n" {
		t.Errorf("got %q, want done", got)
	}
	if got := n.stream("stderr"); got != "" {
		t.Errorf("on stderr got %q", got)
	}
}
