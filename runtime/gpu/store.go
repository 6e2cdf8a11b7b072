package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cancha/runtime/gpu/driver"
)

func (s *Session) newStore(t driver.Type, n int) (*store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("gpu: make a buffer: the session is %w", ErrClosed)
	}
	b := &store{session: s, id: s.ids.Add(1), kind: t, n: n}
	s.stores[b] = true
	return b, nil
}

// alone runs f in a turn of its own, with the buffer locked.
func (b *store) alone(ctx context.Context, doing string, f func(t *turn) error) error {
	s := b.session
	t, give, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("gpu: %s: %w", doing, err)
	}
	defer give()
	unlock, err := s.hold([]*store{b})
	if err == nil {
		defer unlock()
		err = f(t)
	}
	if err != nil {
		return fmt.Errorf("gpu: %s: %w", doing, err)
	}
	return nil
}

// set copies values to the machine's memory.
func (b *store) set(ctx context.Context, values any) error {
	return b.alone(ctx, "set a buffer", func(t *turn) error {
		s := b.session
		if err := s.room(b, onCPU, t); err != nil {
			return err
		}
		if err := t[onCPU].CopyIn(b.memory[onCPU], 0, values); err != nil {
			return err
		}
		b.valid = [sides]bool{onCPU: true}
		return nil
	})
}

// fill sets a buffer that is new. It waits for no turn: a job that has one may make buffers, and holds up nobody who does.
func (b *store) fill(values any) error {
	s := b.session
	s.making.RLock()
	defer s.making.RUnlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	err := s.room(b, onCPU, nil) // for which nothing is moved away: that would need a turn
	if err == nil {
		err = s.places[onCPU].fill(b.memory[onCPU], values)
	}
	if err != nil {
		return fmt.Errorf("gpu: set a buffer: %w", err)
	}
	b.valid = [sides]bool{onCPU: true}
	return nil
}

// fill copies values to memory, on a queue of its own.
func (p *place) fill(m driver.Memory, values any) error {
	q, err := p.device.NewQueue()
	if err != nil {
		return err
	}
	return errors.Join(q.CopyIn(m, 0, values), q.Close())
}

// get copies what the buffer holds, from where it is.
func (b *store) get(ctx context.Context, values any) error {
	return b.alone(ctx, "read a buffer", func(t *turn) error {
		at := onCPU
		if !b.valid[onCPU] && b.valid[onGPU] {
			at = onGPU
		}
		if !b.valid[at] {
			return errors.New("it holds nothing: it was never set, or what was to fill it failed")
		}
		return b.session.copyOut(t[at], b, at, values)
	})
}

func (s *Session) copyOut(q driver.Queue, b *store, at side, values any) error {
	begun := time.Now()
	if err := q.CopyOut(values, b.memory[at], 0); err != nil {
		return s.places[at].note(err)
	}
	if at == onGPU {
		s.count(func(m *Metrics) { m.BytesOut += b.bytes(); m.CopyOut += time.Since(begun) })
	}
	return nil
}

// close gives the memory back.
func (b *store) close() error {
	s := b.session
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	s.mu.Lock()
	delete(s.stores, b)
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil // the devices have it back
	}
	var errs []error
	for at := range sides {
		errs = append(errs, s.drop(b, at))
	}
	return errors.Join(errs...)
}

// drop gives the memory on one side back.
func (s *Session) drop(b *store, at side) error {
	m := b.memory[at]
	if m == nil {
		return nil
	}
	b.memory[at], b.valid[at] = nil, false
	err := s.places[at].free(m)
	if at == onCPU {
		err = errors.Join(err, s.unpin(b))
	}
	return err
}

// free gives memory back.
func (p *place) free(m driver.Memory) error {
	p.mu.Lock()
	p.taken -= int64(m.Len()) * int64(m.Type().Size())
	p.mu.Unlock()
	return m.Free()
}

// room gives the buffer memory on a side, if it has none.
func (s *Session) room(b *store, at side, t *turn) (err error) {
	if b.memory[at] == nil && at == onCPU {
		b.memory[at] = s.pin(b)
	}
	if b.memory[at] == nil {
		b.memory[at], err = s.allocate(b.kind, b.n, at, t)
	}
	return err
}

// allocate takes memory on a side.
func (s *Session) allocate(kind driver.Type, n int, at side, t *turn) (m driver.Memory, err error) {
	err = s.withRoom(at, t, func() (err error) {
		m, err = s.places[at].alloc(kind, n)
		return err
	})
	return m, err
}

// withRoom calls f, which takes memory on a side. A GPU that is full is rid of what no operation uses now, and f called again.
func (s *Session) withRoom(at side, t *turn, f func() error) error {
	for {
		err := f()
		if at != onGPU || !errors.Is(err, driver.ErrOutOfMemory) {
			return s.places[at].note(err)
		}
		s.count(func(m *Metrics) { m.OutOfMemory++ })
		if evicted, e := s.evict(t); e != nil || !evicted {
			return errors.Join(err, e)
		}
	}
}

// alloc takes memory within the budget.
func (p *place) alloc(kind driver.Type, n int) (driver.Memory, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bytes := int64(n) * int64(kind.Size())
	if p.budget > 0 && p.taken+bytes > p.budget {
		return nil, fmt.Errorf("%d bytes beside %d, where the session may take %d: %w", bytes, p.taken, p.budget, driver.ErrOutOfMemory)
	}
	m, err := p.device.Alloc(kind, n)
	if err != nil {
		return nil, err
	}
	p.taken += bytes
	p.peak = max(p.peak, p.taken)
	return m, nil
}

// evict moves to the machine's memory what was used longest ago of what no operation uses now. It reports false where there is nothing.
func (s *Session) evict(t *turn) (bool, error) {
	s.mu.Lock()
	var oldest *store
	for b := range s.stores {
		if !b.mu.TryLock() {
			continue // an operation uses it
		}
		if b.memory[onGPU] == nil || oldest != nil && oldest.used <= b.used {
			b.mu.Unlock()
			continue
		}
		if oldest != nil {
			oldest.mu.Unlock()
		}
		oldest = b
	}
	s.mu.Unlock()
	if oldest == nil {
		return false, nil
	}
	defer oldest.mu.Unlock()
	if oldest.valid[onGPU] && !oldest.valid[onCPU] {
		if err := s.bring(oldest, onCPU, t); err != nil {
			return false, err
		}
	}
	s.count(func(m *Metrics) { m.Evicted += oldest.bytes() })
	return true, s.drop(oldest, onGPU)
}

// bring copies what the buffer holds to a side, if it is not there.
func (s *Session) bring(b *store, at side, t *turn) error {
	if b.valid[at] {
		return nil
	}
	if !b.valid[onGPU-at] {
		return errors.New("a buffer holds nothing: it was never set, or what was to fill it failed")
	}
	if err := s.room(b, at, t); err != nil {
		return err
	}
	view := b.memory[onCPU].(driver.Viewer).View() // of the machine's memory, whichever way it goes
	if at == onCPU {
		if err := s.copyOut(t[onGPU], b, onGPU, view); err != nil {
			return err
		}
	} else if err := s.copyIn(t[onGPU], b, view); err != nil {
		return err
	}
	b.valid[at] = true
	return nil
}

func (s *Session) copyIn(q driver.Queue, b *store, values any) error {
	begun := time.Now()
	if err := q.CopyIn(b.memory[onGPU], 0, values); err != nil {
		return s.places[onGPU].note(err)
	}
	s.count(func(m *Metrics) { m.BytesIn += b.bytes(); m.CopyIn += time.Since(begun) })
	return nil
}
