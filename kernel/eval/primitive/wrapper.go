package primitive

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
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
		if !isStandard(path.Dir(key)) {
			w.addLarger(names)
		}
	}
	return w
}

// addLarger has a value with the methods of a larger interface of the same package go by that: who takes an ml.Model asks whether it is an
// ml.Classifier. There is no wrapper with the methods of two interfaces of which neither is the larger one; package lower refuses such values.
func (w *wrappers) addLarger(names map[string]reflect.Value) {
	byInterface := map[reflect.Type]reflect.Type{}
	for _, v := range names {
		if v.Kind() != reflect.Pointer {
			continue
		}
		if t, ok := w.byInterface[v.Type().Elem()]; ok {
			byInterface[v.Type().Elem()] = t
		}
	}
	for i, t := range byInterface {
		for _, larger := range byInterface {
			if larger != t && larger.Implements(i) {
				w.richer[t] = append(w.richer[t], larger)
			}
		}
		slices.SortFunc(w.richer[t], func(a, b reflect.Type) int {
			return cmp.Or(cmp.Compare(b.NumField(), a.NumField()), cmp.Compare(a.Name(), b.Name()))
		})
	}
}

// isStandard reports whether path is that of a package of the standard library, whose wrappers with more methods are listed.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "cancha"
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
		if fn, ok := methodFor(m, v, t.Field(i)); ok { // no: String, which generated wrappers have for fmt
			out.Field(i).Set(fn)
		}
	}
	return out
}

// fits reports whether a value has all methods that a wrapper is made of.
func (w *wrappers) fits(m *Machine, v reflect.Value, t reflect.Type) bool {
	for i := 1; i < t.NumField(); i++ {
		if _, ok := methodFor(m, v, t.Field(i)); !ok {
			return false
		}
	}
	return true
}

// methodFor is a value's method for a field of a wrapper, in the field's type; ok is false where it has none by that name, or of another type.
func methodFor(m *Machine, v reflect.Value, field reflect.StructField) (fn reflect.Value, ok bool) {
	fn, ok = m.find(v, field.Name[1:])
	switch {
	case !ok:
		return fn, false
	case fn.Type().AssignableTo(field.Type):
		return fn, true
	case fn.Type().ConvertibleTo(field.Type):
		return fn.Convert(field.Type), true
	}
	return fn, false
}
