//go:build nvidia && linux

package cuda

import (
	"errors"
	"fmt"
	"runtime"

	"cancha/runtime/gpu/cuda/shim"
	"cancha/runtime/gpu/driver"
)

// graph is a kept sequence of launches. It has what they work in to itself: it may run on another queue than it was kept on.
type graph struct {
	device  *Device
	exec    *shim.Graph
	scratch scratch
	uses    map[*memory]bool // by its launches
}

// Capture keeps what f launches. Copies, waits and points cannot be kept.
func (q *queue) Capture(f func() error) (_ driver.Graph, err error) {
	runtime.LockOSThread() // what the driver keeps begins and ends on one thread
	defer runtime.UnlockOSThread()
	g, done := &graph{device: q.device, uses: map[*memory]bool{}}, false
	defer func() {
		if !done { // it has failed, or f panics
			err = errors.Join(err, g.discard())
		}
	}()
	err = q.call("begin", func() (err error) {
		if g.scratch.parts, err = q.device.take(8 * most); err != nil {
			return err
		}
		if err = g.scratch.multiplier(q.device, q.stream); err != nil { // now: nothing can be made while launches are kept
			return err
		}
		return fault(shim.BeginCapture(q.stream))
	})
	if err == nil {
		err = q.whole(g, f)
	}
	if err == nil {
		err = q.device.call(g.register)
	}
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	done = true
	return g, nil
}

// whole has g keep what f launches and ends what BeginCapture began, however f ends: or the stream takes nothing else.
func (q *queue) whole(g *graph, f func() error) (err error) {
	scratch := q.scratch
	q.keeping, q.scratch = g, g.scratch
	defer func() {
		q.keeping, q.scratch = nil, scratch
		ended := q.device.call(func() (err error) {
			g.exec, err = shim.EndCapture(q.stream)
			return fault(err)
		})
		if err == nil {
			err = ended
		}
	}()
	return f()
}

// register has the device close the graph, if nobody else does.
func (g *graph) register() error {
	g.device.mu.Lock()
	defer g.device.mu.Unlock()
	g.device.graphs[g] = true
	return nil
}

// discard gives back what a graph that came to nothing has.
func (g *graph) discard() error {
	err := g.device.call(func() error { return g.release() })
	if errors.Is(err, driver.ErrClosed) || errors.Is(err, driver.ErrLost) {
		return nil // with its device
	}
	return err
}

// release gives back what the graph has. The context is current.
func (g *graph) release() error {
	if g.exec == nil {
		return g.scratch.release()
	}
	return errors.Join(fault(g.exec.Close()), g.scratch.release())
}

// Launch queues the sequence, if all memory that it uses is still there.
func (g *graph) Launch(on driver.Queue) error {
	q, ok := on.(*queue)
	if !ok || q.device != g.device {
		return fmt.Errorf("launch a graph: a queue of another device: %w", driver.ErrLaunch)
	}
	return q.call("launch a graph", func() error {
		d := g.device
		d.mu.Lock()
		open := d.graphs[g]
		for m := range g.uses {
			open = open && d.memory[m]
		}
		d.mu.Unlock()
		if !open {
			return fmt.Errorf("it, or memory that it uses, is %w", driver.ErrClosed)
		}
		return fault(g.exec.Launch(q.stream))
	})
}

// Close gives the graph back, when what was queued of it has run.
func (g *graph) Close() error {
	d, open := g.device, true
	err := d.call(func() error {
		d.mu.Lock()
		open = d.graphs[g]
		delete(d.graphs, g)
		d.mu.Unlock()
		if !open {
			return driver.ErrClosed
		}
		return g.release()
	})
	if open && (errors.Is(err, driver.ErrClosed) || errors.Is(err, driver.ErrLost)) {
		return nil // with its device
	}
	if err != nil {
		return fmt.Errorf("close a graph: %w", err)
	}
	return nil
}
