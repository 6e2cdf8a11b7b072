package kerneltest

import (
	"context"
	"encoding/json"
	"fmt"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// The words of the engine that behaves about comms:
//
//	target T     comms of target T are echoed from now on
//	open T ID    opens a comm of target T that is echoed
//
// An echoed comm prints "echo" for each message that it gets, prints the id of the message, and sends its data and buffers back;
// one with the data "fail" fails, and one with "loop" waits until it is interrupted.

// Comm handles a comm's frame.
func (e *Engine) Comm(ctx context.Context, f cellio.Frame) (cell.Result, error) {
	var c cellio.Comm
	if err := json.Unmarshal(f.Body, &c); err != nil {
		return cell.Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.began(f.Cell, cancel)
	defer e.ended(f.Cell)
	e.mu.Lock()
	known := e.targets[c.Target]
	e.mu.Unlock()
	out := cellio.NewOutlet(func(f cellio.Frame) error { e.Sink(f.Whole()); return nil })
	defer out.Close()
	switch {
	case f.Kind == cellio.KindCommOpen && !known:
		return ok(out.Emit(cellio.KindCommClose, f.Cell, cellio.Comm{ID: c.ID}))
	case f.Kind == cellio.KindCommClose:
		return ok(nil)
	}
	out.Write(f.Cell, "stdout", fmt.Appendf(nil, "echo %s\n", c.Message))
	switch string(c.Data) {
	case `"fail"`:
		return fail("failure", "comm"), nil
	case `"loop"`:
		<-ctx.Done()
		return fail("interrupted", "interrupted"), nil
	}
	return ok(out.Emit(cellio.KindCommMsg, f.Cell, cellio.Comm{ID: c.ID, Data: c.Data, Metadata: c.Metadata}, f.Buffers...))
}

func ok(err error) (cell.Result, error) { return cell.Result{Status: cell.OK}, err }

// target makes comms of a target known.
func (e *Engine) target(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.targets == nil {
		e.targets = map[string]bool{}
	}
	e.targets[name] = true
}
