package cellio

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Fault is how a function that a library was handed has ended without returning.
type Fault struct {
	Text  string   // "panic: boom"; "interrupted"; "exit status 3", where the function has called os.Exit
	Place string   // "in double, cell 3:2"; "" where that is not known, as in an ordinary program
	Trace []string // the functions of the cells that it left, innermost first, and the line; nil in an ordinary program
	Stops bool     // whoever runs the cell has stopped it: the library ends what called it, instead of calling it again
	Err   error    // ErrInterrupted, an *ExitError, or the panic's value where that is an error; nil for any other
}

func (f *Fault) Error() string {
	if f.Place == "" {
		return f.Text
	}
	return f.Text + " (" + f.Place + ")"
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// ExitError tells that code of a cell has called os.Exit, which ends the cell and not the process.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// Host is what an engine does for libraries that call functions of cells.
type Host interface {
	// Enter tells that the calling goroutine calls such functions, and recovers their panics, until leave is called there. Once ctx has
	// ended, they stop where they look for interrupts.
	Enter(ctx context.Context) (leave func())
	// Context is what Enter was called with on the calling goroutine; nil where it was not.
	Context() context.Context
	// Stops tells whether a panic is that of a goroutine which is to stop: after an interrupt, and after os.Exit.
	Stops(p any) bool
	// Fault describes a panic that the calling function has just recovered.
	Fault(p any) *Fault
	// Goexit describes why the calling goroutine ends, of which deferred calls run without a panic.
	Goexit() *Fault
}

var host atomic.Pointer[Host]

// OnCalls makes h the process's host; nil takes it away.
func OnCalls(h Host) {
	if h == nil {
		host.Store(nil)
		return
	}
	host.Store(&h)
}

// Enter is [Host.Enter]; outside an engine it does nothing.
func Enter(ctx context.Context) (leave func()) {
	if h := host.Load(); h != nil {
		return (*h).Enter(ctx)
	}
	return func() {}
}

// CallContext is the context that the calling goroutine has entered with; one that never ends where it has not, and outside an engine.
func CallContext() context.Context {
	if h := host.Load(); h != nil {
		if ctx := (*h).Context(); ctx != nil {
			return ctx
		}
	}
	return context.Background()
}

// InCall tells whether the calling goroutine has entered.
func InCall() bool {
	h := host.Load()
	return h != nil && (*h).Context() != nil
}

// Stops tells whether a panic that the calling function has just recovered stops the goroutine. Where nobody has entered, it is to go on.
func Stops(p any) bool {
	if f, ok := p.(*Fault); ok {
		return f.Stops
	}
	h := host.Load()
	return h != nil && (*h).Stops(p)
}

// FaultOf describes a panic that the calling function has just recovered. A Fault is itself: what has recovered it has panicked with it.
// A value whose methods panic when they are asked for its text is told by its type.
func FaultOf(p any) (f *Fault) {
	defer func() {
		if recover() != nil {
			f = &Fault{Text: fmt.Sprintf("panic: a %T, which panics when it is asked for its text", p)}
		}
	}()
	if f, ok := p.(*Fault); ok {
		return f
	}
	if h := host.Load(); h != nil {
		return (*h).Fault(p)
	}
	f = &Fault{Text: fmt.Sprintf("panic: %v", p)}
	f.Err, _ = p.(error)
	return f
}

// FaultOfGoexit describes why the calling goroutine ends: a deferred call runs, and there is no panic.
func FaultOfGoexit() *Fault {
	if h := host.Load(); h != nil {
		return (*h).Goexit()
	}
	return &Fault{Text: "runtime.Goexit was called", Stops: true}
}
