package primitive

import (
	"go/token"
	"reflect"
	"runtime"
	"strings"

	"cancha/kernel/eval/native/support"
)

// Refusal is the panic in place of what the interpreter would do differently from Go, if that is found only while a cell runs. Cells cannot
// recover from it: they would go on with a wrong result.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// interpreterFault is what the interpreter's own panics say that no program can cause.
func interpreterFault(text string) Refusal {
	return Refusal("the interpreter cannot run this (" + text + "); write it in another way")
}

// stops tells panics that cells cannot recover.
func stops(p any) bool {
	switch p.(type) {
	case interrupted, Refusal:
		return true
	}
	return false
}

// ReflectTypeOf is reflect.TypeOf.
func (m *Machine) ReflectTypeOf(x any) reflect.Type {
	x = m.unwrap(x)
	m.refuseDisguised(x)
	return reflect.TypeOf(x)
}

// ReflectPkgPath is the method PkgPath of a reflect.Type: cells are package main, whatever the path of their compiled package is.
func (m *Machine) ReflectPkgPath(t reflect.Type) string { return support.PkgPath(t) }

// CellPath is the field PkgPath of a reflect.StructField or a reflect.Method.
func (m *Machine) CellPath(path string) string { return support.CellPath(path) }

// PlainName is the field Function of a runtime.Frame.
func (m *Machine) PlainName(name string) string { return support.PlainName(name) }

// FuncName is the method Name of a *runtime.Func.
func (m *Machine) FuncName(f *runtime.Func) string { return support.FuncName(f) }

// ReflectValueOf is reflect.ValueOf.
func (m *Machine) ReflectValueOf(x any) reflect.Value {
	x = m.unwrap(x)
	m.refuseDisguised(x)
	return reflect.ValueOf(x)
}

// refuseDisguised refuses to look into a value of a type that is built otherwise than in compiled Go.
func (m *Machine) refuseDisguised(x any) {
	if t := m.disguised(reflect.TypeOf(x), map[reflect.Type]bool{}); t != nil {
		panic(Refusal("package reflect does not see type " + m.typeName(t) + " as Go does while cells are interpreted"))
	}
}

// Exported returns a value that goes to a compiled function which skips unexported fields of structs; by is the name of the function. It
// refuses interpreted structs that have such fields, because the interpreter exports all.
func (m *Machine) Exported(x any, by string) any {
	x = m.unwrap(x)
	if name := m.hiddenIn(reflect.TypeOf(x), map[reflect.Type]bool{}); name != "" {
		panic(Refusal(by + " does not see that field " + name + " is not exported, because its type is interpreted; export it, or use a type without it"))
	}
	return x
}

// hiddenIn names a field in t that is not exported in the cell, "" for none.
func (m *Machine) hiddenIn(t reflect.Type, seen map[reflect.Type]bool) string {
	if t == nil || seen[t] || t.Name() != "" {
		return ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return m.hiddenIn(t.Elem(), seen)
	case reflect.Map:
		return m.hiddenIn(t.Key(), seen) + m.hiddenIn(t.Elem(), seen)
	case reflect.Struct:
		d := m.of(t)
		for i := range t.NumField() {
			if name := fieldName(t, d, i); !token.IsExported(name) && name != "_" {
				return name
			}
			if name := m.hiddenIn(t.Field(i).Type, seen); name != "" {
				return name
			}
		}
	}
	return ""
}

// disguised is a type in t that is built otherwise, nil for none.
func (m *Machine) disguised(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if t == nil || seen[t] {
		return nil
	}
	seen[t] = true
	if m.of(t) != nil {
		return t
	}
	if t.Name() != "" {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		return m.disguised(t.Elem(), seen)
	case reflect.Map:
		if d := m.disguised(t.Key(), seen); d != nil {
			return d
		}
		return m.disguised(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if strings.HasPrefix(f.Name, "X") && f.Tag.Get("json") == "-" && f.Tag.Get("xml") == "-" {
				return t
			}
			if d := m.disguised(f.Type, seen); d != nil {
				return d
			}
		}
	case reflect.Func:
		for i := range t.NumIn() {
			if d := m.disguised(t.In(i), seen); d != nil {
				return d
			}
		}
		for i := range t.NumOut() {
			if d := m.disguised(t.Out(i), seen); d != nil {
				return d
			}
		}
	}
	return nil
}
