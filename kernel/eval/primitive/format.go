package primitive

import (
	"fmt"
	"log/slog"
	"reflect"
)

// operand is a value, of a declared type or holding some, as fmt is to print it. It does what fmt does with a value of a
// compiled type: the same methods are called at the same places.
type operand struct {
	m     *Machine
	v     reflect.Value
	wrong rune // if set, the verb that does not fit the value
}

// MarshalJSON encodes the value, for loggers that write JSON.
func (o operand) MarshalJSON() ([]byte, error) { return o.m.JSONMarshal(o.v.Interface()) }

// Printable returns a value as compiled code is to print it.
func (m *Machine) Printable(x any) any {
	if !m.wants(x) {
		return x
	}
	o := operand{m: m, v: reflect.ValueOf(x)}
	if f, ok := m.find(o.v, "LogValue"); ok && m.isOwn(o.v.Type()) {
		if value, ok := f.Interface().(func() slog.Value); ok {
			return logged{o, value}
		}
	}
	return o
}

// Printables is Printable of each value in a list.
func (m *Machine) Printables(list []any) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = m.Printable(x)
	}
	return out
}

// operands returns the arguments of a print function as fmt is to see them.
func (m *Machine) operands(args []any) []any {
	var out []any
	for i, a := range args {
		if !m.wants(a) {
			continue
		}
		if out == nil {
			out = append([]any(nil), args...)
		}
		out[i] = operand{m: m, v: reflect.ValueOf(a)}
	}
	if out == nil {
		return args
	}
	return out
}

func (m *Machine) wants(a any) bool {
	switch a.(type) {
	case nil, string, int, float64, bool, error, fmt.Formatter:
		return false
	}
	return m.mentions(reflect.TypeOf(a), 0)
}

// mentions tells whether a type may hold values of declared types.
func (m *Machine) mentions(t reflect.Type, depth int) bool {
	if m.isOwn(t) {
		return true
	}
	if t.Kind() == reflect.Interface {
		return true
	}
	if t.PkgPath() != "" { // types without a name end
		return false
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.mentions(t.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		return m.mentions(t.Elem(), depth+1)
	case reflect.Map:
		return m.mentions(t.Key(), depth+1) || m.mentions(t.Elem(), depth+1)
	case reflect.Struct:
		for i := range t.NumField() {
			if !t.Field(i).IsExported() { // the interpreter has no such fields
				return false
			}
		}
		return true // names of fields may need mending
	}
	return false
}

// Format prints the value.
func (o operand) Format(s fmt.State, verb rune) {
	p := printer{m: o.m, state: s, verb: verb, format: fmt.FormatString(s, verb)}
	p.plus, p.sharp = s.Flag('+') && verb == 'v', s.Flag('#') && verb == 'v'
	if o.wrong == 0 {
		p.value(o.v, 0, true, nil)
		return
	}
	p.verb = o.wrong
	p.bad(p.m.typeName(o.v.Type()), func(q *printer) { q.value(o.v, 0, false, nil) })
}
