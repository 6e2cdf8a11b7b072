package cellio

import (
	"fmt"
	"testing"
)

func TestAtEnd(t *testing.T) {
	var got []string
	note := func(s string) func() { return func() { got = append(got, s) } }
	r := NewRun(1)
	r.Do(func() {
		AtEnd(note("a"))
		cancel := AtEnd(note("b"))
		AtEnd(func() { AtEnd(note("from the end")); got = append(got, "c") })
		cancel()
		cancel()
	})
	if len(got) != 0 {
		t.Errorf("called before the end: %v", got)
	}
	r.End()
	r.End()
	r.Do(func() { AtEnd(note("late")) })
	r.End()
	if want := "[a c]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestAtEndIsInItsRun: a handler's end beside a cell sends as the handler.
func TestAtEndIsInItsRun(t *testing.T) {
	NewRun(1)
	aside := NewAside(2)
	var got *Run
	aside.Do(func() { AtEnd(func() { got = CurrentRun() }) })
	aside.End()
	if got != aside {
		t.Errorf("the ending was called in %+v, want the run of 2", got)
	}
}
