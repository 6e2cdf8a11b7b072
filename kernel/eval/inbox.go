package eval

import "sync"

// inbox holds what the kernel has sent until somebody sees to it. Putting in never waits: behind it the kernel may say that a
// cell is to be interrupted.
type inbox[T any] struct {
	mu      sync.Mutex
	changed *sync.Cond
	items   []T
	closed  bool
}

func newInbox[T any]() *inbox[T] {
	b := &inbox[T]{}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *inbox[T]) put(item T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, item)
	b.changed.Signal()
}

// take returns the next item, waiting for one; ok is false when there will be none.
func (b *inbox[T]) take() (item T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) == 0 && !b.closed {
		b.changed.Wait()
	}
	if len(b.items) == 0 {
		return item, false
	}
	item = b.items[0]
	b.items = b.items[1:]
	return item, true
}

func (b *inbox[T]) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}
