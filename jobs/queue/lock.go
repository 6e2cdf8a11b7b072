package queue

import (
	"context"
	"errors"
)

// ErrHeld tells that another one has a lock.
var ErrHeld = errors.New("another one has the lock")

// Locker is a Broker to which who is on several machines connects, so that nothing but the broker itself can tell them who of them leads.
type Locker interface {
	// Lock takes a lock that one has of all who connect to the broker, by its name; ErrHeld: another one has it. It waits while the broker
	// is away. The context is for the call alone. Nothing of a lock stays when its owner dies, or closes the Broker.
	Lock(ctx context.Context, name string) (Lock, error)
}

// Lock is one that was taken. When the connection breaks it is taken again; until then, and where that fails until Lost is closed, no
// Consumer of the same Broker gets anything.
type Lock interface {
	// Lost is closed when another one has the lock, or may have it.
	Lost() <-chan struct{}
	// Close gives it back.
	Close() error
}
