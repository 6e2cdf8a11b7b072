package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/runtime/gpu/driver"
)

// operation is something that either device can do.
type operation struct {
	name     string
	work     work
	size     int // elements, by which it is told how far it is from paying
	reads    []*store
	writes   []*store // all of them: what they held is of no use any more, unless they are read too
	copied   int64    // bytes that go to the GPU beside what is read
	unfit    string   // why a GPU cannot do it; "" where it can
	launches func(at func(*store) driver.Memory) []driver.Launch
}

// run waits for a turn, chooses the side, moves what is read there, and launches.
func (s *Session) run(ctx context.Context, o operation) error {
	t, give, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("gpu: %s: %w", o.name, err)
	}
	defer give()
	unlock, err := s.hold(stores(o))
	if err != nil {
		return fmt.Errorf("gpu: %s: %w", o.name, err)
	}
	defer unlock()
	return s.where(ctx, o, func(at side) error { return s.runOn(ctx, at, t, o) })
}

// where has an operation run on the side that is chosen, and on the CPU where the GPU fails it or is lost, and remembers what became of it.
func (s *Session) where(ctx context.Context, o operation, on func(side) error) error {
	if err := s.lost(); err != nil {
		if s.config.Required {
			return fmt.Errorf("gpu: %s: %w", o.name, err)
		}
		s.count(func(m *Metrics) { m.Fallbacks++ })
	}
	d, at := s.choose(o)
	begun := time.Now()
	err := on(at)
	if at == onGPU && err != nil && s.mayFallBack(ctx, err) {
		d.Place, d.Reason = onCPU.String(), "the GPU failed: "+err.Error()
		s.count(func(m *Metrics) { m.Fallbacks++ })
		err = on(onCPU)
	}
	if err != nil {
		return fmt.Errorf("gpu: %s: %w", o.name, err)
	}
	d.Actual = time.Since(begun)
	s.record(d)
	return nil
}

// stores are the buffers that an operation uses, each once, in the order in which all operations lock them.
func stores(o operation) []*store {
	used := slices.Concat(o.reads, o.writes)
	slices.SortFunc(used, func(a, b *store) int { return int(a.id - b.id) })
	return slices.Compact(used)
}

// hold locks buffers until unlock is called.
func (s *Session) hold(used []*store) (unlock func(), err error) {
	for i, b := range used {
		b.mu.Lock()
		if b.session != s || b.closed {
			err = fmt.Errorf("a buffer of %d %s: %w", b.n, b.kind, ErrClosed)
			if b.session != s {
				err = errors.New("a buffer of another session")
			}
			for _, held := range used[:i+1] {
				held.mu.Unlock()
			}
			return nil, err
		}
	}
	return func() {
		for _, b := range used {
			b.mu.Unlock()
		}
	}, nil
}

// mayFallBack tells whether the CPU may do what the GPU could not.
func (s *Session) mayFallBack(ctx context.Context, err error) bool {
	return !s.config.Required && ctx.Err() == nil && (errors.Is(err, driver.ErrOutOfMemory) || errors.Is(err, driver.ErrLost))
}

// choose follows the user's choice, else asks the cost model.
func (s *Session) choose(o operation) (Decision, side) {
	d := Decision{Operation: o.name, Place: onCPU.String()}
	gpu := s.places[onGPU]
	switch {
	case gpu == nil:
		d.Reason = s.missing
		return d, onCPU
	case gpu.gone() != nil:
		d.Reason = "the GPU is lost: " + gpu.gone().Error()
		return d, onCPU
	case o.unfit != "":
		d.Reason = o.unfit
		return d, onCPU
	case s.target == GPU:
		d.Place, d.Reason = onGPU.String(), "the device is set to gpu"
		return d, onGPU
	}
	here, there := s.places[onCPU].speed.predict(o.work, o.missing(onCPU)), gpu.speed.predict(o.work, o.missing(onGPU))
	if there < here {
		d.Place, d.Reason, d.Predicted = onGPU.String(), "faster by the cost model", there
		return d, onGPU
	}
	d.Reason, d.Predicted = s.breakEven(o), here
	return d, onCPU
}

// missing is how many bytes of what an operation reads are not on a side yet.
func (o operation) missing(at side) (bytes int64) {
	if at == onGPU {
		bytes = o.copied
	}
	for i, b := range o.reads {
		if !b.valid[at] && !slices.Contains(o.reads[:i], b) {
			bytes += b.bytes()
		}
	}
	return bytes
}

// breakEven tells from which size on the GPU would be faster, were all of the operation larger.
func (s *Session) breakEven(o operation) string {
	cpu, gpu := s.places[onCPU].speed, s.places[onGPU].speed
	here, there := o.missing(onCPU), o.missing(onGPU)
	pays := func(times float64) bool {
		w := work{int64(float64(o.work.bytes) * times), o.work.flops * times, o.work.launches}
		return gpu.predict(w, int64(float64(there)*times)) < cpu.predict(w, int64(float64(here)*times))
	}
	low, high := 1.0, 2.0
	for ; !pays(high); low, high = high, 2*high {
		if high > 1<<30 {
			return "the CPU is faster at any size: copying takes longer than computing"
		}
	}
	for high/low > 1.01 {
		if middle := (low + high) / 2; pays(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return fmt.Sprintf("below break-even: %d < about %.2g elements", o.size, float64(o.size)*high)
}

// runOn does all of an operation on one side. The buffers that it writes are there then and nowhere else.
func (s *Session) runOn(ctx context.Context, at side, t *turn, o operation) error {
	launches, took, err := s.launched(ctx, at, t, o)
	if err != nil { // what was queued before, copies as well, uses the buffers until it has run
		return s.places[at].note(errors.Join(err, t[at].Wait(context.WithoutCancel(ctx))))
	}
	for _, b := range o.writes {
		b.valid = [sides]bool{}
		b.valid[at] = true
	}
	s.count(func(m *Metrics) {
		m.Operations[at]++
		m.FuncTime[at] += took
		if at == onGPU {
			m.Launches += launches
		}
	})
	return nil
}

// launched moves what an operation uses to one side, launches, and waits. It tells how many launches there were, and how long they took.
func (s *Session) launched(ctx context.Context, at side, t *turn, o operation) (launches int, took time.Duration, err error) {
	if err := s.gather(at, t, o); err != nil {
		return 0, 0, err
	}
	q := t[at]
	before, err := q.Record()
	if err != nil {
		return 0, 0, err
	}
	if err := context.Cause(ctx); err != nil {
		return 0, 0, err
	}
	all := o.launches(func(b *store) driver.Memory { return b.memory[at] })
	for _, l := range all {
		// A multiplication may want memory to work in.
		if err := s.withRoom(at, t, func() error { return q.Launch(l) }); err != nil {
			return 0, 0, err
		}
		for _, b := range o.writes {
			b.valid[at] = false // from now on, until it is written whole; a launch that is refused leaves it what it held
		}
	}
	after, err := q.Record()
	if err != nil {
		return 0, 0, err
	}
	if err := q.Wait(context.WithoutCancel(ctx)); err != nil { // what was launched uses the buffers until it has run
		return 0, 0, err
	}
	took, err = after.Since(before)
	return len(all), took, err
}

// gather has on one side what an operation reads, and memory there for what it writes.
func (s *Session) gather(at side, t *turn, o operation) error {
	use := s.uses.Add(1)
	for _, b := range o.reads {
		if err := s.bring(b, at, t); err != nil {
			return err
		}
		b.used = use
	}
	for _, b := range o.writes {
		if err := s.room(b, at, t); err != nil {
			return err
		}
		b.used = use
	}
	return nil
}

// note remembers that the device is lost, if it is.
func (p *place) note(err error) error {
	if errors.Is(err, driver.ErrLost) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lost = err
	}
	return err
}

// lost is why the session's GPU is of no use any more; nil where it is, or where there was none.
func (s *Session) lost() error {
	if gpu := s.places[onGPU]; gpu != nil {
		return gpu.gone()
	}
	return nil
}

func (p *place) gone() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

func (s *Session) count(f func(*Metrics)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.metrics)
}

func (s *Session) record(d Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decisions = append(s.decisions, d)
	if len(s.decisions) > decisionsKept {
		s.decisions = slices.Delete(s.decisions, 0, decisionsKept/10)
	}
}
