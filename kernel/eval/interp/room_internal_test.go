package interp

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"cancha/kernel/eval/lower"
)

// TestRoomsGo runs the statements of many cells: the engine forgets the stop variables of rooms that are gone, and sets those of the
// rooms that are left.
func TestRoomsGo(t *testing.T) {
	e, err := New(nil, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 * bodies {
		name := fmt.Sprintf("cell%d", n)
		run, err := e.Load(&lower.Unit{Body: lower.Body{Name: name, Source: "func " + name + "() {}"}})
		if err != nil {
			t.Fatal(err)
		}
		run()
	}
	for range 5 {
		runtime.GC()
		e.Stop(true)
	}
	if n := len(e.stops); n < 2 || n > 10 {
		t.Errorf("got %d stop variables after 20 rooms, want a few", n)
	}
	for _, w := range e.stops {
		if !*w.Value() {
			t.Error("a room was not told to stop")
		}
	}
}
