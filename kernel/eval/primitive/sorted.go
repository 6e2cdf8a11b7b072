package primitive

import (
	"cmp"
	"reflect"
	"slices"
)

// entry is one of a map.
type entry struct{ key, value reflect.Value }

// sortedEntries are a map's entries in the order in which fmt prints them (internal/fmtsort).
func sortedEntries(v reflect.Value) []entry {
	list := make([]entry, 0, v.Len())
	for i := v.MapRange(); i.Next(); {
		list = append(list, entry{i.Key(), i.Value()})
	}
	slices.SortStableFunc(list, func(a, b entry) int { return compareKeys(a.key, b.key) })
	return list
}

func compareKeys(a, b reflect.Value) int {
	if a.Kind() == reflect.Interface {
		if a.IsNil() || b.IsNil() {
			return compareBools(!a.IsNil(), !b.IsNil())
		}
		a, b = a.Elem(), b.Elem()
		if a.Type() != b.Type() {
			return compareTypes(a.Type(), b.Type())
		}
	}
	switch a.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return cmp.Compare(a.Int(), b.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return cmp.Compare(a.Uint(), b.Uint())
	case reflect.Float32, reflect.Float64:
		return cmp.Compare(a.Float(), b.Float())
	case reflect.Complex64, reflect.Complex128:
		return cmp.Or(cmp.Compare(real(a.Complex()), real(b.Complex())), cmp.Compare(imag(a.Complex()), imag(b.Complex())))
	case reflect.String:
		return cmp.Compare(a.String(), b.String())
	case reflect.Bool:
		return compareBools(a.Bool(), b.Bool())
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		return cmp.Compare(a.Pointer(), b.Pointer())
	case reflect.Struct:
		return compareAll(a.NumField(), a.Field, b.Field)
	case reflect.Array:
		return compareAll(a.Len(), a.Index, b.Index)
	}
	return 0
}

func compareAll(n int, a, b func(int) reflect.Value) int {
	for i := range n {
		if c := compareKeys(a(i), b(i)); c != 0 {
			return c
		}
	}
	return 0
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// compareTypes orders types, in Go by their places in memory; here at least alike each time, with strings in front of numbers.
func compareTypes(a, b reflect.Type) int {
	return cmp.Or(-cmp.Compare(a.Kind(), b.Kind()), cmp.Compare(a.String(), b.String()))
}
