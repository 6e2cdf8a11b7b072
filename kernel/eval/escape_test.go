package eval_test

import (
	"strings"
	"testing"
	"time"
)

// TestMovedFunctionsGetNoStack: a function that runs while another cell declares anew what it calls goes on with the old one, where it
// hands over the address of a variable on its stack, and says so. Called again it sees the new one, which may keep that.
func TestMovedFunctionsGetNoStack(t *testing.T) {
	if tools(t) == nil {
		t.Skip("interpreted cells keep all variables on the heap")
	}
	n := newNotebook(t)
	n.ok(`type point struct { x, y int }
var stop atomic.Bool
var kept []*point
done := make(chan bool)
func step(p *point) { p.x++ }
func worker() {
	var w point
	for !stop.Load() { step(&w); runtime.Gosched() }
	done <- w.x > 0
}
go worker()`,
		`func step(p *point) { if len(kept) < 100 { kept = append(kept, p) }; p.x++; p.y = 7 }`)
	deadline := time.Now().Add(10 * time.Second)
	for !strings.Contains(n.stream("stderr"), "before step was declared anew goes on with the old one") {
		if time.Now().After(deadline) {
			t.Fatalf("there is no note: %s", n.stream("stderr"))
		}
		time.Sleep(time.Millisecond) // polls; how long does not matter
	}
	n.ok(`stop.Store(true)
fmt.Println(<-done, len(kept))`,
		`stop.Store(false)
later := func() bool { var w point; step(&w); return w.y == 7 }
fmt.Println(later())
go worker()`,
		`for len(kept) < 50 { runtime.Gosched() }
stop.Store(true)
fmt.Println(<-done, kept[49].y)`)
	if got, want := n.stream("stdout"), "true 0\ntrue\ntrue 7\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
