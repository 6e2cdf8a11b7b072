package primitive

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// runtimeError is an error of the Go runtime: the interpreter's own are reflect's, with other words and types.
type runtimeError string

func (e runtimeError) Error() string { return "runtime error: " + string(e) }

// RuntimeError marks it as a runtime.Error.
func (e runtimeError) RuntimeError() {}

// assertionError is a failed type assertion, which is a runtime.Error without those words.
type assertionError string

func (e assertionError) Error() string { return string(e) }

// RuntimeError marks it as a runtime.Error.
func (e assertionError) RuntimeError() {}

const errNilPointer = runtimeError("invalid memory address or nil pointer dereference")

func indexError(i, length int) runtimeError {
	return runtimeError(fmt.Sprintf("index out of range [%d] with length %d", i, length))
}

// translate turns a panic of the interpreter into the one that Go would have.
func translate(p any) any {
	switch p := p.(type) {
	case *reflect.ValueError:
		return errNilPointer
	case runtime.Error:
		return p
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
		return runtimeError("index out of range"), true
	case strings.HasPrefix(s, "reflect.Value.Slice") && strings.Contains(s, "out of bounds"):
		return runtimeError("slice bounds out of range"), true
	case strings.HasPrefix(s, "reflect: call of") && strings.HasSuffix(s, "zero Value"):
		return errNilPointer, true
	case strings.HasPrefix(s, "reflect.MakeSlice: "):
		return runtimeError("makeslice: " + strings.TrimPrefix(s, "reflect.MakeSlice: ")), true
	}
	return nil, false
}

// errorValue is a value of a declared type as an error.
type errorValue struct {
	m     *Machine
	value reflect.Value
}

// errorList is one whose Unwrap returns several errors.
type errorList struct{ errorValue }

// errorOf wraps a value that has a method Error.
func (m *Machine) errorOf(v reflect.Value) error {
	e := errorValue{m, v}
	if f, ok := m.find(v, "Unwrap"); ok {
		if _, several := f.Interface().(func() []error); several {
			return &errorList{e}
		}
	}
	return &e
}

func (e *errorValue) inside() any { return e.value.Interface() }

// Error calls the declared type's method.
func (e *errorValue) Error() string {
	f, _ := e.m.find(e.value, "Error")
	if text, ok := f.Interface().(func() string); ok {
		return text()
	}
	return ""
}

// Format prints the declared type's value as fmt does.
func (e *errorValue) Format(s fmt.State, verb rune) {
	operand{e.m, e.value}.Format(s, verb)
}

// Unwrap calls the declared type's method, if it has one.
func (e *errorValue) Unwrap() error {
	if f, ok := e.m.find(e.value, "Unwrap"); ok {
		if unwrap, ok := f.Interface().(func() error); ok {
			return unwrap()
		}
	}
	return nil
}

// Unwrap calls the declared type's method.
func (e *errorList) Unwrap() []error {
	f, _ := e.m.find(e.value, "Unwrap")
	return f.Interface().(func() []error)()
}

// Is tells whether target stands for the same value, or what the declared type's method says.
func (e *errorValue) Is(target error) bool {
	inner := e.m.unwrap(target)
	if t := reflect.TypeOf(inner); t != nil && t == e.value.Type() && t.Comparable() && inner == e.value.Interface() {
		return true
	}
	if f, ok := e.m.find(e.value, "Is"); ok {
		if is, ok := f.Interface().(func(error) bool); ok {
			return is(target)
		}
	}
	return false
}

// As stores the value in target if it has that type, or calls the declared type's method.
func (e *errorValue) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	if to.Type() == e.value.Type() {
		to.Set(e.value)
		return true
	}
	if f, ok := e.m.find(e.value, "As"); ok {
		if as, ok := f.Interface().(func(any) bool); ok {
			return as(target)
		}
	}
	return false
}

// ErrorsIs is errors.Is.
func (m *Machine) ErrorsIs(err, target error) bool { return errors.Is(err, target) }

// ErrorsAs is errors.As. The original refuses a target whose type has no method Error, which it cannot see on declared
// types.
func (m *Machine) ErrorsAs(err error, target any) bool {
	if target == nil {
		panic("errors: target cannot be nil")
	}
	to := reflect.ValueOf(target)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		panic("errors: target must be a non-nil pointer")
	}
	return m.errorsAs(err, target, func(err error) bool { return m.As(err, target) })
}

// ErrorsAsInterface is errors.As for a target that is kept as interface{} and asks for methods.
func (m *Machine) ErrorsAsInterface(err error, target *any, methods []string) bool {
	if target == nil {
		panic("errors: target must be a non-nil pointer")
	}
	return m.errorsAs(err, target, func(err error) bool {
		if !m.Has(err, methods) {
			return false
		}
		*target = m.unwrap(err)
		return true
	})
}

// errorsAs walks through the errors that err wraps until one fits.
func (m *Machine) errorsAs(err error, target any, fits func(error) bool) bool {
	for err != nil {
		if fits(err) {
			return true
		}
		if x, ok := err.(interface{ As(any) bool }); ok && x.As(target) {
			return true
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			return slices.ContainsFunc(x.Unwrap(), func(e error) bool { return e != nil && m.errorsAs(e, target, fits) })
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
