package driver

import (
	"fmt"
	"reflect"
	"strings"
)

// Element is what memory can hold.
type Element interface {
	float32 | float64 | int32 | int64 | uint8 | uint16 | uint32
}

// elements has a row for each Type: its name in Go and in CUDA C++, its size in bytes, and the slices that hold it.
var elements = [...]struct {
	name, c string
	size    int
	slice   reflect.Type
}{
	Float32: {"float32", "float", 4, reflect.TypeFor[[]float32]()},
	Float64: {"float64", "double", 8, reflect.TypeFor[[]float64]()},
	Int32:   {"int32", "int", 4, reflect.TypeFor[[]int32]()},
	Uint8:   {"uint8", "unsigned char", 1, reflect.TypeFor[[]uint8]()},
	Uint16:  {"uint16", "unsigned short", 2, reflect.TypeFor[[]uint16]()},
	Uint32:  {"uint32", "unsigned", 4, reflect.TypeFor[[]uint32]()},
	Int64:   {"int64", "long long", 8, reflect.TypeFor[[]int64]()},
}

// SliceType is the type of a slice's elements and their number. A slice that memory cannot hold is an error.
func SliceType(slice any) (t Type, n int, err error) {
	of := reflect.TypeOf(slice)
	for t := Float32; int(t) < len(elements); t++ {
		if of == elements[t].slice {
			return t, reflect.ValueOf(slice).Len(), nil
		}
	}
	return 0, 0, fmt.Errorf("%T is no slice of %s", slice, Types())
}

// Types lists the types that memory can have, for messages: "float32, float64, … or int64".
func Types() string {
	names := make([]string, 0, len(elements))
	for _, e := range elements[1:] {
		names = append(names, e.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// MakeSlice returns a slice of n zeros of a type, which has a Size.
func MakeSlice(t Type, n int) any { return reflect.MakeSlice(elements[t].slice, n, n).Interface() }

// Part is slice[from:from+n] of a slice that memory can hold. A range beyond it panics.
func Part(slice any, from, n int) any { return reflect.ValueOf(slice).Slice(from, from+n).Interface() }

// Copy copies as many elements as the shorter of two slices of one type has.
func Copy(dst, src any) { reflect.Copy(reflect.ValueOf(dst), reflect.ValueOf(src)) }

// CheckRange refuses n elements of a type from offset on that m does not have.
func CheckRange(m Memory, t Type, offset, n int) error {
	switch {
	case m.Type() != t:
		return fmt.Errorf("memory of %s, not %s", m.Type(), t)
	case offset < 0 || n > m.Len()-offset:
		return fmt.Errorf("elements %d to %d of memory that has %d", offset, offset+n, m.Len())
	}
	return nil
}
