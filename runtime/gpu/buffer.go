package gpu

import (
	"context"
	"fmt"
	"sync"

	"cancha/runtime/gpu/driver"
)

// Element is what a buffer can hold.
type Element interface {
	float32 | float64 | int32 | uint8
}

// Buffer is an array of a session: in the machine's memory, in the GPU's, or in both where they are the same. Operations move it to
// where they run. Make one with NewBuffer.
type Buffer[T Element] struct{ store *store }

// NewBuffer returns a buffer that holds a copy of values, in the machine's memory.
func NewBuffer[T Element](s *Session, values []T) (*Buffer[T], error) {
	b, err := s.newStore(typeOf[T](), len(values))
	if err != nil {
		return nil, err
	}
	buffer := &Buffer[T]{b}
	if err := buffer.Set(context.Background(), values); err != nil {
		return nil, err
	}
	return buffer, nil
}

func typeOf[T Element]() driver.Type {
	t, _, _ := driver.SliceType([]T(nil)) // every Element is one
	return t
}

// Len is how many elements the buffer has.
func (b *Buffer[T]) Len() int { return b.store.n }

// Set copies values to the buffer; there must be as many as it has.
func (b *Buffer[T]) Set(ctx context.Context, values []T) error {
	if len(values) != b.store.n {
		return fmt.Errorf("gpu: %d values for a buffer of %d", len(values), b.store.n)
	}
	return b.store.set(ctx, values)
}

// CopyTo copies what the buffer holds to dst, which has as many elements.
func (b *Buffer[T]) CopyTo(ctx context.Context, dst []T) error {
	if len(dst) != b.store.n {
		return fmt.Errorf("gpu: room for %d values of a buffer of %d", len(dst), b.store.n)
	}
	return b.store.get(ctx, dst)
}

// Values returns a copy of what the buffer holds.
func (b *Buffer[T]) Values(ctx context.Context) ([]T, error) {
	values := make([]T, b.store.n)
	return values, b.store.get(ctx, values)
}

// Close gives the buffer's memory back. A buffer that is closed already is left alone.
func (b *Buffer[T]) Close() error { return b.store.close() }

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
