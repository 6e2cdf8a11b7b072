package primitive

import (
	"fmt"
	"path"
	"reflect"
)

// wrappers are the structs by which values of declared types get the methods of compiled interfaces: a field IValue with
// the value, and for each method X a field WX with the function. Reflection cannot make methods, so they are generated, one
// for each interface of the compiled packages.
type wrappers struct {
	byInterface map[reflect.Type]reflect.Type
	all         map[reflect.Type]bool
	richer      map[reflect.Type][]reflect.Type // wrapper → wrappers with more methods, most first
}

func newWrappers(symbols map[string]map[string]reflect.Value) *wrappers {
	w := &wrappers{map[reflect.Type]reflect.Type{}, map[reflect.Type]bool{}, map[reflect.Type][]reflect.Type{}}
	for key, names := range symbols {
		if key == "." {
			w.addRicher(names)
			continue
		}
		for name, v := range names {
			if name[0] != '_' || v.Kind() != reflect.Pointer {
				continue
			}
			if iface, ok := names[name[1:]]; ok && iface.Kind() == reflect.Pointer && iface.Type().Elem().Kind() == reflect.Interface {
				w.byInterface[iface.Type().Elem()] = v.Type().Elem()
			}
			w.all[v.Type().Elem()] = true
		}
	}
	return w
}

// addRicher takes yaegi's list of wrappers with the methods of several interfaces.
func (w *wrappers) addRicher(names map[string]reflect.Value) {
	v, ok := names["MapTypes"]
	if !ok {
		return
	}
	list, ok := v.Interface().(map[reflect.Value][]reflect.Type)
	if !ok {
		return
	}
	for k, types := range list {
		if k.Kind() == reflect.Pointer {
			w.richer[k.Type().Elem()] = types
		}
		for _, t := range types {
			w.all[t] = true
		}
	}
}

// inside returns the value in a wrapper.
func (w *wrappers) inside(x any) (any, bool) {
	t := reflect.TypeOf(x)
	if t.Kind() != reflect.Struct || !w.all[t] {
		return nil, false
	}
	return reflect.ValueOf(x).Field(0).Interface(), true
}

// wrap builds the wrapper of a value that has the methods of the interface.
func (w *wrappers) wrap(m *Machine, v reflect.Value, want reflect.Type) reflect.Value {
	t, ok := w.byInterface[want]
	if !ok {
		panic(assertionError(fmt.Sprintf("a value of type %s, which a cell declares, cannot be given to compiled code as %s.%s: the interpreter has no wrapper for that interface",
			m.typeName(v.Type()), path.Base(want.PkgPath()), want.Name())))
	}
	for _, richer := range w.richer[t] {
		if richer.Implements(want) && w.fits(m, v, richer) {
			t = richer
			break
		}
	}
	out := reflect.New(t).Elem()
	out.Field(0).Set(v)
	for i := 1; i < t.NumField(); i++ {
		fn, ok := m.find(v, t.Field(i).Name[1:])
		if !ok {
			continue // String, which generated wrappers have for fmt
		}
		if !fn.Type().AssignableTo(t.Field(i).Type) {
			if !fn.Type().ConvertibleTo(t.Field(i).Type) {
				continue
			}
			fn = fn.Convert(t.Field(i).Type)
		}
		out.Field(i).Set(fn)
	}
	return out
}

func (w *wrappers) fits(m *Machine, v reflect.Value, t reflect.Type) bool {
	for i := 1; i < t.NumField(); i++ {
		if _, ok := m.find(v, t.Field(i).Name[1:]); !ok {
			return false
		}
	}
	return true
}
