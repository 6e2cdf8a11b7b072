package alloctest

import (
	"strings"
	"testing"
)

var kept [][]byte // so that nothing is left out or put on the stack

func small(n int) {
	for range n {
		kept = append(kept[:0], make([]byte, 100))
	}
}

func large() { kept = append(kept, make([]byte, 1<<20)) }

func TestLargest(t *testing.T) {
	large() // not in it
	size, where := Largest(func() { small(1000); large() })
	if size != 1<<20 || !strings.Contains(where, "alloctest.large:") {
		t.Errorf("got %d bytes by%s, want 1 MB by large", size, where)
	}
	if size, where := Largest(func() { small(1000) }); size > 16<<10 {
		t.Errorf("got %d bytes by%s, want a few at a time", size, where)
	}
}

// TestBounded: many small allocations pass, a large one fails.
func TestBounded(t *testing.T) {
	Bounded(t, 10, func() { small(100_000) })
	failing := &failures{TB: t}
	Bounded(failing, 10, large)
	Bounded(failing, 1<<20, large)
	if failing.n != 1 {
		t.Errorf("got %d failures, want one", failing.n)
	}
}

type failures struct {
	testing.TB
	n int
}

func (f *failures) Errorf(string, ...any) { f.n++ }
