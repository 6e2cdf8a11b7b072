package eval

import (
	"encoding/json"
	"sync"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/primitive"
)

// Handle passes a comm's frame to the code that made the comm, beside the running cell, and returns when it has been handled. The
// interpreter runs a handler as it runs a goroutine: the function exists already, so nothing is evaluated.
func (p *Program) Handle(f cellio.Frame) cell.Result {
	var c cellio.Comm
	if err := json.Unmarshal(f.Body, &c); err != nil {
		return cell.Result{Status: cell.Failed, Err: &cell.Error{Name: "bad comm", Value: err.Error()}}
	}
	run := cellio.NewAside(f.Cell)
	run.Message = c.Message
	p.handlers.Store(run, true)
	defer p.handlers.Delete(run)
	var unsent error
	o, left := p.supervise(run, func() { unsent = cellio.TakeComm(f) })
	err := p.fault("the handler", o)
	switch exit := p.machine.Exited(run); {
	case exit != nil:
		err = p.exitFault(exit, o)
	case left:
		text := "still in the handler; its goroutine was left behind; restart the kernel to be rid of it"
		err = &cell.Error{Name: "interrupted", Value: text, Traceback: p.traceback("interrupted: "+text, []primitive.Frame(nil))}
	case err == nil && unsent != nil:
		err = &cell.Error{Name: "comm", Value: unsent.Error()}
	}
	if err != nil {
		return cell.Result{Status: cell.Failed, Err: err}
	}
	return cell.Result{Status: cell.OK}
}

// commQueues has the frames of comms handled: those of one comm one after another, those of different comms beside each other.
type commQueues struct {
	handle func(cellio.Frame)

	mu      sync.Mutex
	waiting map[string][]cellio.Frame // by comm; there is an entry while a goroutine sees to it
}

func newCommQueues(handle func(cellio.Frame)) *commQueues {
	return &commQueues{handle: handle, waiting: map[string][]cellio.Frame{}}
}

// push adds a frame. The goroutine that handles it ends when the comm has no more.
func (q *commQueues) push(f cellio.Frame) {
	var c cellio.Comm
	_ = json.Unmarshal(f.Body, &c) // one that cannot be read is refused where it is handled
	q.mu.Lock()
	defer q.mu.Unlock()
	frames, served := q.waiting[c.ID]
	q.waiting[c.ID] = append(frames, f)
	if !served {
		go q.serve(c.ID) // not waited for: it may be inside a handler that never ends
	}
}

func (q *commQueues) serve(id string) {
	for {
		f, more := q.next(id)
		if !more {
			return
		}
		q.handle(f)
	}
}

func (q *commQueues) next(id string) (f cellio.Frame, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames := q.waiting[id]
	if len(frames) == 0 {
		delete(q.waiting, id)
		return f, false
	}
	q.waiting[id] = frames[1:]
	return frames[0], true
}
