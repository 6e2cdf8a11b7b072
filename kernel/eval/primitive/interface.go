package primitive

import (
	"fmt"
	"reflect"
)

// Any returns what a value of a compiled interface stands for: a declared type's value went in as a wrapper with the
// interface's methods, and comes out as itself.
func (m *Machine) Any(x any) any { return m.unwrap(x) }

func (m *Machine) unwrap(x any) any {
	for {
		switch w := x.(type) {
		case nil:
			return nil
		case wrapped:
			x = w.inside()
			continue
		}
		inner, ok := m.wrappers.inside(x)
		if !ok {
			return x
		}
		x = inner
	}
}

// wrapped is a wrapper of our own.
type wrapped interface{ inside() any }

// Is tells whether x holds the type that pointer points to.
func (m *Machine) Is(x, pointer any) bool {
	x = m.unwrap(x)
	if x == nil {
		return false
	}
	want := reflect.TypeOf(pointer).Elem()
	if want.Kind() == reflect.Interface {
		return m.satisfies(reflect.ValueOf(x), want)
	}
	return reflect.TypeOf(x) == want
}

// As stores x in what pointer points to, if it holds that type.
func (m *Machine) As(x, pointer any) bool {
	x = m.unwrap(x)
	if x == nil {
		return false
	}
	to := reflect.ValueOf(pointer).Elem()
	v := reflect.ValueOf(x)
	if to.Kind() != reflect.Interface {
		if v.Type() != to.Type() {
			return false
		}
		to.Set(v)
		return true
	}
	w, ok := m.wrap(v, to.Type())
	if ok {
		to.Set(w)
	}
	return ok
}

// Must is As that panics as Go's x.(T) does; static names the type of x.
func (m *Machine) Must(x, pointer any, static string) {
	if m.As(x, pointer) {
		return
	}
	to := reflect.TypeOf(pointer).Elem()
	want, scopes := m.typeName(to), ""
	x = m.unwrap(x)
	if x == nil {
		if to.Kind() == reflect.Interface {
			static = "interface"
		}
		panic(assertionError(fmt.Sprintf("interface conversion: %s is nil, not %s", static, want)))
	}
	from := m.typeName(reflect.TypeOf(x))
	if to.Kind() == reflect.Interface {
		panic(assertionError(fmt.Sprintf("interface conversion: %s is not %s: missing method %s", from, to, m.missing(reflect.ValueOf(x), to))))
	}
	if from == want { // two types that cells have declared under one name
		was, old := m.oldName(reflect.TypeOf(x))
		wanted, alsoOld := m.oldName(to)
		if old || alsoOld {
			from, want = was, wanted
		} else {
			scopes = " (types from different scopes)"
		}
	}
	panic(assertionError(fmt.Sprintf("interface conversion: %s is %s, not %s%s", static, from, want, scopes)))
}

// Set stores a value of which the checker knows that it has the methods of the interface that pointer points to.
func (m *Machine) Set(x, pointer any) {
	if x != nil {
		m.Must(x, pointer, "interface")
	}
}

// Has tells whether x has all methods of those names; forms, if given, are pointers to their types.
func (m *Machine) Has(x any, methods []string, forms ...any) bool {
	return m.lacks(x, methods, forms) == "" && m.unwrap(x) != nil
}

// lacks is the first of the methods that x has not, or not in that form.
func (m *Machine) lacks(x any, methods []string, forms []any) string {
	v := reflect.ValueOf(m.unwrap(x))
	for i, name := range methods {
		f, ok := m.find(v, name)
		if !ok || len(forms) == len(methods) && !alike(f.Type(), reflect.TypeOf(forms[i]).Elem()) {
			return name
		}
	}
	return ""
}

// alike tells whether two methods can have the same type. Types that cells declare may stand in other clothes in one of them,
// so that only kinds, and basic types of the same kind, tell them apart.
func alike(a, b reflect.Type) bool {
	if a.Kind() != reflect.Func || b.Kind() != reflect.Func {
		return true
	}
	if a.NumIn() != b.NumIn() || a.NumOut() != b.NumOut() || a.IsVariadic() != b.IsVariadic() {
		return false
	}
	for i := range a.NumIn() {
		if !alikeType(a.In(i), b.In(i)) {
			return false
		}
	}
	for i := range a.NumOut() {
		if !alikeType(a.Out(i), b.Out(i)) {
			return false
		}
	}
	return true
}

func alikeType(a, b reflect.Type) bool {
	switch {
	case a == b, a.Kind() == reflect.Interface, b.Kind() == reflect.Interface:
		return true
	case a.Kind() != b.Kind():
		return false
	case a.Kind() == reflect.Slice, a.Kind() == reflect.Pointer:
		return alikeType(a.Elem(), b.Elem())
	case hasMark(a) && hasMark(b):
		return false
	}
	return a.Kind() > reflect.Complex128 && a.Kind() != reflect.String
}

// hasMark reports whether the first field of the struct type t marks it as a declared type of the cells.
func hasMark(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Tag.Get("cancha") != ""
}

// MustHave panics, as an assertion to the interface called want does, unless x has the methods.
func (m *Machine) MustHave(x any, want string, methods []string, forms ...any) {
	if x = m.unwrap(x); x == nil {
		panic(assertionError(fmt.Sprintf("interface conversion: interface is nil, not %s", want)))
	}
	if name := m.lacks(x, methods, forms); name != "" {
		panic(assertionError(fmt.Sprintf("interface conversion: %s is not %s: missing method %s", m.typeName(reflect.TypeOf(x)), want, name)))
	}
}

// Lookup returns a method of the value in an interface of the cells, ready to be called.
func (m *Machine) Lookup(x any, name string) any {
	x = m.unwrap(x)
	if x == nil {
		panic(errNilPointer)
	}
	f, ok := m.find(reflect.ValueOf(x), name)
	if !ok {
		panic(assertionError(fmt.Sprintf("interface conversion: %s has no method %s", m.typeName(reflect.TypeOf(x)), name)))
	}
	return f.Interface()
}

// Equal compares two interface values.
func (m *Machine) Equal(x, y any) bool {
	x, y = m.unwrap(x), m.unwrap(y)
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	tx, ty := reflect.TypeOf(x), reflect.TypeOf(y)
	if tx != ty {
		return false
	}
	if !tx.Comparable() {
		panic(runtimeError("comparing uncomparable type " + m.typeName(tx)))
	}
	return x == y
}

// satisfies tells whether a value has the methods of a compiled interface.
func (m *Machine) satisfies(v reflect.Value, want reflect.Type) bool {
	if v.Type().Implements(want) {
		return true
	}
	return m.isOwn(v.Type()) && m.missing(v, want) == ""
}

// missing is the first method of an interface that a value does not have.
func (m *Machine) missing(v reflect.Value, want reflect.Type) string {
	for i := range want.NumMethod() {
		name := want.Method(i).Name
		if _, ok := m.find(v, name); !ok {
			return name
		}
	}
	return ""
}

// wrap gives a value the form of a compiled interface.
func (m *Machine) wrap(v reflect.Value, want reflect.Type) (reflect.Value, bool) {
	if v.Type().Implements(want) {
		return v, true
	}
	if !m.satisfies(v, want) {
		return reflect.Value{}, false
	}
	if s, ok := m.standsIn(v, want); ok {
		return s, true
	}
	return m.wrappers.wrap(m, v, want), true
}

var errorInterface = reflect.TypeFor[error]()
