package primitive

import (
	"reflect"
	"strconv"
	"strings"
)

// typeName is a type as %T prints it.
func (m *Machine) typeName(t reflect.Type) string { return (&namer{m: m}).typeName(t) }

// oldName is a type as a user knows it if a type in it has been declared anew since: "[]P (cell 3)". Else it is typeName
// without the package main, and old is not set.
func (m *Machine) oldName(t reflect.Type) (name string, old bool) {
	n := namer{m: m, forUser: true}
	name = n.typeName(t)
	return name, n.old
}

// OnOrigin sets a second source, beside DeclaredIn, of where types were declared. It returns name and cell of a compiled cell's type, and
// is not ok for any other. Call it before the first cell runs.
func (m *Machine) OnOrigin(f func(t reflect.Type) (name, cell string, ok bool)) { m.origin = f }

// OnNewest sets the function that returns the cell which declared the newest type of a name, "" if it is the name of no type.
func (m *Machine) OnNewest(f func(name string) (cell string)) { m.newest = f }

// declaration is where a type was declared.
type declaration struct{ name, cell string }

// DeclaredIn tells the machine which cell has declared a type, given as a pointer to one, or to its wrapper, under a name.
func (m *Machine) DeclaredIn(pointer any, name, cell string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.declarations[reflect.TypeOf(pointer).Elem()] = declaration{name, cell}
}

// oldCell is the cell that declared a type whose name has had another meaning since, else "".
func (m *Machine) oldCell(t reflect.Type) string {
	m.mu.RLock()
	at, ok := m.declarations[t]
	m.mu.RUnlock()
	if !ok && m.origin != nil {
		at.name, at.cell, ok = m.origin(t)
	}
	if !ok || m.newest == nil {
		return ""
	}
	if newest := m.newest(at.name); newest != "" && newest != at.cell {
		return at.cell
	}
	return ""
}

// namer writes the name of a type; for a user, with the cells of types that have been declared anew.
type namer struct {
	m       *Machine
	forUser bool
	old     bool // one of them has been
}

// declared is the name of a type of the cells.
func (n *namer) declared(t reflect.Type, name string) string {
	if !n.forUser {
		return name
	}
	name = strings.TrimPrefix(name, "main.")
	if cell := n.m.oldCell(t); cell != "" {
		n.old = true
		name += " (" + cell + ")"
	}
	return name
}

func (n *namer) typeName(t reflect.Type) string {
	if t == nil {
		return "<nil>"
	}
	if d := n.m.of(t); d != nil {
		switch {
		case d.pointer:
			return "*" + n.declared(t, d.name)
		case d.name != "":
			return n.declared(t, d.name)
		}
	}
	if name, ok := runtimeName(t); ok {
		return name
	}
	if t.Name() != "" {
		return n.declared(t, t.String())
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + n.typeName(t.Elem())
	case reflect.Slice:
		return "[]" + n.typeName(t.Elem())
	case reflect.Array:
		return "[" + itoa(t.Len()) + "]" + n.typeName(t.Elem())
	case reflect.Map:
		return "map[" + n.typeName(t.Key()) + "]" + n.typeName(t.Elem())
	case reflect.Chan:
		return t.ChanDir().String() + " " + n.typeName(t.Elem())
	case reflect.Func:
		return n.funcName(t)
	case reflect.Struct:
		return n.structName(t)
	}
	return t.String()
}

func (n *namer) funcName(t reflect.Type) string {
	in := make([]string, t.NumIn())
	for i := range in {
		in[i] = n.typeName(t.In(i))
		if t.IsVariadic() && i == len(in)-1 {
			in[i] = "..." + strings.TrimPrefix(in[i], "[]")
		}
	}
	out := make([]string, t.NumOut())
	for i := range out {
		out[i] = n.typeName(t.Out(i))
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

func (n *namer) structName(t reflect.Type) string {
	d := n.m.of(t)
	fields := make([]string, t.NumField())
	for i := range fields {
		f := t.Field(i)
		typ := n.typeName(f.Type)
		if d != nil && d.ifaces[i] != "" {
			typ = d.ifaces[i]
		}
		if shape := d.fieldShape(i); shape != nil {
			typ = shape.name
			if shape.box != nil {
				typ = n.typeName(shape.box)
			}
		}
		fields[i] = fieldName(t, d, i) + " " + typ
		if d != nil && d.embedded[i] || d == nil && f.Anonymous {
			fields[i] = typ
		}
		if tag := userTag(f.Tag); tag != "" {
			fields[i] += " " + strconv.Quote(string(tag))
		}
	}
	if len(fields) == 0 {
		return "struct {}"
	}
	return "struct { " + strings.Join(fields, "; ") + " }"
}

// hiddenTag is what package lower puts behind the tag of a field that is not exported, so that encoders pass over it.
const hiddenTag = `json:"-" xml:"-" yaml:"-"`
