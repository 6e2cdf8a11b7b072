package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// Cells of different shells may run at the same time, but only one at a time uses the interpreter's shared scope: the one that has the
// turn. A cell whose code is compiled needs no turn and runs beside the others, as a goroutine of an earlier cell does. So does a short one
// that is interpreted in a scope of its own. All cells are checked, compiled and taken into the program one after another, under the lock
// called building. A cell that waits for the turn never holds that lock.

// task is a cell on its way: it waits, is compiled, runs.
type task struct {
	request cell.Request
	name    string // "cell 3"

	ctx    context.Context // ends with an interrupt that comes while nothing of the cell runs
	cancel context.CancelFunc

	native bool // what was compiled last needs no interpreter; of the task's own goroutine

	replacement *cell.Replacement // that the cell asks for; of the task's own goroutine
	began       bool              // something of the cell has run; of the task's own goroutine

	parts bool // of the task's own goroutine: its cell is compiled in several parts, see compileAll

	mu      sync.Mutex
	run     *cellio.Run       // nil while nothing of it runs
	taken   bool              // the program has what is to run next: an interrupt does not undo that
	pending func(*cellio.Run) // an interrupt that came between taken and run
}

// start takes a cell in: from now on an interrupt reaches it.
func (p *Program) start(r cell.Request) *task {
	ctx, cancel := context.WithCancel(context.Background())
	t := &task{request: r, name: fmt.Sprintf("cell %d", r.Count), ctx: ctx, cancel: cancel}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = append(p.tasks, t)
	return t
}

// done forgets a cell that has ended, or was left behind.
func (p *Program) done(t *task) {
	p.turn.release(t)
	t.cancel()
	p.machine.Shown(t.request.Cell) // a silent cell's value is of use to nobody
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = slices.DeleteFunc(p.tasks, func(o *task) bool { return o == t })
}

// alone tells whether no other cell is on its way.
func (p *Program) alone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tasks) <= 1
}

// newRun is the run of a task. What belongs to no run stays with the main shell's cell while there is one.
func (p *Program) newRun(t *task) *cellio.Run {
	make := cellio.NewRun
	if t.request.Subshell && !p.alone() {
		make = cellio.NewAside
	}
	run := make(t.request.Cell)
	run.Message = t.request.Message
	run.Origin = cmp.Or(t.request.Origin, t.request.Code) // without an id, the same text is the same cell
	return run
}

// begins notes that the task is running now; false if it has been interrupted before.
func (t *task) begins(run *cellio.Run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		return false
	}
	t.run = run
	if t.pending != nil {
		t.pending(run)
	}
	t.taken, t.pending = false, nil
	return true
}

func (t *task) ends() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = nil
}

// take tells, right before the program takes in what has been compiled, that an interrupt comes too late to prevent that: it will
// stop the cell when it runs. The error is that one has come before.
func (t *task) take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = t.ctx.Err() == nil && !t.parts
	return t.ctx.Err()
}

// leave takes take back: the program has not taken it in.
func (t *task) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending != nil {
		t.cancel()
	}
	t.taken, t.pending = false, nil
}

// interrupt stops what runs of a task with stop, and else the task.
func (t *task) interrupt(stop func(*cellio.Run)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.run != nil:
		stop(t.run)
	case t.taken:
		t.pending = stop
	default:
		t.cancel()
	}
}

// turn is the right to use the interpreter. The zero value is free.
type turn struct {
	mu      sync.Mutex
	holder  *task
	waiting []*waiter // in their order
}

type waiter struct {
	task  *task
	given chan struct{} // closed when it is the holder
}

// try takes the turn if it is free, or the task's already.
func (q *turn) try(t *task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holder == nil {
		q.holder = t
	}
	return q.holder == t
}

// quiet is how long a cell waits until it says so.
const quiet = 300 * time.Millisecond

// take waits for the turn, until the task is interrupted. Where it takes longer, say is told the name of the cell that has it.
func (q *turn) take(t *task, say func(holder string)) error {
	w, holder := q.queue(t)
	if w == nil {
		return nil
	}
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case <-w.given:
			return nil
		case <-t.ctx.Done():
			q.release(t)
			return t.ctx.Err()
		case <-timer.C:
			say(holder)
		}
	}
}

// queue takes the turn and returns nil, or puts the task behind those that wait, and tells who has it.
func (q *turn) queue(t *task) (w *waiter, holder string) {
	if q.try(t) {
		return nil, ""
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holder == nil {
		q.holder = t
		return nil, ""
	}
	w = &waiter{t, make(chan struct{})}
	q.waiting = append(q.waiting, w)
	return w, q.holder.name
}

// release gives the turn to the next that waits, if the task has it, and takes the task out of those that wait.
func (q *turn) release(t *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiter) bool { return w.task == t })
	if q.holder != t {
		return
	}
	q.holder = nil
	if len(q.waiting) > 0 {
		q.holder = q.waiting[0].task
		close(q.waiting[0].given)
		q.waiting = q.waiting[1:]
	}
}

// takeTurn waits for the interpreter, and says so in the cell's own output.
func (p *Program) takeTurn(t *task) error {
	return p.turn.take(t, func(holder string) {
		if p.outlet != nil {
			p.outlet.Write(t.request.Cell, "stderr", fmt.Appendf(nil, "waits for %s: both are interpreted, and the interpreter runs one cell at a time\n", holder))
		}
	})
}

// builder is the lock under which cells are compiled. Waiting for it can be interrupted.
type builder chan struct{}

func newBuilder() builder { return make(builder, 1) }

func (b builder) lock(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case b <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b builder) unlock() { <-b }
