//go:build nvidia && linux

package cuda

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"cancha/runtime/gpu/cuda/shim"
)

// Large copies from and to ordinary memory go through pinned memory in chunks, which several threads fill or empty while the GPU moves
// others. The driver alone does that with one thread, at a seventh of what the bus of an H200 can do.
const (
	chunk       = 1 << 20   // bytes
	staged      = 4 * chunk // from so many bytes on
	mostStagers = 4         // threads
	slots       = 2         // of each thread: one is filled while the other is moved
)

// staging is the pinned memory of a device through which large copies go: one at a time.
type staging struct {
	mu      sync.Mutex
	threads [][slots]slot // none before the first large copy
	missing bool          // there is no pinned memory: copies are the driver's
}

// slot is pinned memory for a chunk, and the point from which on it may be used again.
type slot struct {
	memory unsafe.Pointer
	moved  cu.Event
}

func (s *slot) bytes(n int) []byte { return unsafe.Slice((*byte)(s.memory), n) }

// stages tells whether a copy of so many bytes from or to p goes through pinned memory, which is taken at the first. The context is current.
func (d *Device) stages(bytes int, p unsafe.Pointer) bool {
	if bytes < staged || d.isPinned(p) {
		return false
	}
	s := &d.staging
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.missing && s.ready() != nil {
		s.missing = true // a driver that has none, or a machine that gives none: slower, and no error
	}
	return !s.missing
}

// ready takes the pinned memory, once. The context is current.
func (s *staging) ready() error {
	for len(s.threads) < min(mostStagers, runtime.GOMAXPROCS(0)) {
		var all [slots]slot
		for i := range all {
			var err error
			if all[i].memory, err = shim.Pin(chunk); err != nil {
				return errors.Join(fault(err), release(all[:]))
			}
			if all[i].moved, err = cu.MakeEvent(cu.DisableTiming); err != nil {
				return errors.Join(fault(err), release(all[:]))
			}
		}
		s.threads = append(s.threads, all)
	}
	return nil
}

// close gives the pinned memory back. The context is current.
func (s *staging) close() error {
	var errs []error
	for _, all := range s.threads {
		errs = append(errs, release(all[:]))
	}
	s.threads = nil
	return errors.Join(errs...)
}

func release(all []slot) error {
	var errs []error
	for _, s := range all {
		if s.moved != (cu.Event{}) {
			errs = append(errs, fault(cu.DestroyEvent(&s.moved)))
		}
		if s.memory != nil {
			errs = append(errs, fault(shim.Unpin(s.memory)))
		}
	}
	return errors.Join(errs...)
}

// each has all threads work at once, each with its own slots: on the first of its chunks, and every step bytes further on. It waits for
// them, and for the stream, which reads and writes the slots. The context is current.
func (q *queue) each(work func(t *[slots]slot, first, step int) error) error {
	s := &q.device.staging
	s.mu.Lock()
	defer s.mu.Unlock()
	var group sync.WaitGroup
	errs := make([]error, len(s.threads))
	for i := range s.threads {
		group.Go(func() {
			errs[i] = q.device.within(func() error { return work(&s.threads[i], i*chunk, len(s.threads)*chunk) })
		})
	}
	group.Wait()
	return errors.Join(append(errs, fault(q.stream.Synchronize()))...)
}

// stageIn copies src to the GPU. The stream has moved all of it when it returns.
func (q *queue) stageIn(dst cu.DevicePtr, src []byte) error {
	return q.each(func(t *[slots]slot, first, step int) error {
		for i, at := 0, first; at < len(src); i, at = i+1, at+step {
			s, n := &t[i%slots], min(chunk, len(src)-at)
			if i >= slots {
				if err := s.moved.Synchronize(); err != nil {
					return fault(err)
				}
			}
			copy(s.bytes(n), src[at:])
			if err := s.queue(q.stream, func() error { return cu.MemcpyHtoDAsync(dst+cu.DevicePtr(at), s.memory, int64(n), q.stream) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// stageOut copies from the GPU to dst.
func (q *queue) stageOut(dst []byte, src cu.DevicePtr) error {
	return q.each(func(t *[slots]slot, first, step int) error {
		for i, at := 0, first; at < len(dst)+step; i, at = i+1, at+step { // once more, for what the last turn has put into its slot
			if n := min(chunk, len(dst)-at); n > 0 {
				s := &t[i%slots]
				if err := s.queue(q.stream, func() error { return cu.MemcpyDtoHAsync(s.memory, src+cu.DevicePtr(at), int64(n), q.stream) }); err != nil {
					return err
				}
			}
			if i == 0 || at-step >= len(dst) {
				continue
			}
			s := &t[(i-1)%slots]
			if err := s.moved.Synchronize(); err != nil {
				return fault(err)
			}
			copy(dst[at-step:], s.bytes(min(chunk, len(dst)-at+step)))
		}
		return nil
	})
}

// queue has the stream move what is in the slot, or is to be.
func (s *slot) queue(stream cu.Stream, move func() error) error {
	if err := move(); err != nil {
		return fault(err)
	}
	return fault(s.moved.Record(stream))
}
