package primitive

import (
	"go/types"
	"reflect"
	"strings"
)

// Declared numbers and strings have to be told apart by reflection, which cannot make a type with a given underlying kind.
// So there is a pool of such types, made by instantiating generic ones with a pair of markers; a cell's type takes the next.

// PoolSize is how many types the pool has of each kind.
const PoolSize = 64

type (
	poolBool[T any]       bool
	poolInt[T any]        int
	poolInt8[T any]       int8
	poolInt16[T any]      int16
	poolInt32[T any]      int32
	poolInt64[T any]      int64
	poolUint[T any]       uint
	poolUint8[T any]      uint8
	poolUint16[T any]     uint16
	poolUint32[T any]     uint32
	poolUint64[T any]     uint64
	poolUintptr[T any]    uintptr
	poolFloat32[T any]    float32
	poolFloat64[T any]    float64
	poolComplex64[T any]  complex64
	poolComplex128[T any] complex128
	poolString[T any]     string
)

type (
	pair[A, B any] struct{}
	m0             struct{}
	m1             struct{}
	m2             struct{}
	m3             struct{}
	m4             struct{}
	m5             struct{}
	m6             struct{}
	m7             struct{}
)

// PoolKinds are the kinds that the pool has.
func PoolKinds() map[types.BasicKind]bool {
	kinds := map[types.BasicKind]bool{}
	for _, k := range []types.BasicKind{
		types.Bool, types.Int, types.Int8, types.Int16, types.Int32, types.Int64, types.Uint, types.Uint8, types.Uint16,
		types.Uint32, types.Uint64, types.Uintptr, types.Float32, types.Float64, types.Complex64, types.Complex128, types.String,
	} {
		kinds[k] = true
	}
	return kinds
}

// pool returns all types by name: Int0, Int1, …
func pool() map[string]reflect.Type {
	p := maker{all: map[string]reflect.Type{}}
	row[m0](&p)
	row[m1](&p)
	row[m2](&p)
	row[m3](&p)
	row[m4](&p)
	row[m5](&p)
	row[m6](&p)
	row[m7](&p)
	return p.all
}

type maker struct {
	all map[string]reflect.Type
	n   int
}

func row[A any](p *maker) {
	kinds[pair[A, m0]](p)
	kinds[pair[A, m1]](p)
	kinds[pair[A, m2]](p)
	kinds[pair[A, m3]](p)
	kinds[pair[A, m4]](p)
	kinds[pair[A, m5]](p)
	kinds[pair[A, m6]](p)
	kinds[pair[A, m7]](p)
}

func kinds[T any](p *maker) {
	for _, t := range []reflect.Type{
		reflect.TypeFor[poolBool[T]](), reflect.TypeFor[poolInt[T]](), reflect.TypeFor[poolInt8[T]](),
		reflect.TypeFor[poolInt16[T]](), reflect.TypeFor[poolInt32[T]](), reflect.TypeFor[poolInt64[T]](),
		reflect.TypeFor[poolUint[T]](), reflect.TypeFor[poolUint8[T]](), reflect.TypeFor[poolUint16[T]](),
		reflect.TypeFor[poolUint32[T]](), reflect.TypeFor[poolUint64[T]](), reflect.TypeFor[poolUintptr[T]](),
		reflect.TypeFor[poolFloat32[T]](), reflect.TypeFor[poolFloat64[T]](), reflect.TypeFor[poolComplex64[T]](),
		reflect.TypeFor[poolComplex128[T]](), reflect.TypeFor[poolString[T]](),
	} {
		name := t.Kind().String()
		p.all[strings.ToUpper(name[:1])+name[1:]+itoa(p.n)] = t
	}
	p.n++
}
