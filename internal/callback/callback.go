// Package callback calls functions that a user has handed to a library, on goroutines of the library: a panic in one of them, or a call of
// runtime.Goexit, becomes an error that names the place. It ends there: what the error means, a bad record or the end of a query, is for the
// library to say. Where a library calls on the goroutine of its caller, it needs nothing of this.
package callback

import (
	"context"
	"fmt"
	"sync/atomic"

	"cancha/internal/cellio"
	"cancha/internal/stack"
)

// Catch, deferred, turns a panic of the function that defers it into its error. what is put in front: "map x". Returned is to be true once the
// user's function has returned.
//
// A function that was stopped (see [cellio.Fault]), or that ends the goroutine, is no error of what was in hand: Catch panics with the fault
// then, for whoever has called [Do].
func Catch(what string, returned *bool, err *error) {
	p := recover()
	switch {
	case p == nil && *returned:
		return
	case p == nil: // the goroutine is ending, which nothing can prevent; a panic tells those who wait for it
		panic(name(what, cellio.FaultOfGoexit()))
	case cellio.Stops(p) && !cellio.InCall(): // it is the caller's own goroutine, which stops
		panic(p)
	}
	f := cellio.FaultOf(p)
	switch {
	case !f.Stops:
		*err = f
	case p == any(f): // it has a name
		panic(f)
	default:
		panic(name(what, f))
	}
}

func name(what string, f *cellio.Fault) *cellio.Fault {
	if what != "" {
		f.Text = what + ": " + f.Text
	}
	return f
}

// Err is the error of a panic that the calling function has just recovered; what is put in front of it.
func Err(what string, p any) error {
	f := cellio.FaultOf(p)
	if what == "" || p == any(f) {
		return f
	}
	return fmt.Errorf("%s: %w", what, f)
}

// Do calls f on a goroutine of its own, waits for it, and returns its error, also where f panics or ends its goroutine. Functions of cells in it
// stop where they look for interrupts once ctx has ended.
func Do(ctx context.Context, f func() error) (err error) {
	done := make(chan error, 1)
	go func() {
		var err error
		returned := false
		defer func() { done <- err }()
		defer cellio.Enter(ctx)()
		defer func() {
			switch p := recover(); {
			case p != nil:
				err = cellio.FaultOf(p)
			case !returned:
				err = cellio.FaultOfGoexit()
			}
		}()
		err = f()
		returned = true
	}()
	return <-done
}

// Context is that of the Do which the calling goroutine runs for: a library that spreads its work over goroutines hands it on to the Do of
// each. It never ends where there is none.
func Context() context.Context { return cellio.CallContext() }

// Within is [Context] for work that ctx ends: outside of a Do, functions of cells stop once that has ended.
func Within(ctx context.Context) context.Context {
	if cellio.InCall() {
		return cellio.CallContext()
	}
	return ctx
}

// Count counts the calls of a user's function that are under way, and those that have returned. The zero value is ready.
type Count struct{ shards [16]shard }

// shard is of some goroutines, and alone in its cache lines: lanes call side by side, once for each record.
type shard struct {
	begun, ended atomic.Int64
	_            [112]byte
}

func (c *Count) shard() *shard { return &c.shards[stack.Goroutine()>>9%uintptr(len(c.shards))] }

// Begin counts a call that begins, End one that ends, on the same goroutine.
func (c *Count) Begin() { c.shard().begun.Add(1) }

// End is for a call that ends, however it does.
func (c *Count) End() { c.shard().ended.Add(1) }

// Ended returns how many calls have ended, and whether one is under way.
func (c *Count) Ended() (n int64, busy bool) {
	begun := int64(0)
	for i := range c.shards {
		n += c.shards[i].ended.Load()
	}
	for i := range c.shards {
		begun += c.shards[i].begun.Load()
	}
	return n, begun > n
}
