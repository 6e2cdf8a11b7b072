package cellio

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ErrDetached reports that no outlet is attached: the program is not a cell but an ordinary Go program.
var ErrDetached = errors.New("cellio: not in a cell")

// ErrInterrupted is the cause of a run's context after an interrupt.
var ErrInterrupted = errors.New("interrupted")

// Run is one execution of a cell. Goroutines carry their run as a profiler label, which Go itself hands from a
// goroutine to those it starts, in compiled code too; reading it costs 2 ns (measured), where parsing a goroutine id costs 1 µs.
type Run struct {
	Cell    int64
	Message string // id of the message that asked for it, where the kernel has told
	Origin  string // which cell it executes: the same when that is run again; "" where nobody knows
	Aside   bool   // it came beside the cells
	Failed  bool   // it ended in a panic, or did not end: its error is still to be told; set before End

	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	handlers []*handler // innermost last
	endings  []*ending  // see AtEnd
	ended    bool
	ending   bool          // the endings are being called
	notice   chan struct{} // closed at the next interrupt; nil where nobody waits for it
}

// handler is whom an interrupt is told to. It is a pointer so that it can be found again.
type handler struct{ tell context.CancelCauseFunc }

// attached is the process's outlet and its latest run. Like os.Stdout it is one for the process: a cell's text names no
// writer, so what it prints can only go to the one that the process has.
var attached struct {
	outlet atomic.Pointer[Outlet]
	render atomic.Pointer[[]Renderer]
	latest atomic.Pointer[Run]
	runs   sync.Map // address of labels → *Run

	comms     atomic.Pointer[func(Frame)]
	rooms     atomic.Pointer[func(ctx context.Context, path, name string) (any, error)]
	residents sync.Map // reflect.Type → func() any
}

// Renderer turns a value of a kind it knows into its display, and reports whether it knew it.
type Renderer func(v any) (Display, bool)

// Attach makes o the process's outlet; nil detaches. The renderers show values that the display itself does not know (plots, matrices,
// tables), so that the display need not import them.
func Attach(o *Outlet, renderers ...Renderer) {
	attached.outlet.Store(o)
	attached.render.Store(&renderers)
}

// Render asks the attached renderers, in their order, for v's display.
func Render(v any) (Display, bool) {
	rs := attached.render.Load()
	if rs == nil {
		return Display{}, false
	}
	for _, r := range *rs {
		if d, ok := r(v); ok {
			return d, true
		}
	}
	return Display{}, false
}

// NewRun returns the run of a cell; its context ends at [Run.Interrupt].
func NewRun(cell int64) *Run {
	r := NewAside(cell)
	r.Aside = false
	attached.latest.Store(r)
	return r
}

// NewAside returns a run that is not a cell's, such as that of a comm's handler. Output that belongs to no run still goes to the latest
// cell.
func NewAside(cell int64) *Run {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Run{Cell: cell, Aside: true, ctx: ctx, cancel: cancel}
}

// Do calls f with the calling goroutine, and all that it starts, bound to the run.
func (r *Run) Do(f func()) {
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("cell", strconv.FormatInt(r.Cell, 10)))
	pprof.SetGoroutineLabels(ctx)
	r.bind(goroutineLabels())
	defer pprof.SetGoroutineLabels(context.Background())
	f()
}

// bind makes the labels at p mean the run until no goroutine has them any more. The address may then be that of other labels,
// which mean another run.
func (r *Run) bind(p unsafe.Pointer) {
	attached.runs.Store(uintptr(p), r)
	runtime.AddCleanup((*byte)(p), func(at uintptr) { attached.runs.CompareAndDelete(at, r) }, uintptr(p))
}

// Context ends, with cause ErrInterrupted, when the run is interrupted and nobody handles the interrupt.
func (r *Run) Context() context.Context { return r.ctx }

// Interrupt tells the innermost handler (see [NotifyInterrupt]) or, where there is none, ends the run's context.
// It reports whether a handler took it.
func (r *Run) Interrupt() (handled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notice != nil {
		defer close(r.notice)
		r.notice = nil
	}
	if n := len(r.handlers); n > 0 {
		r.handlers[n-1].tell(ErrInterrupted)
		r.handlers = r.handlers[:n-1]
		return true
	}
	r.cancel(ErrInterrupted)
	return false
}

// Cancel ends the run's context, whoever handles interrupts.
func (r *Run) Cancel(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notice != nil {
		close(r.notice)
		r.notice = nil
	}
	r.cancel(cause)
}

// nextInterrupt is closed at the next interrupt, handled or not.
func (r *Run) nextInterrupt() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notice == nil {
		r.notice = make(chan struct{})
	}
	return r.notice
}

// CurrentRun returns the run that the calling goroutine belongs to, the latest run where it belongs to none
// (a timer's goroutine, say), and nil outside an engine.
func CurrentRun() *Run {
	if r := OwnRun(); r != nil {
		return r
	}
	return attached.latest.Load()
}

// OwnRun returns the run that the calling goroutine belongs to, nil where it belongs to none.
func OwnRun() *Run {
	if p := goroutineLabels(); p != nil {
		if r, ok := attached.runs.Load(uintptr(p)); ok {
			return r.(*Run)
		}
	}
	return nil
}

// NotifyInterrupt returns a context that ends at the next interrupt of the current run, which then counts as handled: the
// cell goes on and may end without an error. It is signal.NotifyContext for cells. Outside an engine it ends with parent.
// Calling stop gives the interrupt back.
func NotifyInterrupt(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	r := CurrentRun()
	if r == nil {
		return ctx, func() { cancel(context.Canceled) }
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &handler{cancel}
	r.handlers = append(r.handlers, h)
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.handlers = slices.DeleteFunc(r.handlers, func(o *handler) bool { return o == h })
		cancel(context.Canceled)
	}
}

// Emit sends body as a frame of the current run's cell, or returns ErrDetached.
func Emit(kind Kind, body any, buffers ...[]byte) error {
	o, r := attached.outlet.Load(), CurrentRun()
	if o == nil || r == nil {
		return ErrDetached
	}
	return o.Emit(kind, r.Cell, body, buffers...)
}

// Stdout and Stderr write to the current run's cell, where they fail with ErrInterrupted if it is interrupted while front ends
// cannot take more, or to the process's own streams in an ordinary program.
var (
	Stdout io.Writer = stream{"stdout", os.Stdout}
	Stderr io.Writer = stream{"stderr", os.Stderr}
)

type stream struct {
	name     string
	fallback *os.File
}

func (s stream) Write(p []byte) (int, error) {
	o, r := attached.outlet.Load(), CurrentRun()
	if o == nil || r == nil {
		return s.fallback.Write(p)
	}
	if err := o.Write(r.Cell, s.name, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// goroutineLabels is the pointer to the calling goroutine's profiler labels: nil without any. The runtime exports it by
// this name to profilers and keeps its signature for them.
//
//go:linkname goroutineLabels runtime/pprof.runtime_getProfLabel
func goroutineLabels() unsafe.Pointer
