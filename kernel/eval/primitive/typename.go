package primitive

import (
	"reflect"
	"strconv"
	"strings"
)

// typeName is a type as %T prints it.
func (m *Machine) typeName(t reflect.Type) string {
	if t == nil {
		return "<nil>"
	}
	if d := m.of(t); d != nil {
		switch {
		case d.pointer:
			return "*" + d.name
		case d.name != "":
			return d.name
		}
	}
	if name, ok := runtimeName(t); ok {
		return name
	}
	if t.Name() != "" {
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + m.typeName(t.Elem())
	case reflect.Slice:
		return "[]" + m.typeName(t.Elem())
	case reflect.Array:
		return "[" + itoa(t.Len()) + "]" + m.typeName(t.Elem())
	case reflect.Map:
		return "map[" + m.typeName(t.Key()) + "]" + m.typeName(t.Elem())
	case reflect.Chan:
		return t.ChanDir().String() + " " + m.typeName(t.Elem())
	case reflect.Func:
		return m.funcName(t)
	case reflect.Struct:
		return m.structName(t)
	}
	return t.String()
}

func (m *Machine) funcName(t reflect.Type) string {
	in := make([]string, t.NumIn())
	for i := range in {
		in[i] = m.typeName(t.In(i))
		if t.IsVariadic() && i == len(in)-1 {
			in[i] = "..." + strings.TrimPrefix(in[i], "[]")
		}
	}
	out := make([]string, t.NumOut())
	for i := range out {
		out[i] = m.typeName(t.Out(i))
	}
	text := "func(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
		return text
	case 1:
		return text + " " + out[0]
	}
	return text + " (" + strings.Join(out, ", ") + ")"
}

func (m *Machine) structName(t reflect.Type) string {
	d := m.of(t)
	fields := make([]string, t.NumField())
	for i := range fields {
		f := t.Field(i)
		typ := m.typeName(f.Type)
		if d != nil && d.ifaces[i] != "" {
			typ = d.ifaces[i]
		}
		if shape := d.fieldShape(i); shape != nil {
			typ = shape.name
			if box := m.of(shape.box); shape.box != nil && box != nil {
				typ = box.name
			}
		}
		fields[i] = fieldName(t, d, i) + " " + typ
		if d != nil && d.embedded[i] {
			fields[i] = typ
		}
		if tag := strings.TrimSpace(strings.TrimSuffix(string(f.Tag), hiddenTag)); tag != "" {
			fields[i] += " " + strconv.Quote(tag)
		}
	}
	if len(fields) == 0 {
		return "struct {}"
	}
	return "struct { " + strings.Join(fields, "; ") + " }"
}

// hiddenTag is what package lower puts behind the tag of a field that is not exported, so that encoders pass over it.
const hiddenTag = `json:"-" xml:"-" yaml:"-"`
