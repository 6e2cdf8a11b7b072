// Package engine is the kernel's side of an engine process: it starts one, talks frames with it, stops what it runs and,
// when it dies, says why and starts a fresh one. It ends at the frame: what a cell means is the engine's business, what a
// client sees is the kernel's.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// Config tells how to run engines. Command and Sink are needed.
type Config struct {
	// Command returns a fresh command that runs an engine. The engine finds its end of the socket pair as file
	// descriptor ConnFD; fd 1 and 2 become pipes.
	Command func() *exec.Cmd
	// Prepare, if set, makes what Command needs: it is run once, before Command is called for the first time, and may take
	// minutes. What it says, a line at a time, is shown in the cell that waits for it. It ends early when its context does.
	Prepare func(ctx context.Context, say func(line string))
	// Check, if set, tells what keeps any engine from starting until the user has mended it: wrong settings. It is asked before each start,
	// and its error is that of the cell which wanted the engine. It must not call the Engine.
	Check func() error
	// Failed, if set, is told once why an engine did not start to serve. It returns true if Command has another engine to offer, which is
	// then tried at once. It must not call the Engine.
	Failed func(why string) bool
	// Replace, if set, makes Command offer the engine of the workspace in a folder from now on. It must not call the Engine.
	Replace func(workspace string) error
	// Sink takes the output of cells, frame by frame, in order for each cell. It must not block: while it does, nothing that an
	// engine says is heard.
	Sink func(cellio.Frame)
	// Gate holds up writers while front ends cannot take what the sink would get; nil lets everything in.
	Gate Gate
	// Ended, if set, is called when an engine process has ended and the sink has all its output, before its cell ends.
	Ended func()
	// Logger takes what no cell should see; nil is silent.
	Logger *slog.Logger
}

// The file descriptors on which an engine process finds its connection to the kernel, and the file of its [cellio.Journal], which
// cannot be mapped where there is none; the reading ends of its fd 1 and 2, which are the engine's from the moment in which it says that
// it catches what comes there; and a pipe for the last words of its runtime, which the kernel always reads.
const (
	ConnFD    = 3
	JournalFD = 4
	StdoutFD  = 5
	StderrFD  = 6
	WordsFD   = 7
)

// closeGrace is what an engine gets to leave in order before it is killed; protocol clients expect a shutdown within 2 s.
const closeGrace = 500 * time.Millisecond

// errClosed answers what is asked after Close.
var errClosed = errors.New("the kernel is shutting down")

// errSettings is part of what Config.Check says.
var errSettings = errors.New("wrong settings")

// errNotServing answers what cannot wait for an engine.
var errNotServing = errors.New("no engine is running")

// Engine supervises engine processes, one at a time. Its methods may be called by any goroutine; cells that are executed at the
// same time run beside each other as far as the engine lets them.
type Engine struct {
	config      Config
	preparation *preparation
	interrupts  interrupts // of cells that wait for an engine

	mu      sync.Mutex
	current *process    // nil only after a start that failed, or Close
	lost    *cell.Error // how an engine died that no cell has told of yet
	closed  bool
}

// New prepares and starts the first engine in the background and returns at once.
func New(c Config) *Engine {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{config: c}
	e.preparation = prepare(c.Prepare, func() {
		if _, err := e.process(); err != nil && !errors.Is(err, errClosed) {
			c.Logger.Error("start engine", "error", err)
		}
	})
	return e
}

// process returns the living process, starting a fresh one where there is none.
func (e *Engine) process() (*process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, errClosed
	case e.current != nil && !e.current.gone():
		return e.current, nil
	}
	if p := e.current; p != nil && !p.hasServed() {
		e.another(p)
	} else if p != nil && !p.told {
		e.lost = p.death()
	}
	return e.start()
}

// start starts a process, of another command where that fails and there is one. The caller holds mu.
func (e *Engine) start() (*process, error) {
	if err := e.check(); err != nil {
		e.current = nil
		return nil, err
	}
	for {
		p, err := start(e.config)
		if err == nil {
			e.current = p
			return p, nil
		}
		e.current = nil
		err = fmt.Errorf("start engine: %w", err)
		if e.config.Failed == nil || !e.config.Failed(err.Error()) {
			return nil, err
		}
	}
}

func (e *Engine) check() error {
	if e.config.Check == nil {
		return nil
	}
	if err := e.config.Check(); err != nil {
		return fmt.Errorf("%w: %w", errSettings, err)
	}
	return nil
}

// checkFirst checks before a cell waits for an engine that is not there yet: preparing one may take minutes.
func (e *Engine) checkFirst() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current != nil && !e.current.gone() {
		return nil
	}
	return e.check()
}

// another tells, of a process that ended before it served, whether there is another command to try. All who waited for the process
// get the one answer that Failed gave, and none starts the next one before: Failed decides what that is. The caller holds mu.
func (e *Engine) another(p *process) bool {
	if !p.told {
		p.told = true
		p.another = e.config.Failed != nil && e.config.Failed(errUnserved(p).Error())
	}
	return p.another
}

// errUnserved is the error of who waited for a process that ended before it served, with its own last words.
func errUnserved(p *process) error {
	return fmt.Errorf("the engine ended before it served: %s", p.death().Value)
}

// Execute runs a cell and returns when it has ended and all its output has been handed to the sink. A cell that ends its
// engine gets an error that says how, and the next cell a fresh engine.
func (e *Engine) Execute(ctx context.Context, r cell.Request) cell.Result {
	interrupted := e.interrupts.await() // by what comes from now on
	p, failure := e.await(ctx, interrupted, r.Cell)
	if failure != nil {
		return cell.Result{Status: cell.Failed, Err: failure}
	}
	e.tellLoss(r.Cell)
	result, err := p.execute(ctx, r, interrupted)
	if err == nil && result.Replacement != nil {
		return e.replace(ctx, p, r, result, interrupted)
	}
	if err == nil {
		return result
	}
	if ctx.Err() != nil {
		return failed("engine error", ctx.Err().Error())
	}
	death := p.death()
	e.mu.Lock()
	p.told = true
	e.mu.Unlock()
	if _, err := e.process(); err != nil && !errors.Is(err, errClosed) {
		e.config.Logger.Error("start a fresh engine", "error", err)
	}
	return cell.Result{Status: cell.Failed, Err: death}
}

// tellLoss says, in the cell that runs next, that the engine died between cells and took the variables with it.
func (e *Engine) tellLoss(cellID int64) {
	e.mu.Lock()
	lost := e.lost
	e.lost = nil
	e.mu.Unlock()
	if lost == nil {
		return
	}
	e.tell(cellID, "The engine died since the last cell: "+lost.Value+".\n")
}

// Complete asks for the ways to complete code at a cursor; it may be called while a cell runs.
func (e *Engine) Complete(ctx context.Context, q cell.Question) (c cell.Completion, err error) {
	err = e.ask(ctx, cellio.KindComplete, q, &c)
	return c, err
}

// Inspect asks what is known of the name at a cursor; it may be called while a cell runs.
func (e *Engine) Inspect(ctx context.Context, q cell.Question) (i cell.Inspection, err error) {
	err = e.ask(ctx, cellio.KindInspect, q, &i)
	return i, err
}

// IsComplete asks whether code can run as it is; it may be called while a cell runs.
func (e *Engine) IsComplete(ctx context.Context, code string) (c cell.Completeness, err error) {
	err = e.ask(ctx, cellio.KindIsComplete, cell.Question{Code: code}, &c)
	return c, err
}

// Comm hands a frame of a comm to the engine and returns when its handler has ended there. It does not wait for an engine to start: one
// that does not serve yet has no comms.
func (e *Engine) Comm(ctx context.Context, f cellio.Frame) (cell.Result, error) {
	e.mu.Lock()
	p := e.current
	e.mu.Unlock()
	if p == nil || !p.serves() {
		return cell.Result{Status: cell.OK}, errNotServing
	}
	result, err := p.run(ctx, f, nil)
	if errors.Is(err, errDead) { // how, the next cell is told
		return failed("engine died", "the engine died while it handled a message of a comm; all variables are lost"), nil
	}
	return result, err
}

// AnswerInput hands the reply to a question of a cell (a frame of KindInput with that seq) to the engine. If the engine has gone, nothing
// waits for the reply any more.
func (e *Engine) AnswerInput(seq uint64, reply cellio.InputReply) {
	e.mu.Lock()
	p := e.current
	e.mu.Unlock()
	if p == nil || p.gone() {
		return
	}
	err := p.answer(seq, reply)
	if errors.Is(err, cellio.ErrTooLarge) {
		err = p.answer(seq, cellio.InputReply{Err: "the answer is " + err.Error()})
	}
	if err != nil {
		e.config.Logger.Warn("answer to a cell", "error", err)
	}
}

func (p *process) answer(seq uint64, reply cellio.InputReply) error {
	body, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	return p.conn.Send(cellio.Frame{Kind: cellio.KindInputReply, Seq: seq, Body: body})
}

// Interrupt stops the cells that wait for an engine, asks the engine to stop those that run or wait for their turn, and returns at once. If
// there are none, nothing happens.
func (e *Engine) Interrupt() {
	e.interrupts.tell() // before the engine is told, see process.run
	if !e.preparation.over() {
		return
	}
	e.mu.Lock()
	p := e.current
	e.mu.Unlock()
	if p != nil && p.serves() {
		p.interrupt()
	}
}

// Info is what the living engine said of itself; the zero value before it is ready.
func (e *Engine) Info() cell.Ready {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil {
		return cell.Ready{}
	}
	return e.current.info()
}

// Close ends the engine and all that it started, and returns when it is gone. Cells that still run end with an error.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	p := e.current
	e.mu.Unlock()
	e.preparation.cancel()
	if p != nil {
		p.close(closeGrace)
	}
	<-e.preparation.done
	return nil
}

// ready returns a process that serves. One that ends before is an error, where there is no other command to try.
func (e *Engine) ready(ctx context.Context, interrupted <-chan struct{}) (*process, error) {
	for {
		p, err := e.process()
		if err != nil {
			return nil, err
		}
		select {
		case <-p.served:
			return p, nil
		case <-p.ended:
			e.mu.Lock()
			another := e.another(p)
			e.mu.Unlock()
			if !another {
				return nil, errUnserved(p)
			}
		case <-interrupted:
			return nil, errInterrupted
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (e *Engine) ask(ctx context.Context, kind cellio.Kind, question, answer any) error {
	if err := e.awaitBriefly(ctx); err != nil {
		return fmt.Errorf("ask engine to %s: %w", kind, err)
	}
	p, err := e.ready(ctx, nil) // a question is no cell, which an interrupt would stop
	if err != nil {
		return err
	}
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("ask engine to %s: %w", kind, err)
	}
	raw, err := p.ask(ctx, kind, body)
	if err != nil {
		return fmt.Errorf("ask engine to %s: %w", kind, err)
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("answer of engine to %s: %w", kind, err)
	}
	return nil
}

func failed(name, value string) cell.Result {
	return cell.Result{Status: cell.Failed, Err: &cell.Error{Name: name, Value: value, Traceback: []string{name + ": " + value}}}
}
