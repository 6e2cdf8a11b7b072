package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// tag names the one consumer of a channel.
const tag = "cancha"

// session is a channel that consumes, until it closes.
type session struct {
	ch         *amqp.Channel
	deliveries <-chan amqp.Delivery // closed when nothing more comes
	closed     <-chan *amqp.Error   // closed with the channel
}

func newSession(ch *amqp.Channel, name string, autoAck bool) (*session, error) {
	closed := ch.NotifyClose(make(chan *amqp.Error, 1))
	deliveries, err := ch.Consume(name, tag, autoAck, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	return &session{ch, deliveries, closed}, nil
}

// close has the server take back what was not settled. It returns when the server knows, or is away.
func (s *session) close() { _ = s.ch.Close() }

// consumer takes messages of one queue, over one channel after another.
type consumer struct {
	b        *Broker
	name     string
	prefetch int
	items    chan *queue.Delivery // taken by Next
	taking   context.Context      // ends with Stop
	stop     context.CancelFunc
	living   context.Context // ends with Close
	end      context.CancelFunc
	back     []*held       // run's: fetched, and asked for by nobody
	ended    chan struct{} // closed when run has ended

	mu   sync.Mutex
	gone error // why nothing comes any more, besides Stop
}

// Consume implements queue.Broker.
func (b *Broker) Consume(ctx context.Context, name string, prefetch int) (queue.Consumer, error) {
	c, err := b.consume(ctx, name, prefetch)
	if err != nil {
		return nil, fmt.Errorf("jobs/rabbitmq: consume %q: %w", name, err)
	}
	return c, nil
}

func (b *Broker) consume(ctx context.Context, name string, prefetch int) (*consumer, error) {
	if prefetch < 1 || prefetch > queue.MaxPrefetch {
		return nil, fmt.Errorf("%w: prefetch %d, want 1 to %d", queue.ErrInvalid, prefetch, queue.MaxPrefetch)
	}
	if err := queue.CheckName(name); err != nil {
		return nil, err
	}
	c := &consumer{b: b, name: name, prefetch: prefetch, items: make(chan *queue.Delivery), ended: make(chan struct{})}
	c.living, c.end = context.WithCancel(b.ctx)
	c.taking, c.stop = context.WithCancel(c.living)
	s, later, err := c.sessions(ctx)
	if err == nil && !b.spawn(func() { c.run(s, later) }) {
		err = queue.ErrClosed
	}
	if err != nil {
		c.end()
		c.stop()
		return nil, known(err)
	}
	return c, nil
}

// sessions opens a channel for the queue, and one for what is kept away of it.
func (c *consumer) sessions(ctx context.Context) (s, later *session, err error) {
	if _, err = c.b.passive(ctx, c.name); err != nil {
		return nil, nil, err
	}
	if err = c.b.waitingRoom(ctx, c.name); err != nil {
		return nil, nil, err
	}
	if later, err = over(ctx, c.b, c.b.consuming(), c.openLater, (*session).close); err != nil {
		return nil, nil, err
	}
	if s, err = over(ctx, c.b, c.b.consuming(), c.open, (*session).close); err != nil {
		later.close()
	}
	return s, later, err
}

func (c *consumer) open(ch *amqp.Channel) (*session, error) {
	if err := ch.Qos(c.prefetch, 0, false); err != nil {
		return nil, err
	}
	return newSession(ch, c.name, false)
}

// run takes what comes until Close, or until the queue is gone. A consumer that the server cancels, since its queue is gone, is told so
// when it tries again.
func (c *consumer) run(s, later *session) {
	defer close(c.ended)
	ctx, leave := context.WithCancel(c.taking)
	var others sync.WaitGroup
	others.Go(func() { c.bringBack(ctx, later) })
	defer others.Wait()
	defer leave()
	for {
		c.feed(s)
		if c.taking.Err() != nil {
			c.wait(s)
			return
		}
		s.close()
		var err error
		s, err = over(c.taking, c.b, c.b.consuming(), c.open, (*session).close)
		if errors.Is(known(err), queue.ErrUnknownQueue) && c.b.revived(c.taking, c.name) {
			s, err = over(c.taking, c.b, c.b.consuming(), c.open, (*session).close)
		}
		if err != nil {
			c.mu.Lock()
			c.gone = known(err)
			c.mu.Unlock()
			return
		}
	}
}

// feed gives Next what comes.
func (c *consumer) feed(s *session) {
	for {
		select {
		case d, open := <-s.deliveries:
			if !open {
				return
			}
			if !c.pass(c.held(s, &d)) {
				return
			}
		case <-c.taking.Done():
			return
		}
	}
}

// pass gives Next a message, unless it has come too often, or is counted first; false: nothing more of this channel is passed on.
func (c *consumer) pass(h *held) bool {
	limited := c.b.fact(c.name).most > 0 && h.death == nil
	if limited && h.worn(h.count-1) {
		c.b.spawn(h.bury)
		return true
	}
	if limited && h.uncounted() && h.recount(c.taking) {
		return true
	}
	return c.give(h)
}

func (c *consumer) held(s *session, d *amqp.Delivery) *held {
	return &held{c: c, s: s, d: d, count: count(d, c.name), death: death(d, c.name)}
}

// give hands a delivery to Next; false: nobody took it, and nobody will.
func (c *consumer) give(h *held) bool {
	d := &queue.Delivery{Message: message(h.d), Queue: c.name, Count: h.count, Death: h.death, Settler: h}
	select {
	case c.items <- d:
		return true
	case <-h.s.closed:
		return false
	case <-c.taking.Done():
		c.back = append(c.back, h)
		return false
	}
}

// wait serves a consumer that has stopped: what was fetched goes back, and what is in hand may be settled, until Close.
func (c *consumer) wait(s *session) {
	defer s.close()
	if s.ch.Cancel(tag, false) != nil {
		return
	}
	for d := range s.deliveries { // the client closes it behind what it has
		c.back = append(c.back, c.held(s, &d))
	}
	c.giveBack(s)
	select {
	case <-c.living.Done():
	case <-s.closed:
	}
}

// giveBack returns what was fetched and not asked for. The server counts that as if it had been handed out. So what has been handed out
// before, or would be counted by us, is published again with its own count, instead; the rest keeps its place.
func (c *consumer) giveBack(s *session) {
	var counted []*held
	var all []amqp.Publishing
	f := c.b.fact(c.name)
	for _, h := range c.back {
		if h.count == 1 && (f.counts || f.most == 0) {
			_ = s.ch.Nack(h.d.DeliveryTag, false, true) // the channel is closed where that fails, which returns all
			continue
		}
		h.count--
		counted, all = append(counted, h), append(all, h.afresh())
	}
	if len(all) == 0 || c.b.put(c.b.ctx, c.name, all) != nil {
		return
	}
	for _, h := range counted {
		_ = s.ch.Ack(h.d.DeliveryTag, false)
	}
}

// Next implements queue.Consumer.
func (c *consumer) Next(ctx context.Context) (*queue.Delivery, error) {
	d, err := c.next(ctx)
	if err != nil {
		return nil, fmt.Errorf("jobs/rabbitmq: consume %q: %w", c.name, err)
	}
	return d, nil
}

func (c *consumer) next(ctx context.Context) (*queue.Delivery, error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case c.taking.Err() != nil:
		return nil, queue.ErrClosed
	}
	select {
	case d := <-c.items:
		return d, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.taking.Done():
		return nil, queue.ErrClosed
	case <-c.ended:
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil, c.gone
	}
}

// Stop implements queue.Consumer.
func (c *consumer) Stop() { c.stop() }

// Close implements queue.Consumer.
func (c *consumer) Close() error {
	c.end()
	<-c.ended
	return nil
}
