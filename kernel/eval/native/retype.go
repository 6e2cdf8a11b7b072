package native

import (
	"reflect"
	"strings"
)

// Newest returns the type that values of t have now, after declared types in it have been declared again; ok is false where it
// cannot be made by reflection.
func (e *Engine) Newest(t reflect.Type) (newest reflect.Type, ok bool) {
	if n, changed := e.newer[t]; changed {
		return e.Newest(n)
	}
	if t.PkgPath() != "" {
		if strings.HasSuffix(t.Name(), "]") {
			return e.newestInstance(t), true
		}
		return t, true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		return e.newestOf(t)
	case reflect.Map:
		key, ok1 := e.Newest(t.Key())
		elem, ok2 := e.Newest(t.Elem())
		if !ok1 || !ok2 {
			return nil, false
		}
		return reflect.MapOf(key, elem), true
	case reflect.Func:
		return e.newestFunc(t)
	case reflect.Struct, reflect.Interface:
		return t, !e.mentions(t)
	}
	return t, true
}

func (e *Engine) newestOf(t reflect.Type) (reflect.Type, bool) {
	elem, ok := e.Newest(t.Elem())
	if !ok {
		return nil, false
	}
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(elem), true
	case reflect.Slice:
		return reflect.SliceOf(elem), true
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), elem), true
	}
	return reflect.ChanOf(t.ChanDir(), elem), true
}

func (e *Engine) newestFunc(t reflect.Type) (reflect.Type, bool) {
	var in, out []reflect.Type
	for i := range t.NumIn() {
		n, ok := e.Newest(t.In(i))
		if !ok {
			return nil, false
		}
		in = append(in, n)
	}
	for i := range t.NumOut() {
		n, ok := e.Newest(t.Out(i))
		if !ok {
			return nil, false
		}
		out = append(out, n)
	}
	return reflect.FuncOf(in, out, t.IsVariadic()), true
}

// mentions tells whether a struct or interface type without a name is made of a type that has been declared again.
func (e *Engine) mentions(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return t.NumMethod() > 0
	}
	for i := range t.NumField() {
		n, ok := e.Newest(t.Field(i).Type)
		if !ok || n != t.Field(i).Type {
			return true
		}
	}
	return false
}
