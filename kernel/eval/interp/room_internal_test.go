package interp

import (
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
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

// TestAliases: a type that is declared behind internal is found under the name that another package exports it by, and one under its own name
// is not.
func TestAliases(t *testing.T) {
	symbols := map[string]map[string]reflect.Value{
		"a.org/public/public": {"Reader": reflect.ValueOf((*strings.Reader)(nil)), "Max": reflect.ValueOf(3), "_Reader": reflect.ValueOf((*strings.Reader)(nil))},
		"strings/strings":     {"Builder": reflect.ValueOf((*strings.Builder)(nil))},
	}
	got := aliasesOf(symbols)
	if a := got[[2]string{"strings", "Reader"}]; len(got) != 1 || a != [2]string{"a.org/public", "Reader"} {
		t.Errorf("got %v", got)
	}
}
