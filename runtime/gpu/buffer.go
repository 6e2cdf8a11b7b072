package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"cancha/runtime/gpu/driver"
)

// Float32s and its siblings are arrays of a session: in the machine's memory, in the GPU's, or in both where they are the same.
// Operations move them to where they run. Len is how many elements one has, Set and CopyTo copy all of them from and to a slice, Values
// returns a copy, and Close gives the memory back.
type (
	Float32s struct{ array[float32] }
	Float64s struct{ array[float64] }
	Int32s   struct{ array[int32] }
	Int64s   struct{ array[int64] }
	Uint8s   struct{ array[uint8] }
	Uint16s  struct{ array[uint16] }
	Uint32s  struct{ array[uint32] }
)

// Buffer is an array of a session, of whatever type.
type Buffer interface {
	Len() int
	Close() error
	inner() *store
}

// NewFloat32s returns an array that holds a copy of values, in the machine's memory.
func NewFloat32s(s *Session, values []float32) (*Float32s, error) {
	b, err := newArray(s, values)
	if err != nil {
		return nil, err
	}
	return &Float32s{b}, nil
}

// NewFloat64s is NewFloat32s for float64.
func NewFloat64s(s *Session, values []float64) (*Float64s, error) {
	b, err := newArray(s, values)
	if err != nil {
		return nil, err
	}
	return &Float64s{b}, nil
}

// NewInt32s is NewFloat32s for int32.
func NewInt32s(s *Session, values []int32) (*Int32s, error) {
	b, err := newArray(s, values)
	if err != nil {
		return nil, err
	}
	return &Int32s{b}, nil
}

// NewUint8s is NewFloat32s for uint8.
func NewUint8s(s *Session, values []uint8) (*Uint8s, error) {
	b, err := newArray(s, values)
	if err != nil {
		return nil, err
	}
	return &Uint8s{b}, nil
}

// NewInt64s is NewFloat32s for int64.
func NewInt64s(s *Session, values []int64) (*Int64s, error) {
	b, err := newArray(s, values)
	if err != nil {
		return nil, err
	}
	return &Int64s{b}, nil
}

// NewUint16s is NewFloat32s for uint16.
func NewUint16s(s *Session, values []uint16) (*Uint16s, error) {
	b, err := newArray(s, values)
	if err != nil {
		return nil, err
	}
	return &Uint16s{b}, nil
}

// NewUint32s is NewFloat32s for uint32.
func NewUint32s(s *Session, values []uint32) (*Uint32s, error) {
	b, err := newArray(s, values)
	if err != nil {
		return nil, err
	}
	return &Uint32s{b}, nil
}

// array is a buffer of some type. Cells do not see it: interpreted ones know no generic types of compiled packages.
type array[T driver.Element] struct{ store *store }

func newArray[T driver.Element](s *Session, values []T) (b array[T], err error) {
	if b.store, err = s.newStore(typeOf[T](), len(values)); err != nil {
		return b, err
	}
	if err := b.store.fill(values); err != nil {
		return b, errors.Join(err, b.Close())
	}
	return b, nil
}

func typeOf[T driver.Element]() driver.Type {
	t, _, _ := driver.SliceType([]T(nil)) // every element is one
	return t
}

func (b *array[T]) inner() *store { return b.store }

// Len is how many elements the buffer has.
func (b *array[T]) Len() int { return b.store.n }

// Set copies values to the buffer; there must be as many as it has.
func (b *array[T]) Set(ctx context.Context, values []T) error {
	if len(values) != b.store.n {
		return fmt.Errorf("gpu: %d values for a buffer of %d", len(values), b.store.n)
	}
	return b.store.set(ctx, values)
}

// CopyTo copies what the buffer holds to dst, which has as many elements.
func (b *array[T]) CopyTo(ctx context.Context, dst []T) error {
	if len(dst) != b.store.n {
		return fmt.Errorf("gpu: room for %d values of a buffer of %d", len(dst), b.store.n)
	}
	return b.store.get(ctx, dst)
}

// Values returns a copy of what the buffer holds.
func (b *array[T]) Values(ctx context.Context) ([]T, error) {
	values := make([]T, b.store.n)
	return values, b.store.get(ctx, values)
}

// Close gives the buffer's memory back. A buffer that is closed already is left alone.
func (b *array[T]) Close() error { return b.store.close() }

// side is one of the two places where a session works.
type side int

const (
	onCPU side = iota
	onGPU
	sides
)

func (s side) String() string { return [...]string{"CPU", "GPU"}[s] }

// store is a buffer without its type. Its lock is held while an operation uses it; an operation locks several in the order of their
// ids, and the session's own lock after them.
type store struct {
	session *Session
	id      int64
	kind    driver.Type
	n       int

	mu     sync.Mutex
	memory [sides]driver.Memory // nil where it has none
	valid  [sides]bool          // where what it holds is: on one side at least, once it was set
	used   int64                // the session's count of operations when it was last used
	pinned func() error         // gives pinned memory of the machine back; nil where it has other
	closed bool
}

func (b *store) bytes() int64 { return int64(b.n) * int64(b.kind.Size()) }
