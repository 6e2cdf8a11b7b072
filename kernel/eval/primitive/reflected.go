package primitive

import (
	"go/token"
	"reflect"
	"runtime"
	"strings"
)

// The interpreter works by reflection, so what is a runtime error in Go is a panic of package reflect in it. Cells call reflect too, and
// its panics are then their own. The stack, which still has the functions that panicked, tells the two apart.

// ofReflect reports whether package reflect may have made the panic.
func ofReflect(p any) bool {
	switch p := p.(type) {
	case *reflect.ValueError:
		return true
	case string:
		return strings.HasPrefix(p, "reflect")
	case runtime.Error:
		return false
	case error:
		return strings.HasPrefix(p.Error(), "reflect")
	}
	return false
}

// reflects tells whether a panic that the calling goroutine has just recovered, and that may be the interpreter's, is not: a cell has called
// reflect that way, or a library has for it, or the cell panics with such a value itself. It is called by the function that recovers.
func (m *Machine) reflects(p any) bool {
	if !ofReflect(p) {
		return false
	}
	if before, ok := m.reflected.LoadAndDelete(goroutineID()); ok && reflect.TypeOf(p).Comparable() && before == p {
		return true
	}
	var pcs [2048]uintptr
	n := runtime.Callers(2, pcs[:64]) // where it stands mostly
	byCell, found := madeByCell(runtime.CallersFrames(pcs[:n]))
	if !found {
		n = runtime.Callers(2, pcs[:])
		byCell, _ = madeByCell(runtime.CallersFrames(pcs[:n]))
	}
	return byCell
}

// madeByCell looks for what panicked. It is not found where it stands below the given frames.
func madeByCell(frames *runtime.Frames) (byCell, found bool) {
	panicked := false // the function before is that of a panic
	for f, more := frames.Next(); more; f, more = frames.Next() {
		switch name := f.Function; {
		case name == "runtime.gopanic":
			panicked = true
		case !panicked, strings.HasPrefix(name, "runtime."):
		case strings.Contains(name, "yaegi/interp.runCfg.func"), strings.HasSuffix(name, "primitive.(*Deferred).finish"):
			panicked = false // it goes on
		case inReflect(name):
			return calledByCell(name, frames)
		default:
			return strings.HasSuffix(name, "primitive.(*Machine).Throw") || !ofInterpreter(name), true
		}
	}
	return false, false
}

// calledByCell tells, of a function of reflect that has panicked and the frames below, whether the interpreter called it for itself. What a
// cell calls it calls by reflection: below a function that reflect exports then stands reflect.Value.Call.
func calledByCell(function string, frames *runtime.Frames) (byCell, found bool) {
	before, last := "", function // of reflect's functions
	for f, more := frames.Next(); more; f, more = frames.Next() {
		switch name := f.Function; {
		case strings.HasPrefix(name, "runtime."):
		case name == "reflect.Value.Call" && last == "reflect.Value.call" && exported(before):
			return true, true
		case inReflect(name):
			before, last = last, name
		default:
			return !ofInterpreter(name), true
		}
	}
	return false, false
}

// exported reports whether a function has an exported name: "reflect.Value.Len", "reflect.(*rtype).Elem".
func exported(function string) bool {
	return token.IsExported(function[strings.LastIndexByte(function, '.')+1:])
}

func ofInterpreter(function string) bool {
	return strings.Contains(function, "yaegi/interp.") || strings.Contains(function, "kernel/eval/primitive.")
}

func inReflect(function string) bool {
	return strings.HasPrefix(function, "reflect.") || strings.HasPrefix(function, "internal/reflectlite.")
}

// translated is a panic that the calling goroutine has just recovered as Go would have it.
func (m *Machine) translated(p any) any {
	if m.reflects(p) {
		return p
	}
	return m.translate(p)
}
