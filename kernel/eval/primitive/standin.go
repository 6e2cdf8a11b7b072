package primitive

import (
	"fmt"
	"reflect"
)

// standIn is a value of a declared type in a compiled interface that such values are compared in, as keys and as parts of structs:
// stand-ins are equal, have equal hashes and panic for being compared as what they stand for. The generated wrappers hold
// functions and can do neither.
type standIn struct {
	m     *Machine
	value any
}

func (s standIn) inside() any { return s.value }

// Format prints the declared type's value as fmt does.
func (s standIn) Format(f fmt.State, verb rune) {
	operand{m: s.m, v: reflect.ValueOf(s.value)}.Format(f, verb)
}

// text calls a method that returns one.
func (s standIn) text(method string) string {
	f, _ := s.m.find(reflect.ValueOf(s.value), method)
	if text, ok := f.Interface().(func() string); ok {
		return text()
	}
	return ""
}

// find is a method of the declared type as a function of type F.
func find[F any](s standIn, method string) (f F, ok bool) {
	if v, found := s.m.find(reflect.ValueOf(s.value), method); found {
		f, ok = v.Interface().(F)
	}
	return f, ok
}

// standsIn makes a stand-in for one of the interfaces that have them.
func (m *Machine) standsIn(v reflect.Value, want reflect.Type) (out reflect.Value, ok bool) {
	switch want {
	case errorInterface:
		return reflect.ValueOf(m.errorOf(v)), true
	case reflect.TypeFor[fmt.Stringer]():
		return reflect.ValueOf(stringer{standIn{m, v.Interface()}}), true
	}
	return reflect.Value{}, false
}

// stringer is a value of a declared type as a fmt.Stringer.
type stringer struct{ standIn }

// String calls the declared type's method.
func (s stringer) String() string { return s.text("String") }

// errorValue is a value of a declared type as an error.
type errorValue struct{ standIn }

// errorList is one whose Unwrap returns several errors.
type errorList struct{ errorValue }

// errorOf is the stand-in of a value that has a method Error.
func (m *Machine) errorOf(v reflect.Value) error {
	e := errorValue{standIn{m, v.Interface()}}
	if _, several := find[func() []error](e.standIn, "Unwrap"); several {
		return errorList{e}
	}
	return e
}

// Error calls the declared type's method.
func (e errorValue) Error() string { return e.text("Error") }

// Unwrap calls the declared type's method, if it has one.
func (e errorValue) Unwrap() error {
	if unwrap, ok := find[func() error](e.standIn, "Unwrap"); ok {
		return unwrap()
	}
	return nil
}

// Unwrap calls the declared type's method.
func (e errorList) Unwrap() []error {
	unwrap, _ := find[func() []error](e.standIn, "Unwrap")
	return unwrap()
}

// Is tells what the declared type's method says.
func (e errorValue) Is(target error) bool {
	is, ok := find[func(error) bool](e.standIn, "Is")
	return ok && is(target)
}

// As stores the value in target if it has that type, or calls the declared type's method.
func (e errorValue) As(target any) bool {
	if to := reflect.ValueOf(target).Elem(); to.Type() == reflect.TypeOf(e.value) {
		to.Set(reflect.ValueOf(e.value))
		return true
	}
	as, ok := find[func(any) bool](e.standIn, "As")
	return ok && as(target)
}

// ErrorsIs is errors.Is. The original asks whether stand-ins can be compared, which is for what they stand for to say.
func (m *Machine) ErrorsIs(err, target error) bool {
	if err == nil || target == nil {
		return err == target
	}
	comparable := reflect.TypeOf(m.unwrap(target)).Comparable()
	return inChain(err, func(err error) bool {
		x, asks := err.(interface{ Is(error) bool })
		return comparable && err == target || asks && x.Is(target)
	})
}
