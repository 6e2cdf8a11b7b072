package cellio

import (
	"context"
	"errors"
)

// ErrNoRooms reports that this process builds nothing in while it runs: it is an ordinary program, which imports what it wants.
var ErrNoRooms = errors.New("cellio: nothing is built in here")

// OnRoom sets the function behind [Room]; nil takes it away. Like the outlet, there is one for the whole process.
func OnRoom(open func(ctx context.Context, path, name string) (any, error)) {
	if open == nil {
		attached.rooms.Store(nil)
		return
	}
	attached.rooms.Store(&open)
}

// Room returns what a package exports under a name, a function say, of which this process is not made: with large libraries, it is built in when it is
// wanted first, as an import in a cell does, with its progress in the running cell. Who calls it knows the type by agreement, since importing the
// package would link it. The error is ErrNoRooms outside of an engine, and says what to do where the package cannot be built.
func Room(ctx context.Context, path, name string) (any, error) {
	open := attached.rooms.Load()
	if open == nil {
		return nil, ErrNoRooms
	}
	return (*open)(ctx, path, name)
}
