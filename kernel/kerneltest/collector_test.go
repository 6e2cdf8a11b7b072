package kerneltest

import (
	"os"
	"strings"
	"testing"

	"cancha/kernel/cell"
	"cancha/kernel/client"
)

// numbersLikePointers has the collector run while functions that package reflect has made hold numbers, each of which would be a pointer to
// free memory.
const numbersLikePointers = `import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"
)

var kept [][]*[6]int

func freed() (at [9]uintptr) {
	for i := range at {
		list := make([]*[6]int, 2000)
		for j := range list {
			list[j] = &[6]int{j}
		}
		at[i] = uintptr(unsafe.Pointer(list[1001]))
		list[1001] = nil
		kept = append(kept, list)
	}
	return at
}

func holds() bool {
	first := func(a, b, c, d, e, f, g, h, i uintptr) uintptr { return a }
	made := reflect.MakeFunc(reflect.TypeOf(first), func(args []reflect.Value) []reflect.Value {
		for range 3 {
			runtime.GC()
		}
		return args[:1]
	}).Interface().(func(a, b, c, d, e, f, g, h, i uintptr) uintptr)
	at := freed()
	runtime.GC()
	return made(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8]) == at[0]
}

fmt.Println(holds())`

// TestCollector: the engine's garbage collector knows what is a pointer in the frames by which interpreted functions are called. Package
// runtime compiled for dynamic linking does not of itself (see kernel/workspace/runtime.go). CANCHA_PROGRAM=bin/cancha (an absolute path).
func TestCollector(t *testing.T) {
	program := os.Getenv(programVariable)
	if program == "" {
		t.Skip(programVariable + " does not name a cancha binary")
	}
	target := Target{Config: client.Config{Argv: []string{program, "kernel", "{connection_file}"}}, Samples: goSamples()}
	s := start(t, target, target.Config)
	r, ms := s.run(t, numbersLikePointers)
	switch text := textOf(r); {
	case r.Status != cell.OK && strings.Contains(text, "unsafe"):
		t.Skip("no engine that compiles cells is here: ", text)
	case r.Status != cell.OK:
		t.Errorf("the cell failed: %s", text)
	case printed(ms, "stdout") != "true\n":
		t.Errorf("it printed %q, want true", printed(ms, "stdout"))
	}
}
