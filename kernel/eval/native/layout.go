package native

import (
	"cmp"
	"reflect"
	"regexp"
	"strconv"
)

// SameLayout tells whether values of two types look the same in memory, so that a pointer to one may stand for a pointer to the other: they
// are equal, or earlier and later declarations of the same type.
func SameLayout(a, b reflect.Type) bool { return sameLayout(a, b, map[[2]reflect.Type]bool{}) }

func sameLayout(a, b reflect.Type, seen map[[2]reflect.Type]bool) bool {
	pair := [2]reflect.Type{a, b}
	if a == b || seen[pair] {
		return true
	}
	if a.Kind() != b.Kind() || a.Size() != b.Size() {
		return false
	}
	seen[pair] = true
	same := func(a, b reflect.Type) bool { return sameLayout(a, b, seen) }
	switch a.Kind() {
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return false
		}
		for i := range a.NumField() {
			if a.Field(i).Name != b.Field(i).Name || !same(a.Field(i).Type, b.Field(i).Type) {
				return false
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Chan:
		return same(a.Elem(), b.Elem())
	case reflect.Array:
		return a.Len() == b.Len() && same(a.Elem(), b.Elem())
	case reflect.Map:
		return same(a.Key(), b.Key()) && same(a.Elem(), b.Elem())
	case reflect.Func:
		return sameSignature(a, b, same)
	case reflect.Interface:
		return sameMethods(a, b)
	}
	return true
}

func sameSignature(a, b reflect.Type, same func(a, b reflect.Type) bool) bool {
	if a.NumIn() != b.NumIn() || a.NumOut() != b.NumOut() || a.IsVariadic() != b.IsVariadic() {
		return false
	}
	for i := range a.NumIn() {
		if !same(a.In(i), b.In(i)) {
			return false
		}
	}
	for i := range a.NumOut() {
		if !same(a.Out(i), b.Out(i)) {
			return false
		}
	}
	return true
}

// sameMethods compares interfaces by the names of their methods: values keep a table of these.
func sameMethods(a, b reflect.Type) bool {
	if a.NumMethod() != b.NumMethod() {
		return false
	}
	for i := range a.NumMethod() {
		if a.Method(i).Name != b.Method(i).Name {
			return false
		}
	}
	return true
}

var compilerLine = regexp.MustCompile(`(?m)^(?:.*?(cell \d+)|.*):(\d+):\d+: (.*)$`)

// Position finds the place that the compiler means in what it said of the package of a cell, and the text. The place may be in another cell, which
// has a part in this one.
func Position(cell, said string) (at string, line int, text string) {
	m := compilerLine.FindStringSubmatch(said)
	if m == nil {
		return cell, 1, said
	}
	line, _ = strconv.Atoi(m[2])
	return cmp.Or(m[1], cell), line, m[3]
}
