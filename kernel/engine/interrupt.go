package engine

import "sync"

// interrupts tells cells of an interrupt that no engine can tell them, for there is none yet. The zero value is ready to use.
type interrupts struct {
	mu   sync.Mutex
	next chan struct{} // closed at the next one; nil while nobody waits for it
}

// await returns what is closed at the next interrupt.
func (i *interrupts) await() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.next == nil {
		i.next = make(chan struct{})
	}
	return i.next
}

// tell ends all waits.
func (i *interrupts) tell() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.next != nil {
		close(i.next)
		i.next = nil
	}
}
