package primitive

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	"cancha/kernel/eval/native/support"
)

// runtimeError is an error of the Go runtime: the interpreter's own are reflect's, with other words and types.
type runtimeError string

func (e runtimeError) Error() string { return "runtime error: " + string(e) }

// RuntimeError marks it as a runtime.Error.
func (e runtimeError) RuntimeError() {}

// assertionError is a runtime.Error without those words, as a failed type assertion is.
type assertionError string

func (e assertionError) Error() string { return string(e) }

// RuntimeError marks it as a runtime.Error.
func (e assertionError) RuntimeError() {}

// plainError is one without those words too.
type plainError string

func (e plainError) Error() string { return string(e) }

// RuntimeError marks it as a runtime.Error.
func (e plainError) RuntimeError() {}

const errNilPointer = runtimeError("invalid memory address or nil pointer dereference")

// boundsError is an index or a bound out of range.
type boundsError string

func (e boundsError) Error() string { return "runtime error: " + string(e) }

// RuntimeError marks it as a runtime.Error.
func (e boundsError) RuntimeError() {}

// runtimeName is the name of a type an error of the Go runtime has there.
func runtimeName(t reflect.Type) (name string, ok bool) {
	switch t {
	case reflect.TypeFor[runtimeError]():
		return "runtime.errorString", true
	case reflect.TypeFor[boundsError]():
		return "runtime.boundsError", true
	case reflect.TypeFor[assertionError]():
		return "*runtime.TypeAssertionError", true
	case reflect.TypeFor[plainError]():
		return "runtime.plainError", true
	}
	return "", false
}

// translate turns a panic of the interpreter into the one that Go would have.
func (m *Machine) translate(p any) any {
	switch p := p.(type) {
	case support.Failure:
		return p
	case *reflect.ValueError:
		if p.Kind != reflect.Invalid {
			return interpreterFault(p.Error())
		}
		return errNilPointer
	case runtime.Error:
		return m.translateComparison(p)
	case string:
		if t, ok := translateText(p); ok {
			return t
		}
	case error:
		if t, ok := translateText(p.Error()); ok {
			return t
		}
	}
	return p
}

func translateText(s string) (any, bool) {
	switch {
	case strings.HasPrefix(s, "reflect: ") && strings.HasSuffix(s, "index out of range"):
		return boundsError("index out of range"), true
	case strings.HasPrefix(s, "reflect.Value.Slice") && strings.Contains(s, "out of bounds"):
		return boundsError("slice bounds out of range"), true
	case strings.HasPrefix(s, "reflect: call of") && strings.HasSuffix(s, "zero Value"):
		return errNilPointer, true
	case strings.HasPrefix(s, "reflect.MakeSlice: "):
		return runtimeError("makeslice: " + sizeWord(s) + " out of range"), true
	case s == "reflect.Value.Grow: slice overflow":
		return runtimeError("growslice: len out of range"), true
	case strings.HasPrefix(s, "reflect.MakeChan: "):
		return assertionError("makechan: size out of range"), true
	case strings.HasPrefix(s, "reflect.Value.Call: call of nil function"), s == "reflect: Call using zero Value argument", s == "reflect: Method on nil interface value":
		return errNilPointer, true
	case strings.HasPrefix(s, "reflect: cannot convert slice with length "):
		return boundsError(sliceToArray(s)), true
	}
	if strings.HasPrefix(s, "reflect: ") || strings.HasPrefix(s, "reflect.Set: ") || strings.HasPrefix(s, "reflect.Value.") {
		return interpreterFault(s), true
	}
	return nil, false
}

// sliceToArray is the runtime's text for what reflect says of a slice that is too short for an array.
func sliceToArray(s string) string {
	s = strings.TrimPrefix(s, "reflect: ")
	s = strings.Replace(s, " to pointer to array ", " to array ", 1)
	return strings.Replace(s, " to array ", " to array or pointer to array ", 1)
}

// sizeWord is what the runtime blames for a slice that cannot be made.
func sizeWord(s string) string {
	if strings.Contains(s, "len > cap") || strings.Contains(s, "negative cap") {
		return "cap"
	}
	return "len"
}

// ErrorsAs is errors.As. The original refuses a target whose type has no method Error, which it cannot see on declared
// types.
func (m *Machine) ErrorsAs(err error, target any) bool {
	if target == nil {
		panic("errors: target cannot be nil")
	}
	to := reflect.ValueOf(target)
	boxed := false
	if d := m.of(to.Type()); d != nil && d.pointer {
		to, boxed = to.Field(0), true
	}
	if to.Kind() != reflect.Pointer || to.IsNil() {
		panic("errors: target must be a non-nil pointer")
	}
	if boxed {
		return errorsAs(err, target, func(err error) bool { return m.unbox(err, target) })
	}
	return errorsAs(err, target, func(err error) bool { return m.As(err, target) })
}

// unbox stores x, if it holds a wrapped type, in what the pointer in target, which is in its wrapper, points to.
func (m *Machine) unbox(x, target any) bool {
	v, to := reflect.ValueOf(m.unwrap(x)), reflect.ValueOf(target)
	d := m.of(v.Type())
	if d == nil || d.pointer || d.pointers != to.Type() {
		return false
	}
	to.Field(0).Elem().Set(v.Field(0))
	return true
}

// ErrorsAsInterface is errors.As for a target that is kept as interface{} and asks for methods.
func (m *Machine) ErrorsAsInterface(err error, target *any, methods []string, forms ...any) bool {
	if target == nil {
		panic("errors: target must be a non-nil pointer")
	}
	return errorsAs(err, target, func(err error) bool {
		if !m.Has(err, methods, forms...) {
			return false
		}
		*target = m.unwrap(err)
		return true
	})
}

// errorsAs looks for an error that fits, or takes target itself, among those that err wraps.
func errorsAs(err error, target any, fits func(error) bool) bool {
	return inChain(err, func(err error) bool {
		x, takes := err.(interface{ As(any) bool })
		return fits(err) || takes && x.As(target)
	})
}

// inChain walks through the errors that err wraps until one fits.
func inChain(err error, fits func(error) bool) bool {
	for err != nil {
		if fits(err) {
			return true
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			return slices.ContainsFunc(x.Unwrap(), func(err error) bool { return inChain(err, fits) })
		default:
			return false
		}
	}
	return false
}

// asError returns a value as an error if it is one.
func (m *Machine) asError(x any) (error, bool) {
	if err, ok := x.(error); ok {
		return err, true
	}
	if x == nil {
		return nil, false
	}
	v := reflect.ValueOf(x)
	if !m.isOwn(v.Type()) {
		return nil, false
	}
	if f, ok := m.find(v, "Error"); ok {
		if _, ok := f.Interface().(func() string); ok {
			return m.errorOf(v), true
		}
	}
	return nil, false
}
