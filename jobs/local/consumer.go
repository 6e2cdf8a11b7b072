package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/jobs/queue"
)

// consumer takes messages of one line. The broker's mu guards what changes.
type consumer struct {
	b        *Broker
	line     *line
	prefetch int
	inHand   map[*handed]struct{}
	stopped  bool
	closed   bool
}

// waiter is one Next that waits. Its channel is closed when the consumer has stopped, or the queue is gone.
type waiter struct {
	c   *consumer
	got chan *handed // with room for one
}

// handed is one message in somebody's hand.
type handed struct {
	c     *consumer
	line  *line
	entry *entry
	count int // of deliveries, this one included; the entry's grows when another consumer gets it
	state state
}

type state int

const (
	held state = iota
	settling
	settled
	lost // it was taken back
)

// Consume implements queue.Broker.
func (b *Broker) Consume(ctx context.Context, name string, prefetch int) (queue.Consumer, error) {
	c, err := b.consume(ctx, name, prefetch)
	if err != nil {
		return nil, fmt.Errorf("jobs/local: consume %q: %w", name, err)
	}
	return c, nil
}

func (b *Broker) consume(ctx context.Context, name string, prefetch int) (*consumer, error) {
	if prefetch < 1 || prefetch > queue.MaxPrefetch {
		return nil, fmt.Errorf("%w: prefetch %d, want 1 to %d", queue.ErrInvalid, prefetch, queue.MaxPrefetch)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l, err := b.find(ctx, name)
	if err != nil {
		return nil, err
	}
	c := &consumer{b: b, line: l, prefetch: prefetch, inHand: map[*handed]struct{}{}}
	l.consumers[c] = struct{}{}
	return c, nil
}

// Next implements queue.Consumer.
func (c *consumer) Next(ctx context.Context) (*queue.Delivery, error) {
	d, err := c.next(ctx)
	if err != nil {
		return nil, fmt.Errorf("jobs/local: consume %q: %w", c.line.name, err)
	}
	return d, nil
}

func (c *consumer) next(ctx context.Context) (*queue.Delivery, error) {
	for {
		h, err := c.take(ctx)
		if err != nil {
			return nil, err
		}
		m, death, err := c.b.file.read(c.line.name, h.entry.seq)
		switch {
		case err == nil && !h.stale():
			return &queue.Delivery{Message: m, Queue: c.line.name, Count: h.count, Death: death, Settler: h}, nil
		case errors.Is(err, errRecord):
			c.setAside(h, err)
		default:
			c.giveBack(h)
			return nil, cmp.Or(c.ended(), err)
		}
	}
}

// stale tells that the queue has expired, and what was read may be another one's of its name.
func (h *handed) stale() bool {
	h.c.b.mu.Lock()
	defer h.c.b.mu.Unlock()
	return h.line.gone
}

// take waits for a message.
func (c *consumer) take(ctx context.Context) (*handed, error) {
	w, err := c.wait(ctx)
	if err != nil {
		return nil, err
	}
	var h *handed
	select {
	case h = <-w.got:
	case <-ctx.Done():
		if c.leave(w) {
			return nil, context.Cause(ctx)
		}
		h = <-w.got // it came at the same moment
	}
	if h == nil {
		return nil, c.ended()
	}
	return h, nil
}

func (c *consumer) wait(ctx context.Context) (*waiter, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	if err := c.why(); err != nil {
		return nil, err
	}
	w := &waiter{c, make(chan *handed, 1)}
	c.line.waiting = append(c.line.waiting, w)
	c.b.serve(c.line)
	return w, nil
}

// leave takes a waiter out; false: it has got something, or its channel is closed.
func (c *consumer) leave(w *waiter) bool {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	i := slices.Index(c.line.waiting, w)
	if i >= 0 {
		c.line.waiting = slices.Delete(c.line.waiting, i, i+1)
	}
	return i >= 0
}

func (c *consumer) ended() error {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	return c.why()
}

// why tells why the consumer takes nothing more; nil: it does.
func (c *consumer) why() error {
	switch {
	case c.stopped:
		return queue.ErrClosed
	case c.line.gone:
		return queue.ErrUnknownQueue
	}
	return nil
}

// giveBack undoes a handing out of which nobody has heard.
func (c *consumer) giveBack(h *handed) {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	if h.state == held {
		h.release(lost)
		c.b.back(h.line, h.entry)
	}
}

// reasonDamaged is the reason of a message of which the file has kept something else than what was written; its bytes are the dead letter's body.
const reasonDamaged = "damaged in the file"

// setAside makes a damaged message a dead letter, so that it stands in nobody's way.
func (c *consumer) setAside(h *handed, why error) {
	c.b.log("a message is damaged, and becomes a dead letter", "queue", c.line.name, "error", why)
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	if h.state == held {
		h.state = settling
		c.b.commits.submit(&bury{b: c.b, line: h.line, entry: h.entry, h: h, reason: reasonDamaged})
	}
}

// Stop implements queue.Consumer. Nothing is fetched in advance here.
func (c *consumer) Stop() {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.stop()
}

func (c *consumer) stop() {
	c.stopped = true
	c.line.waiting = slices.DeleteFunc(c.line.waiting, func(w *waiter) bool {
		if w.c == c {
			close(w.got)
		}
		return w.c == c
	})
}

// Close implements queue.Consumer. What is being settled at this moment is settled.
func (c *consumer) Close() error {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.end()
	return nil
}

func (c *consumer) end() {
	if c.closed {
		return
	}
	c.stop()
	c.closed = true
	for h := range c.inHand {
		if h.state == held {
			h.release(lost)
			c.b.back(c.line, h.entry)
		}
	}
	delete(c.line.consumers, c)
	c.line.unused = time.Now()
	c.b.signal() // the queue may expire
}

// Settle implements queue.Settler. It waits for the disk, whatever the context says.
func (h *handed) Settle(ctx context.Context, o queue.Outcome) error {
	done, err := h.begin(ctx, o)
	if err == nil {
		err = <-done
	}
	if err != nil {
		return fmt.Errorf("jobs/local: settle a message of %q: %w", h.line.name, err)
	}
	return nil
}

func (h *handed) begin(ctx context.Context, o queue.Outcome) (<-chan error, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b := h.c.b
	b.mu.Lock()
	defer b.mu.Unlock()
	switch h.state {
	case settling, settled:
		return nil, queue.ErrSettled
	case lost:
		return nil, queue.ErrLost
	}
	h.state = settling
	return b.commits.submit(h.change(o)), nil
}

func (h *handed) change(o queue.Outcome) change {
	switch {
	case o.Verdict == queue.Dead:
		return &bury{b: h.c.b, line: h.line, entry: h.entry, h: h, reason: o.Reason}
	case o.Verdict == queue.Retry && h.line.worn(h.entry):
		return &bury{b: h.c.b, line: h.line, entry: h.entry, h: h, reason: queue.ReasonLimit}
	case o.Verdict == queue.Retry && o.After > 0:
		return &again{h, time.Now().Add(o.After), o.After}
	case o.Verdict == queue.Retry:
		return &again{h: h}
	}
	return &forget{h}
}

// release takes the message out of its consumer's hand.
func (h *handed) release(to state) {
	h.state = to
	delete(h.c.inHand, h)
	h.line.inHand--
	h.c.b.serve(h.line) // the consumer may take another one
}

// keep has the message in hand again after settling has failed; or ready, where the consumer was closed meanwhile.
func (h *handed) keep() {
	h.state = held
	if h.c.closed {
		h.release(lost)
		h.c.b.back(h.line, h.entry)
	}
}

// unsettled tells whether the message may come again, here or elsewhere.
func (h *handed) unsettled() bool {
	h.c.b.mu.Lock()
	defer h.c.b.mu.Unlock()
	return h.state == held || h.state == lost
}
