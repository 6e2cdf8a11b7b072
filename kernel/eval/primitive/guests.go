package primitive

import (
	"context"
	"errors"
	"fmt"

	"cancha/internal/cellio"
	"cancha/internal/stack"
	"cancha/kernel/eval/native/support"
)

// A library calls functions of cells on goroutines of its own, too: guests. What they panic with is the library's to recover, as it is in a
// program; the machine says what it was.

// guests are what libraries ask of the machine.
type guests struct{ m *Machine }

// Host returns what libraries ask of the machine.
func Host(m *Machine) cellio.Host { return guests{m} }

// guest is what is known of a library's goroutine while it calls functions of cells. It is the goroutine's own.
type guest struct {
	ctx context.Context // the functions stop once it has ended
}

// Enter implements cellio.Host.
func (h guests) Enter(ctx context.Context) (leave func()) {
	m := h.m
	id := stack.Goroutine()
	if id == 0 {
		return func() {}
	}
	before, nested := m.guests.Load(id)
	m.guests.Store(id, &guest{ctx})
	_, ours := m.depth.caught.LoadOrStore(id, true)
	stop := context.AfterFunc(ctx, func() { m.stopGuests(1) })
	return func() {
		if !stop() {
			m.stopGuests(-1)
		}
		m.leaves(id)
		if nested {
			m.guests.Store(id, before)
		} else {
			m.guests.Delete(id)
		}
		if !ours {
			m.forgetFall()
			m.depth.caught.Delete(id)
		}
	}
}

// Context implements cellio.Host.
func (h guests) Context() context.Context {
	if g := h.m.guest(); g != nil {
		return g.ctx
	}
	return nil
}

// stopGuests counts the guests that are to stop.
func (m *Machine) stopGuests(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped += n
	m.updateStop()
}

// guest is what is known of the calling goroutine as one of a library's; nil if it is none.
func (m *Machine) guest() *guest {
	g, _ := m.guests.Load(stack.Goroutine())
	found, _ := g.(*guest)
	return found
}

// toStop tells whether the calling goroutine is to stop: its cell was interrupted. A library's goroutine stops when the library says so: what
// works on beside a cell is not torn by the cell's interrupt.
func (m *Machine) toStop(r *cellio.Run) bool {
	if g := m.guest(); g != nil {
		return g.ctx.Err() != nil
	}
	return r != nil && r.Context().Err() != nil
}

// untilStop is closed when the calling goroutine is to stop; nil where that is never.
func (m *Machine) untilStop(r *cellio.Run) <-chan struct{} {
	if g := m.guest(); g != nil {
		return g.ctx.Done()
	}
	if r == nil {
		return nil
	}
	return r.Context().Done()
}

// Stops implements cellio.Host.
func (guests) Stops(p any) bool {
	_, ok := p.(interrupted)
	return ok
}

// Fault implements cellio.Host.
func (h guests) Fault(p any) *cellio.Fault {
	m := h.m
	trace := m.trace.take()
	f := &cellio.Fault{Place: placeOf(trace)}
	if i, ok := p.(interrupted); ok {
		m.leaves(stack.Goroutine())
		f.Stops = true
		f.Text, f.Err = i.Error(), cellio.ErrInterrupted
		if i.exit != nil {
			f.Err = i.exit
		}
	} else {
		f.Text = m.headline(p, "")
		f.Err, _ = p.(error)
		if failure, ok := p.(support.Failure); ok {
			f.Err = failure.Err
		}
	}
	f.Trace = m.traceback(f.Text, trace)
	return f
}

// Goexit implements cellio.Host.
func (h guests) Goexit() *cellio.Fault {
	m := h.m
	if o := m.Overflowed(); o != nil {
		return &cellio.Fault{Text: o.Error(), Trace: append([]string{o.Error()}, o.Trace...), Stops: true}
	}
	trace := flat(cellFrames())
	f := &cellio.Fault{Text: "runtime.Goexit was called", Place: placeOf(trace), Stops: true}
	f.Trace = m.traceback(f.Text, trace)
	return f
}

// placeOf names the innermost function of a trace: "in double, cell 3:2".
func placeOf(trace []Frame) string {
	switch {
	case len(trace) == 0:
		return ""
	case trace[0].Function == "":
		return trace[0].Place()
	}
	return fmt.Sprintf("in %s, %s", trace[0].Function, trace[0].Place())
}

// flat are the frames of all groups.
func flat(groups [][]Frame) []Frame {
	g := &passage{compiled: groups}
	for g.written < len(g.compiled) {
		g.pass()
	}
	return g.frames
}

// exitIn is the end of a process that an error, or a panic of a cell that fails with one, tells of; nil for any other.
func exitIn(x any) *cellio.ExitError {
	if f, ok := x.(support.Failure); ok {
		x = f.Err
	}
	err, _ := x.(error)
	var exit *cellio.ExitError
	if err == nil || !errors.As(err, &exit) {
		return nil
	}
	return exit
}
