package eval

import (
	"context"
	"errors"
	"strings"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/primitive"
)

// text is a cell, or an expression that came with one, as its errors name it.
type text struct {
	name   string // "cell 3"
	code   string
	serial int64
	line   *int // where its statements are, nil where that is not known
}

// outcome is how a cell's function ended.
type outcome struct {
	panicked    any
	interrupted bool
	trace       []primitive.Frame
}

// errGoexit is how a cell ends that leaves its goroutine, which in a program would be the main one.
var errGoexit = errors.New("the cell has called runtime.Goexit")

// execute runs a cell's function.
func (p *Program) execute(t text, f func()) *cell.Error {
	run := cellio.NewRun(t.serial)
	run.Message = p.message
	p.current.Store(run)
	defer p.current.Store(nil)
	defer p.listen(run)()
	over := make(chan struct{})
	defer close(over)
	go p.watchInterpreted(t.serial, over)
	o, left := p.supervise(run, p.machine.Do, f)
	if left {
		return p.leftBehind(t)
	}
	if err := p.unanswered(run, o); err != nil {
		return err
	}
	return p.fault("the cell", o)
}

// supervise runs a function of cells with do, on a goroutine of its own, so that one that cannot be stopped can be left behind.
func (p *Program) supervise(run *cellio.Run, do runner, f func()) (o outcome, left bool) {
	defer p.end(run)
	over := make(chan struct{})
	defer close(over)
	go p.watchStack(run, over)
	done := make(chan outcome, 1)
	go func() {
		o := outcome{panicked: errGoexit} // unless do returns
		defer func() { done <- o }()
		defer func() {
			if err := p.machine.Depth(run); err != nil && o.panicked == errGoexit {
				o.panicked = err
			}
		}()
		o.panicked, o.interrupted, o.trace = do(run, f)
	}()
	select {
	case o = <-done:
		return o, false
	case <-run.Context().Done():
	}
	return p.await(done)
}

// A cell that waits in a library for what no interrupt reaches, such as an answer from the network, is left behind sooner than one
// that computes there: it has to be found waiting waitingLooks times, waitingInterval apart.
const (
	waitingLooks    = 10
	waitingInterval = 120 * time.Millisecond
)

// await waits for an interrupted function as long as it may take to stop; left is true where it has not.
func (p *Program) await(done <-chan outcome) (o outcome, left bool) {
	late, look := time.NewTimer(p.grace), time.NewTicker(waitingInterval)
	defer late.Stop()
	defer look.Stop()
	for waiting := 0; waiting < waitingLooks; {
		select {
		case o = <-done: // without a panic if it ended before it noticed
			return o, false
		case <-late.C:
			return outcome{}, true
		case <-look.C:
		}
		if p.machine.Waiting() {
			waiting++
		} else {
			waiting = 0
		}
	}
	return outcome{}, true
}

// runner is Do or DoBeside of the machine.
type runner func(*cellio.Run, func()) (panicked any, interrupted bool, trace []primitive.Frame)

// end tells those who asked (cellio.AtEnd) that the cell's text is done, however it ended.
func (p *Program) end(run *cellio.Run) {
	defer func() {
		if fault := recover(); fault != nil {
			p.log.Error("end of cell", "cell", run.Cell, "panic", fault)
		}
	}()
	run.End()
}

// Interrupt stops the running cell and the handlers of comms that run. Variables, functions and goroutines of earlier cells stay as they are. Where the cell
// has asked to be told of interrupts (cellio.NotifyInterrupt) it is told instead, and goes on.
func (p *Program) Interrupt() {
	p.cancelBuild()
	if run := p.current.Load(); run != nil {
		p.stop(run)
	}
	p.handlers.Range(func(run, _ any) bool {
		p.stop(run.(*cellio.Run))
		return true
	})
}

func (p *Program) stop(run *cellio.Run) {
	if !run.Interrupt() {
		p.machine.Interrupt(run)
	}
	if p.asker != nil {
		p.asker.Interrupt(run)
	}
}

// fault is the error of what ended in a panic, nil if it did not.
func (p *Program) fault(what string, o outcome) *cell.Error {
	switch {
	case o.panicked == nil:
		return nil
	case o.interrupted:
		return &cell.Error{Name: "interrupted", Value: what + " was interrupted", Traceback: p.traceback("interrupted", o.trace)}
	}
	if r, ok := o.panicked.(primitive.Refusal); ok {
		return &cell.Error{Name: "refused", Value: r.Error(), Traceback: p.traceback("refused: "+r.Error(), o.trace)}
	}
	text := p.machine.PanicText(o.panicked)
	return &cell.Error{Name: "panic", Value: text, Traceback: p.traceback("panic: "+text, o.trace)}
}

// leftBehind is the error of a cell that has not stopped in time.
func (p *Program) leftBehind(t text) *cell.Error {
	in := p.machine.Waits()
	if in == "" {
		in = t.name
	}
	text := "still in " + in + "; its goroutine was left behind; restart the kernel to be rid of it"
	at := primitive.Frame{Cell: t.name, Line: p.machine.WaitsAt(t.name)}
	if at.Line == 0 && t.line != nil {
		at.Line = *t.line
	}
	return &cell.Error{Name: "interrupted", Value: text, Traceback: p.traceback("interrupted: "+text, []primitive.Frame{at})}
}

// compileError is the error of a cell that was refused.
func compileError(err error) *cell.Error {
	if errors.Is(err, context.Canceled) {
		return &cell.Error{Name: "interrupted", Value: "the cell was interrupted while it was compiled", Traceback: []string{"interrupted: the cell was being compiled"}}
	}
	var e *check.Error
	if !errors.As(err, &e) {
		return &cell.Error{Name: "compile error", Value: err.Error(), Traceback: []string{"compile error: " + err.Error()}}
	}
	return &cell.Error{Name: "compile error", Value: e.Error(), Traceback: strings.Split(strings.Join(e.Lines(), "\n"), "\n")}
}
