//go:build nvidia && linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"cancha/runtime/gpu/cuda/shim"
	"cancha/runtime/gpu/driver"
)

// queue is a stream of the GPU, with memory that funcs work in.
type queue struct {
	device  *Device
	stream  cu.Stream
	scratch scratch
	keeping *graph // what launches become part of, instead of running
	closed  bool
	waits   sync.WaitGroup // of goroutines that wait for the stream for who has given up waiting
}

// scratch is what funcs and cuBLAS work in, by those of one queue only.
type scratch struct {
	parts     cu.DevicePtr // of sums
	workspace cu.DevicePtr // cuBLAS's; 0 before the first multiplication
	blas      *shim.Handle // nil before it, and without cuBLAS
}

// most is into how many parts a sum is divided.
const most = 1024

// workspaceBytes is what cuBLAS asks for on compute capability 9.0; 4 MiB would do before.
const workspaceBytes = 32 << 20

// NewQueue makes a stream that waits for no other.
func (d *Device) NewQueue() (driver.Queue, error) {
	q := &queue{device: d}
	err := d.call(func() (err error) {
		if q.stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
			return fault(err)
		}
		if q.scratch.parts, err = d.take(8 * most); err != nil {
			return errors.Join(err, fault(q.stream.Destroy()))
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.queues[q] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("make a queue: %w", err)
	}
	return q, nil
}

// multiplier has cuBLAS ready for the stream: that takes time and memory, which a queue that never multiplies does without. The context is
// current.
func (c *scratch) multiplier(d *Device, s cu.Stream) (err error) {
	if c.blas != nil || d.blas == nil {
		return nil
	}
	if c.workspace == 0 {
		if c.workspace, err = d.take(workspaceBytes); err != nil {
			return err
		}
	}
	c.blas, err = d.blas.NewHandle(s, d.tf32, c.workspace, workspaceBytes)
	if errors.Is(fault(err), driver.ErrOutOfMemory) { // it takes memory of its own, where some may be kept
		if err := d.trim(); err != nil {
			return err
		}
		c.blas, err = d.blas.NewHandle(s, d.tf32, c.workspace, workspaceBytes)
	}
	return fault(err)
}

// release gives the memory to the driver. The context is current.
func (c scratch) release() error {
	var errs []error
	if c.blas != nil {
		errs = append(errs, c.blas.Close())
	}
	for _, at := range []cu.DevicePtr{c.parts, c.workspace} {
		if at != 0 {
			errs = append(errs, fault(cu.MemFree(at)))
		}
	}
	return errors.Join(errs...)
}

// call runs f in the device's context, unless the queue is closed or keeps what it is given.
func (q *queue) call(doing string, f func() error) error {
	err := q.device.call(func() error {
		switch {
		case q.closed:
			return driver.ErrClosed
		case q.keeping != nil:
			return errors.New("the queue keeps launches for a graph, and nothing else")
		}
		return f()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// CopyIn waits for the stream, since src may be changed or given to the collector when it has returned: pinned memory the driver reads until
// it is done, and ordinary memory too on a GPU that shares the system's addresses.
func (q *queue) CopyIn(dst driver.Memory, offset int, src any) error {
	return q.copy("copy in", dst, offset, src, func(m *memory, n int) error {
		if bytes := n * m.kind.Size(); q.device.stages(bytes, first(src)) {
			return q.stageIn(m.element(offset), unsafe.Slice((*byte)(first(src)), bytes))
		}
		if err := cu.MemcpyHtoDAsync(m.element(offset), first(src), int64(n*m.kind.Size()), q.stream); err != nil {
			return fault(err)
		}
		return fault(q.stream.Synchronize())
	})
}

// CopyOut waits for the stream.
func (q *queue) CopyOut(dst any, src driver.Memory, offset int) error {
	return q.copy("copy out", src, offset, dst, func(m *memory, n int) error {
		if bytes := n * m.kind.Size(); q.device.stages(bytes, first(dst)) {
			return q.stageOut(unsafe.Slice((*byte)(first(dst)), bytes), m.element(offset))
		}
		if err := cu.MemcpyDtoHAsync(first(dst), m.element(offset), int64(n*m.kind.Size()), q.stream); err != nil {
			return fault(err)
		}
		return fault(q.stream.Synchronize())
	})
}

// copy calls move with memory of this device, unless the slice does not fit or there is nothing to move.
func (q *queue) copy(doing string, of driver.Memory, offset int, slice any, move func(m *memory, n int) error) error {
	return q.call(doing, func() error {
		defer runtime.KeepAlive(slice)
		m, err := q.device.mine(of)
		if err != nil {
			return err
		}
		t, n, err := driver.SliceType(slice)
		if err != nil {
			return err
		}
		if err := driver.CheckRange(m, t, offset, n); err != nil || n == 0 {
			return err
		}
		return move(m, n)
	})
}

// Wait waits for the stream.
func (q *queue) Wait(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	wait := func() error { return q.call("wait", func() error { return fault(q.stream.Synchronize()) }) }
	if ctx.Done() == nil {
		return wait()
	}
	done := make(chan error, 1)
	q.waits.Go(func() { done <- wait() })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close waits for what was queued.
func (q *queue) Close() error {
	q.waits.Wait()
	err := q.device.call(func() error {
		if q.closed {
			return nil
		}
		q.closed = true
		d := q.device
		d.mu.Lock()
		delete(d.queues, q)
		d.mu.Unlock()
		return q.release()
	})
	if errors.Is(err, driver.ErrClosed) { // with its device
		return nil
	}
	if err != nil {
		return fmt.Errorf("close a queue: %w", err)
	}
	return nil
}

// release gives back what the queue has. The context is current.
func (q *queue) release() error {
	return errors.Join(fault(q.stream.Synchronize()), q.scratch.release(), fault(q.stream.Destroy()))
}

// event is a point in a stream.
type event struct {
	queue *queue
	event cu.Event
}

// Record marks a point. Its event is used again when nobody has the point any more.
func (q *queue) Record() (driver.Event, error) {
	d, e := q.device, &event{queue: q}
	err := q.call("record", func() (err error) {
		d.mu.Lock()
		if n := len(d.events); n > 0 {
			e.event, d.events = d.events[n-1], d.events[:n-1]
		}
		d.mu.Unlock()
		if e.event == (cu.Event{}) {
			if e.event, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
				return fault(err)
			}
		}
		d.mu.Lock()
		d.recorded[e.event] = true
		d.mu.Unlock()
		return fault(e.event.Record(q.stream))
	})
	if err != nil {
		return nil, err
	}
	runtime.AddCleanup(e, d.reuse, e.event)
	return e, nil
}

// reuse takes an event that nobody has any more. The collector calls it, at any time: what Close took it has destroyed.
func (d *Device) reuse(e cu.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	delete(d.recorded, e)
	d.events = append(d.events, e)
}

// Since measures on the GPU, to half a microsecond.
func (e *event) Since(earlier driver.Event) (time.Duration, error) {
	from, ok := earlier.(*event)
	if !ok || from.queue != e.queue {
		return 0, errors.New("time since a point of another queue")
	}
	var ms float64
	err := e.queue.call("measure", func() (err error) {
		if err := e.event.Synchronize(); err != nil {
			return fault(err)
		}
		ms, err = from.event.Elapsed(e.event)
		return fault(err)
	})
	runtime.KeepAlive(e)
	runtime.KeepAlive(from)
	return time.Duration(ms * float64(time.Millisecond)), err
}
