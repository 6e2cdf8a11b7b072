package eval

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/primitive"
)

// text is a cell, or an expression that came with one, as its errors name it.
type text struct {
	task *task
	name string // "cell 3"
	code string
	line *int // where its statements are, nil where that is not known
	list []check.Statement
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
	run := p.newRun(t.task)
	if !t.task.begins(run) {
		return compileError(t.task.ctx.Err())
	}
	defer t.task.ends()
	defer p.listen(run)()
	over := make(chan struct{})
	defer close(over)
	go p.watchInterpreted(run, over)
	o, left := p.supervise(run, f)
	exit := p.machine.Exited(run)
	if left {
		fault, line := p.leftBehind(t, run)
		p.stopped(t, line)
		if exit != nil {
			return p.exitFault(exit, o)
		}
		return fault
	}
	if exit != nil && exit.Own && len(o.trace) == 0 {
		o.trace = exit.Trace
	}
	if o.panicked != nil || exit != nil && exit.Own {
		p.stopped(t, t.endedAt(o.trace))
	} else {
		p.stopped(t, 0)
	}
	if exit != nil {
		return p.exitFault(exit, o)
	}
	if err := p.unanswered(run, o); err != nil {
		return err
	}
	return p.fault("the cell", o)
}

// supervise runs a function of cells on a goroutine of its own, so that one that cannot be stopped can be left behind.
func (p *Program) supervise(run *cellio.Run, f func()) (o outcome, left bool) {
	defer func() {
		run.Failed = left || o.panicked != nil
		p.end(run)
		p.machine.LeaveBehind(run)
	}()
	defer p.depth.watch(p.machine)()
	done := make(chan outcome, 1)
	go func() {
		o := outcome{panicked: errGoexit} // unless Do returns
		defer func() { done <- o }()
		defer func() {
			if overflow := p.machine.Overflowed(); overflow != nil {
				o.panicked = overflow
			}
		}()
		o.panicked, o.interrupted, o.trace = p.machine.Do(run, f)
	}()
	select {
	case o = <-done:
		return o, false
	case <-run.Context().Done():
	}
	return p.await(run, done)
}

// A cell that waits in a library for something that no interrupt reaches, such as an answer from the network, is left behind sooner than
// one that computes there: after it has been found waiting waitingLooks times, waitingInterval apart.
const (
	waitingLooks    = 10
	waitingInterval = 120 * time.Millisecond
)

// await waits for an interrupted function as long as it may take to stop; left is true where it has not.
func (p *Program) await(run *cellio.Run, done <-chan outcome) (o outcome, left bool) {
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
		if !p.depth.isLarge() && p.machine.Waiting(run) { // looking walks all stacks
			waiting++
		} else {
			waiting = 0
		}
	}
	return outcome{}, true
}

// end tells those who asked (cellio.AtEnd) that the cell's text is done, however it ended.
func (p *Program) end(run *cellio.Run) {
	defer func() {
		if fault := recover(); fault != nil {
			p.log.Error("end of cell", "cell", run.Cell, "panic", fault)
		}
	}()
	defer p.unread.forget(run)
	run.End()
}

// Interrupt stops the cells that are running, being compiled or waiting for their turn, and the handlers of comms that run. Variables,
// functions and goroutines of earlier cells stay as they are. A cell that has asked to be told of interrupts (cellio.NotifyInterrupt) is
// told instead, and goes on.
func (p *Program) Interrupt() {
	p.mu.Lock()
	tasks := slices.Clone(p.tasks)
	p.mu.Unlock()
	for _, t := range tasks {
		t.interrupt(p.stop)
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

// ExitStatus is the name of the error of a cell that was ended by os.Exit. Its value is the status, a number.
const ExitStatus = "exit status"

// exitFault is the error of a cell that has called os.Exit, also with 0: nothing of the program runs after it. o is how the goroutine ended
// that began the cell.
func (p *Program) exitFault(exit *primitive.Exited, o outcome) *cell.Error {
	trace := exit.Trace
	if exit.Own && o.interrupted && len(o.trace) > 0 { // with interpreted functions
		trace = o.trace
	}
	value := strconv.Itoa(exit.Code)
	return &cell.Error{Name: ExitStatus, Value: value, Traceback: p.traceback(ExitStatus+" "+value, trace)}
}

// exitedBy makes the error of a cell that has failed because a function of a cell has called os.Exit, in a query that the cell has waited for,
// one that tells the status. Any other stays as it is.
func (p *Program) exitedBy(err any, e *cell.Error) *cell.Error {
	code, ok := p.machine.ExitIn(err)
	if !ok {
		return e
	}
	value := strconv.Itoa(code)
	return &cell.Error{Name: ExitStatus, Value: value, Traceback: append([]string{ExitStatus + " " + value}, e.Traceback...)}
}

// fault is the error of what ended in a panic, nil if it did not.
func (p *Program) fault(what string, o outcome) *cell.Error {
	switch {
	case o.panicked == nil:
		return nil
	case o.interrupted:
		return &cell.Error{Name: "interrupted", Value: what + " was interrupted", Traceback: p.traceback("interrupted", o.trace)}
	}
	if text, typ, ok := p.machine.Failure(o.panicked); ok {
		return p.exitedBy(o.panicked, p.errorFault(text, typ, o.trace))
	}
	switch v := o.panicked.(type) {
	case failure:
		return v.err
	case *primitive.Overflow:
		value := v.Error() + "; variables are kept"
		return &cell.Error{Name: "stack overflow", Value: value, Traceback: append([]string{value}, v.Trace...)}
	case primitive.Refusal:
		return &cell.Error{Name: "refused", Value: v.Error(), Traceback: p.traceback("refused: "+v.Error(), o.trace)}
	}
	text := shortened(p.machine.PanicText(o.panicked))
	return &cell.Error{Name: "panic", Value: text, Traceback: p.traceback("panic: "+text, o.trace)}
}

// shortened cuts a panic's value that is longer than anybody reads, and than a front end shows.
func shortened(text string) string {
	const most = 64 << 10
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}

// leftBehind is the error of a cell that has not stopped in time.
func (p *Program) leftBehind(t text, run *cellio.Run) (fault *cell.Error, line int) {
	in := p.machine.Waits(run)
	if in == "" {
		in = t.name
	}
	text := "still in " + in + "; its goroutine was left behind; restart the kernel to be rid of it"
	at := primitive.Frame{Cell: t.name, Line: p.machine.WaitsAt(run, t.name)}
	if at.Line == 0 && t.line != nil {
		at.Line = *t.line
	}
	return &cell.Error{Name: "interrupted", Value: text, Traceback: p.traceback("interrupted: "+text, []primitive.Frame{at})}, at.Line
}

// endedAt is the line at which a cell has ended, 0 if that is not known. After runtime.Goexit or a stack overflow there is no trace.
func (t text) endedAt(trace []primitive.Frame) int {
	if len(trace) == 0 && t.line != nil {
		return *t.line
	}
	return ownLine(t.name, trace)
}

// ownLine is the line of a cell's statements that a trace leads to, 0 if that is not known.
func ownLine(cell string, trace []primitive.Frame) int {
	for _, f := range slices.Backward(trace) {
		if f.Function == "" && f.Cell == cell {
			return f.Line
		}
	}
	return 0
}

// stopped forgets what a cell has not come to declare that failed at a line, or ended by a return or after a panic that it recovered, with line 0.
func (p *Program) stopped(t text, line int) {
	tells := check.Tells(t.list)
	if line == 0 && !tells || len(t.list) == 0 {
		return
	}
	end := check.End{Line: line}
	if tells {
		end.Ran = p.machine.HasRan(t.task.request.Cell)
	}
	notes := p.scope.Stopped(t.name, t.list, end, func(v *types.Var) bool {
		at := p.variable(p.lowerer.Place(v))
		return !at.IsValid() || at.IsZero()
	})
	p.note(t.task.request.Cell, notes)
}

// compileError is the error of a cell that was refused.
func compileError(err error) *cell.Error {
	if errors.Is(err, context.Canceled) {
		return &cell.Error{Name: "interrupted", Value: "the cell was interrupted before it ran", Traceback: []string{"interrupted: the cell was interrupted before it ran"}}
	}
	if u := (*unready)(nil); errors.As(err, &u) {
		return u.fault
	}
	var e *check.Error
	if !errors.As(err, &e) {
		return &cell.Error{Name: "compile error", Value: err.Error(), Traceback: []string{"compile error: " + err.Error()}}
	}
	return &cell.Error{Name: "compile error", Value: e.Error(), Traceback: strings.Split(strings.Join(e.Lines(), "\n"), "\n")}
}
