// Package session is what a notebook knows of its run: the context that an interrupt ends, the machine and broker that the
// environment gives it, the user whom it can ask, the page that shows what runs, and where it puts what it measured. It ends
// there: it computes nothing and keeps nothing.
package session

import (
	"context"

	"cancha/internal/cellio"
)

// Context ends, with a cause that says so, when the running cell is interrupted. Outside a cell it never ends.
func Context() context.Context {
	if r := cellio.CurrentRun(); r != nil {
		return r.Context()
	}
	return context.Background()
}

// NotifyInterrupt returns a context that the next interrupt of the cell ends. The interrupt then counts as handled: the cell
// goes on after it, with its final table say, and does not fail. It also ends with parent. Call stop when interrupts should
// end the cell again.
//
//	ctx, stop := session.NotifyInterrupt(context.Background())
//	defer stop()
func NotifyInterrupt(parent context.Context) (ctx context.Context, stop func()) {
	return cellio.NotifyInterrupt(parent)
}
