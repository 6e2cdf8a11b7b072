package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// errDead ends what was asked of an engine that died; process.death tells how.
var errDead = errors.New("the engine died")

// process is one engine process. Its goroutines (the frame reader, three pipe readers, two flows, the sender of interrupts) end when it does.
type process struct {
	cmd    *exec.Cmd
	conn   *cellio.Conn
	logger *slog.Logger
	sink   func(cellio.Frame)
	pipes  [3]*pipe       // fd 1 and 2, as far as the engine does not read them itself, and what its runtime says
	caught *cellio.Outlet // orders and coalesces what the pipes bring
	flows  [2]*flow       // of the engine's outlet and of caught
	rest   *cellio.Journal

	served chan struct{}      // closed at the ready frame
	ended  chan struct{}      // closed when the process is gone and all its output handed over
	stop   chan chan struct{} // interrupts to be sent; each is closed when it is
	cause  func() *cell.Error // see death
	latest atomic.Int64       // the cell to which output without a cell is given, see attribute
	seq    atomic.Uint64

	replaced      atomic.Bool // by the engine that a cell asked for
	told, another bool        // its death has been reported; what Failed said to that, where it had not served. Guarded by Engine.mu

	mu      sync.Mutex
	ready   cell.Ready
	done    map[int64]chan cell.Result // by cell, or handler of a comm
	cells   map[int64]bool             // those that run, without the handlers
	answers map[uint64]chan json.RawMessage
	exit    error // of Wait, valid after ended
	cut     bool  // it lived on without its connection and was killed; valid after ended
}

func start(c Config) (*process, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("socket pair: %w", err)
	}
	defer theirs.Close()
	p := &process{
		cmd: c.Command(), conn: cellio.NewConn(ours), logger: c.Logger, sink: c.Sink,
		served: make(chan struct{}), ended: make(chan struct{}),
		done: map[int64]chan cell.Result{}, cells: map[int64]bool{}, answers: map[uint64]chan json.RawMessage{},
		stop: make(chan chan struct{}, 1),
	}
	p.cause = sync.OnceValue(p.findCause)
	p.caught = cellio.NewOutlet(func(f cellio.Frame) error { p.sink(f); p.flows[1].used(f); return nil })
	p.flows = [2]*flow{newFlow(c.Gate, frameWindow(), p.credit), newFlow(c.Gate, pipeWindow(), p.caught.Grant)}
	if err := p.launch(theirs); err != nil {
		ours.Close()
		return nil, err
	}
	go p.read(c.Ended)
	go p.sendInterrupts()
	return p, nil
}

// launch starts the command with its end of the connection, a journal, and pipes for fd 1 and 2.
func (p *process) launch(conn *os.File) error {
	var ends [len(p.pipes)]*os.File
	for i, name := range []string{"stdout", "stderr", "stderr"} {
		pipe, end, err := newPipe(func(b []byte) { p.caught.Write(p.latest.Load(), name, b) })
		if err != nil {
			return fmt.Errorf("pipe for %s: %w", name, err)
		}
		defer end.Close()
		p.pipes[i], ends[i] = pipe, end
	}
	p.pipes[1].crash, p.pipes[2].crash = &crash{}, &crash{patience: wordsTime}
	var theirs [2]*os.File // reading ends
	for i := range theirs {
		end, err := p.pipes[i].end()
		if err != nil {
			return fmt.Errorf("reading end of a pipe: %w", err)
		}
		defer end.Close()
		theirs[i] = end
	}
	p.cmd.Stdout, p.cmd.Stderr = ends[0], ends[1]
	journal, err := p.openJournal()
	if err != nil {
		return err
	}
	defer journal.Close()
	p.cmd.ExtraFiles = []*os.File{conn, journal, theirs[0], theirs[1], ends[2]} // ConnFD, JournalFD, StdoutFD, StderrFD, WordsFD
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = p.cmd.Start()
	for _, pipe := range p.pipes {
		if err != nil {
			pipe.close()
		} else if err := pipe.unblock(); err != nil {
			p.logger.Warn("pipe of engine", "error", err)
		}
	}
	if err != nil {
		p.rest.Close()
	}
	return err
}

// read reads frames until the engine is gone, then gathers what it left.
func (p *process) read(ended func()) {
	var readers sync.WaitGroup
	for _, pipe := range p.pipes {
		readers.Go(pipe.run)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var flows sync.WaitGroup
	for _, f := range p.flows {
		flows.Go(func() { f.run(ctx) })
	}
	for {
		f, err := p.conn.Receive()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				p.logger.Warn("read from engine", "error", err)
			}
			break
		}
		p.frame(f)
	}
	err := p.reap()
	p.takeRest()
	cancel()
	p.caught.Hurry()
	for _, pipe := range p.pipes {
		if pipe.left {
			pipe.rest()
		} else {
			pipe.finish()
		}
	}
	readers.Wait()
	for _, pipe := range p.pipes {
		pipe.close()
	}
	if !byRuntime(err) { // what looked like its last words was output
		for _, pipe := range p.pipes[1:] {
			_ = p.caught.Write(p.latest.Load(), "stderr", pipe.crash.give()) // nobody waits any more
		}
	}
	p.caught.Close()
	p.conn.Close() // a flow may be sending
	flows.Wait()
	p.mu.Lock()
	p.exit = err
	p.mu.Unlock()
	if ended != nil {
		ended()
	}
	close(p.ended)
}

// reapGrace is how long an engine may live without its connection: the connection ends a moment before the process does.
const reapGrace = 300 * time.Millisecond

// reap waits for the engine's end and ends what it leaves behind. An engine that has lost its connection is of no use.
func (p *process) reap() error {
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	timer := time.NewTimer(reapGrace)
	defer timer.Stop()
	var err error
	select {
	case err = <-ended:
	case <-timer.C:
		p.cut = true
		p.killGroup()
		err = <-ended
	}
	p.killGroup() // children must not outlive it
	return err
}

// frame hands one frame of the engine to whom it is for.
func (p *process) frame(f cellio.Frame) {
	switch f.Kind {
	case cellio.KindReady:
		p.becomeReady(f.Body)
	case cellio.KindStream, cellio.KindDisplay, cellio.KindUpdate, cellio.KindResult, cellio.KindClear,
		cellio.KindInput, cellio.KindCommOpen, cellio.KindCommMsg, cellio.KindCommClose:
		p.sink(f)
		p.flows[0].used(f)
	case cellio.KindDone:
		p.finishCell(f)
	case cellio.KindAnswer:
		p.mu.Lock()
		if c := p.answers[f.Seq]; c != nil {
			c <- f.Body // room for one; each question is answered once
			delete(p.answers, f.Seq)
		}
		p.mu.Unlock()
	default:
		p.logger.Warn("engine sent a frame that is not known", "kind", f.Kind)
	}
}

func (p *process) becomeReady(body json.RawMessage) {
	var ready cell.Ready
	if err := json.Unmarshal(body, &ready); err != nil {
		p.logger.Warn("engine's ready frame", "error", err)
	}
	if ready.Catches {
		p.leavePipes()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = ready
	select {
	case <-p.served:
	default:
		close(p.served)
	}
}

// leavePipes leaves what is written to fd 1 and 2 to an engine that puts it in order with its frames.
func (p *process) leavePipes() {
	calm := p.caught.Hurry() // a reader that waits could not end
	for _, pipe := range p.pipes[:2] {
		if !pipe.left {
			pipe.leave()
		}
	}
	p.caught.Flush()
	calm()
}

// finishCell ends a cell. The engine wrote all that the cell left in the pipes before it sent the frame, so reading the
// pipes until they are empty brings it; waiting for their end would wait for the cell's children.
func (p *process) finishCell(f cellio.Frame) {
	calm := p.caught.Hurry() // a reader that waits could not drain
	for _, pipe := range p.pipes {
		pipe.drain()
	}
	p.caught.Flush()
	calm()
	var r cell.Result
	if err := json.Unmarshal(f.Body, &r); err != nil {
		r = failed("engine error", "end of cell cannot be read: "+err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.done[f.Cell]; c != nil {
		c <- r // room for one; a cell ends once
		delete(p.done, f.Cell)
	}
	p.pass(f.Cell)
}

// attribute makes what comes by the pipes a cell's output: C code and child processes do not say whose they are. A cell on a
// subshell, which may only wait for its turn, does not take it from one that runs. The caller holds mu.
func (p *process) attribute(r cell.Request) {
	if !r.Subshell || len(p.cells) == 0 {
		p.latest.Store(r.Cell)
	}
	p.cells[r.Cell] = true
}

// pass takes what comes by the pipes from a cell that is over to the latest of those that run on, which may write, too. Where none
// does, the cell keeps it. The caller holds mu.
func (p *process) pass(over int64) {
	delete(p.cells, over)
	if p.latest.Load() == over && len(p.cells) > 0 {
		p.latest.Store(slices.Max(slices.Collect(maps.Keys(p.cells))))
	}
}

func (p *process) execute(ctx context.Context, r cell.Request, interrupted <-chan struct{}) (cell.Result, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return cell.Result{}, err
	}
	p.mu.Lock()
	p.attribute(r)
	p.mu.Unlock()
	return p.run(ctx, cellio.Frame{Kind: cellio.KindExecute, Cell: r.Cell, Body: body}, interrupted)
}

// run sends what runs in the engine, a cell or a comm's handler, and waits for its end. An interrupt that the engine was sent before
// finds nothing there to stop. Who sends one closes interrupted first, so here it is seen that another one is needed.
func (p *process) run(ctx context.Context, f cellio.Frame, interrupted <-chan struct{}) (cell.Result, error) {
	done := make(chan cell.Result, 1)
	p.mu.Lock()
	p.done[f.Cell] = done
	p.mu.Unlock()
	if err := p.conn.Send(f); errors.Is(err, cellio.ErrTooLarge) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.done, f.Cell)
		p.pass(f.Cell)
		return failed("too large", err.Error()), nil
	} else if err != nil {
		<-p.ended
		return cell.Result{}, errDead
	}
	select {
	case <-interrupted:
		p.interrupt()
	default:
	}
	select {
	case result := <-done:
		return result, nil
	case <-p.ended:
		return cell.Result{}, errDead
	case <-ctx.Done():
		return cell.Result{}, ctx.Err()
	}
}

func (p *process) ask(ctx context.Context, kind cellio.Kind, body json.RawMessage) (json.RawMessage, error) {
	seq := p.seq.Add(1)
	answer := make(chan json.RawMessage, 1)
	p.mu.Lock()
	p.answers[seq] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.answers, seq)
		p.mu.Unlock()
	}()
	if err := p.conn.Send(cellio.Frame{Kind: kind, Seq: seq, Body: body}); errors.Is(err, cellio.ErrTooLarge) {
		return nil, err
	} else if err != nil {
		return nil, errDead
	}
	select {
	case raw := <-answer:
		return raw, nil
	case <-p.ended:
		return nil, errDead
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// interruptLimit is how long an interrupt waits to be on its way. It takes microseconds, unless the engine does not read.
const interruptLimit = 100 * time.Millisecond

// interrupt sends an interrupt. It returns when the interrupt is on its way, so that it stops no cell that is sent later. It also returns
// when the engine does not read, so that the clients are still answered.
func (p *process) interrupt() {
	defer p.letOut() // behind it: what is let out before may be used up when the interrupt comes
	timer := time.NewTimer(interruptLimit)
	defer timer.Stop()
	sent := make(chan struct{})
	select {
	case p.stop <- sent:
	case <-timer.C: // one waits already
		return
	case <-p.ended:
		return
	}
	select {
	case <-sent:
	case <-timer.C:
	case <-p.ended:
	}
}

func (p *process) letOut() {
	for _, f := range p.flows {
		f.letOut()
	}
}

// mostLetOut is how often output is let out for an interrupt: the waits between double, so that is over twelve seconds.
const mostLetOut = 7

// sendInterrupts sends interrupts until the process is gone. What interrupt lets out may be used up before the engine has read the interrupt, where
// that waits or the machine is busy, and the goroutine hangs in its write again: so it is let out again, while what was interrupted runs.
func (p *process) sendInterrupts() {
	wait := interruptLimit
	again := time.NewTimer(wait)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case sent := <-p.stop:
			if err := p.conn.Send(cellio.Frame{Kind: cellio.KindInterrupt}); err != nil {
				p.logger.Warn("interrupt", "error", err)
			}
			close(sent)
			wait = interruptLimit
			again.Reset(wait)
		case <-again.C:
			if wait *= 2; p.runs() && wait < interruptLimit<<mostLetOut {
				p.letOut()
				again.Reset(wait)
			}
		case <-p.ended:
			return
		}
	}
}

// runs tells whether a cell or a handler runs.
func (p *process) runs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.done) > 0
}

// credit lets the engine send more.
func (p *process) credit(c cellio.Credit) {
	body, _ := json.Marshal(c) // numbers always marshal
	if err := p.conn.Send(cellio.Frame{Kind: cellio.KindCredit, Body: body}); err != nil && !errors.Is(err, net.ErrClosed) {
		p.logger.Debug("credit", "error", err) // an engine that is gone is seen by the reader
	}
}

func (p *process) info() cell.Ready {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}

func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// serves reports whether the process takes frames.
func (p *process) serves() bool { return p.hasServed() && !p.gone() }

func (p *process) hasServed() bool {
	select {
	case <-p.served:
		return true
	default:
		return false
	}
}

func (p *process) wait() { <-p.ended }

// close asks the engine to leave, and kills it and its children after grace.
func (p *process) close(grace time.Duration) {
	asked := make(chan struct{})
	go func() { // a wedged engine does not read: the send must not hold up the kill
		defer close(asked)
		_ = p.conn.Send(cellio.Frame{Kind: cellio.KindExit})
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.killGroup()
		p.wait()
	}
	<-asked
}

// killGroup kills the engine and what it started; a group that is gone already is fine.
func (p *process) killGroup() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// socketBuffer is how many bytes may be under way in each direction. With the 208 kB that Linux gives by itself, writer and reader wait for each
// other a hundred times in 20 MB: those took 12 to 60 ms, and 9 to 15 with this (measured).
const socketBuffer = 2 << 20

// socketPair returns two ends of a stream: ours as a connection with deadlines, theirs as a file for the child.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
		for _, fd := range fds {
			_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, socketBuffer) // as much of it as the system allows
		}
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "engine")
	defer f.Close() // FileConn duplicates it
	theirs = os.NewFile(uintptr(fds[1]), "kernel")
	ours, err = net.FileConn(f)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}
