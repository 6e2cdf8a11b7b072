package gpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"cancha/internal/running"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/host"
)

// ErrClosed reports that a session, or a buffer of it, has been closed.
var ErrClosed = driver.ErrClosed

// Session works on one GPU, which it holds alone, and on the CPU, or on the CPU only. Make one with NewSession; its methods, and
// operations on its buffers, may be called from any goroutine and wait for each other in the order in which they come.
type Session struct {
	config  Config
	target  Target
	missing string // why there is no GPU; "" where there is one
	slots   *semaphore.Weighted
	turns   chan *turn    // free ones: one for each operation that may run at once
	places  [sides]*place // that of the GPU is nil without one
	lock    *lock
	loaded  driver.Loaded // libraries
	making  sync.RWMutex  // held for reading while a buffer is filled without a turn, for writing while the devices close
	ids     atomic.Int64
	uses    atomic.Int64

	mu        sync.Mutex
	closed    bool
	stores    map[*store]bool
	pinned    int64 // bytes of the pool that buffers have
	decisions []Decision
	metrics   Metrics
	samples   Samples
	unwatch   func() // ends the reading of sensors
	entry     *running.Entry
}

// place is an open device and what it can do.
type place struct {
	device driver.Device
	speed  speed

	mu     sync.Mutex
	taken  int64 // bytes
	peak   int64
	budget int64 // bytes; 0 is no limit
	lost   error // why the device is of no use any more
}

// turn is what an operation works with: a queue of its own on each side.
type turn [sides]driver.Queue

// NewSession opens a session, takes the GPU that the configuration asks for, and measures what it and the CPU can do (less than 50 ms).
// Without a GPU the session works on the CPU and tells why (see [Session.Explain]), unless one is required.
func NewSession(ctx context.Context, c Config) (*Session, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	begun := time.Now()
	s := &Session{
		config: c, target: cmp.Or(c.Device, Auto), slots: semaphore.NewWeighted(int64(max(1, c.Concurrent))), stores: map[*store]bool{},
		unwatch: func() {},
	}
	cpu, err := openPlace(ctx, host.Driver{}, 0, c, 0)
	if err != nil {
		return nil, fmt.Errorf("gpu: %w", err)
	}
	s.places[onCPU] = cpu
	if s.target == CPU {
		s.missing = "the device is set to cpu"
	} else if err := s.takeGPU(ctx); err != nil {
		if c.Required || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("gpu: a GPU is required: %w", err), s.Close())
		}
		s.missing = err.Error()
	}
	if err := s.makeTurns(max(1, c.Concurrent)); err != nil {
		return nil, errors.Join(fmt.Errorf("gpu: %w", err), s.Close())
	}
	s.unwatch = s.watch(begun)
	s.entry = running.Process().Add(listed{s})
	return s, nil
}

func (s *Session) makeTurns(n int) error {
	s.turns = make(chan *turn, n)
	for range n {
		var t turn
		for at, p := range s.places {
			if p == nil {
				continue
			}
			q, err := p.device.NewQueue()
			if err != nil {
				return err
			}
			t[at] = q
		}
		s.turns <- &t
	}
	return nil
}

// take waits for a turn, in the order of those who ask; give gives it back.
func (s *Session) take(ctx context.Context) (t *turn, give func(), err error) {
	begun := time.Now()
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return nil, nil, fmt.Errorf("wait for a turn: %w", context.Cause(ctx))
	}
	s.count(func(m *Metrics) { m.Wait += time.Since(begun) })
	t = <-s.turns // there are as many as slots
	return t, func() { s.turns <- t; s.slots.Release(1) }, nil
}

// takeGPU opens the GPU that is asked for, or the first that nobody holds. While all are held it waits as long as the configuration says.
func (s *Session) takeGPU(ctx context.Context) error {
	found, err := discover(ctx, s.config.drivers)
	if err != nil {
		return err
	}
	wanted := found.match(s.config.GPU)
	if len(wanted) == 0 {
		return fmt.Errorf("no GPU is %q: there is %s", s.config.GPU, found)
	}
	var refused []error
	for deadline := time.Now().Add(s.config.Wait); ; {
		var held []Device
		var by []error
		for _, g := range wanted {
			err := s.open(ctx, g)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, ErrHeld):
				held, by = append(held, g), append(by, err)
			default:
				refused = append(refused, err)
			}
		}
		if wanted = held; len(held) == 0 || time.Now().After(deadline) {
			return errors.Join(append(refused, by...)...)
		}
		select {
		case <-time.After(tryEvery):
		case <-ctx.Done():
			return fmt.Errorf("wait for a GPU: %w: %w", context.Cause(ctx), errors.Join(by...))
		}
	}
}

// open takes a GPU, unless another session holds it.
func (s *Session) open(ctx context.Context, g Device) error {
	l, err := acquire(ctx, s.config.locks, g.UUID, s.config.holder(), 0)
	if err != nil {
		return err
	}
	p, err := openPlace(ctx, g.driver, g.Index, s.config, s.config.Memory)
	if err == nil {
		err = p.limit()
	}
	if err != nil {
		return errors.Join(err, l.release())
	}
	s.places[onGPU], s.lock = p, l
	s.places[onCPU].speed.copying = p.speed.copying // what the CPU lacks comes from the GPU
	return nil
}

func openPlace(ctx context.Context, d driver.Driver, index int, c Config, budget int64) (*place, error) {
	device, err := d.Open(ctx, index, driver.Options{Cores: c.Cores, TF32: c.TF32})
	if err != nil {
		return nil, err
	}
	p := &place{device: device, budget: budget}
	if p.speed, err = calibrate(ctx, device); err != nil {
		return nil, errors.Join(err, device.Close())
	}
	return p, nil
}

// limit sets the budget of a GPU, if the user has not, and has the device keep to it.
func (p *place) limit() error {
	if p.budget == 0 {
		free, _, err := p.device.Free()
		if err != nil {
			return errors.Join(err, p.device.Close())
		}
		p.budget = free / 10 * 9
	}
	if k, ok := p.device.(driver.Keeper); ok {
		k.Keep(p.budget)
	}
	return nil
}

// Devices tells what the session works on: the CPU, and the GPU, which is nil where there is none.
func (s *Session) Devices() (cpu driver.Info, gpu *driver.Info) {
	if p := s.places[onGPU]; p != nil {
		i := p.device.Info()
		gpu = &i
	}
	return s.places[onCPU].device.Info(), gpu
}

// Close waits for the operations that run, gives all memory back and lets others have the GPU. A session that is closed already is left
// alone.
func (s *Session) Close() error {
	_ = s.slots.Acquire(context.Background(), int64(max(1, s.config.Concurrent))) // never fails without an end of the context
	defer s.slots.Release(int64(max(1, s.config.Concurrent)))
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.unwatch()
	s.entry.End(nil)
	s.making.Lock()
	defer s.making.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.places {
		if p != nil {
			errs = append(errs, p.device.Close())
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return errors.Join(errs...)
}
