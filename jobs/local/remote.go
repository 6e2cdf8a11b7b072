package local

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"cancha/jobs/queue"
)

// remote is what a consumer and a listener of a Remote have in common: the server has it by a number, and on each connection it is made anew.
type remote struct {
	r      *Remote
	begin  packet             // the call that makes it
	ctx    context.Context    // ends, with ErrClosed as its cause, when nothing more is wanted
	cancel context.CancelFunc // of ctx

	turn   chan struct{} // whoever has put something in may change the following; room for one
	link   *link
	number uint64
}

func newRemote(ctx context.Context, r *Remote, begin packet) (*remote, error) {
	o := &remote{r: r, begin: begin, turn: make(chan struct{}, 1)}
	own, cancel := context.WithCancelCause(context.Background())
	o.ctx, o.cancel = own, func() { cancel(queue.ErrClosed) }
	if _, _, err := o.there(ctx); err != nil {
		o.cancel()
		return nil, err
	}
	return o, nil
}

// there returns the connection and the number by which the server knows it, and makes it there if that is a new one.
func (o *remote) there(ctx context.Context) (*link, uint64, error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
	for {
		l, err := o.r.up(ctx)
		if err != nil || l == o.link {
			return l, o.number, err
		}
		a, err := l.call(ctx, &o.begin)
		if errors.Is(err, errAway) {
			o.r.leave(l)
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		o.link, o.number = l, a.Consumer
	}
}

// next makes a call about it until there is an answer. The answer's Consumer is the number on the connection that it came over.
func (o *remote) next(ctx context.Context, op string) (*link, *packet, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(o.ctx, func() { cancel(context.Cause(o.ctx)) })()
	for {
		l, number, err := o.there(both)
		if err != nil {
			return nil, nil, err
		}
		a, err := l.call(both, &packet{Op: op, Consumer: number})
		if err == nil {
			a.Consumer = number
			return l, a, nil
		}
		if !errors.Is(err, errAway) {
			return nil, nil, o.r.closedOr(err)
		}
		o.r.leave(l)
	}
}

// tell makes a call about it, if the server is there and knows it, and does not wait long.
func (o *remote) tell(op string) error {
	o.turn <- struct{}{}
	l, number := o.link, o.number
	<-o.turn
	ctx, cancel := context.WithTimeout(o.r.ctx, patience)
	defer cancel()
	if l == nil || o.r.ctx.Err() != nil {
		return nil
	}
	_, err := l.call(ctx, &packet{Op: op, Consumer: number})
	if errors.Is(err, errAway) || ctx.Err() != nil { // it goes with its connection
		return nil
	}
	return err
}

// remoteConsumer implements queue.Consumer.
type remoteConsumer struct {
	*remote
	name  string
	ended atomic.Bool
}

// Consume implements queue.Broker.
func (r *Remote) Consume(ctx context.Context, name string, prefetch int) (queue.Consumer, error) {
	o, err := newRemote(ctx, r, packet{Op: opConsume, Name: name, Prefetch: prefetch})
	if err != nil {
		return nil, fmt.Errorf("jobs/local: consume %q: %w", name, err)
	}
	return &remoteConsumer{remote: o, name: name}, nil
}

// Next implements queue.Consumer.
func (c *remoteConsumer) Next(ctx context.Context) (*queue.Delivery, error) {
	l, a, err := c.next(ctx, opNext)
	var m queue.Message
	if err == nil {
		m, err = a.message()
	}
	if err != nil {
		return nil, fmt.Errorf("jobs/local: consume %q: %w", c.name, err)
	}
	return &queue.Delivery{Message: m, Queue: c.name, Count: a.Count, Death: a.Messages[0].Death,
		Settler: &remoteDelivery{c: c, link: l, consumer: a.Consumer, number: a.Number}}, nil
}

// Stop implements queue.Consumer.
func (c *remoteConsumer) Stop() {
	c.cancel()
	_ = c.tell(opStop) // it fetches nothing in advance: that it is not heard changes nothing
}

// Close implements queue.Consumer.
func (c *remoteConsumer) Close() error {
	c.cancel()
	if c.ended.Swap(true) {
		return nil
	}
	if err := c.tell(opEnd); err != nil {
		return fmt.Errorf("jobs/local: consume %q: %w", c.name, err)
	}
	return nil
}

// remoteDelivery implements queue.Settler.
type remoteDelivery struct {
	c                *remoteConsumer
	link             *link
	consumer, number uint64
	settled          atomic.Bool
}

// Settle implements queue.Settler. Whether an answer that does not come was a yes is not known: then the delivery counts as lost.
func (d *remoteDelivery) Settle(ctx context.Context, o queue.Outcome) error {
	if err := d.settle(ctx, o); err != nil {
		return fmt.Errorf("jobs/local: settle a message of %q: %w", d.c.name, err)
	}
	return nil
}

func (d *remoteDelivery) settle(ctx context.Context, o queue.Outcome) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case d.settled.Load():
		return queue.ErrSettled
	case d.c.ended.Load():
		return queue.ErrLost
	}
	_, err := d.link.call(ctx, &packet{Op: opSettle, Consumer: d.consumer, Number: d.number, Outcome: &o})
	if errors.Is(err, errAway) {
		return queue.ErrLost
	}
	if err == nil {
		d.settled.Store(true)
	}
	return err
}

// remoteListener implements queue.Listener.
type remoteListener struct {
	*remote
	topic string
	ended atomic.Bool
}

// Listen implements queue.Broker.
func (r *Remote) Listen(ctx context.Context, topic string) (queue.Listener, error) {
	o, err := newRemote(ctx, r, packet{Op: opListen, Name: topic})
	if err != nil {
		return nil, fmt.Errorf("jobs/local: listen to %q: %w", topic, err)
	}
	return &remoteListener{remote: o, topic: topic}, nil
}

// Next implements queue.Listener.
func (l *remoteListener) Next(ctx context.Context) (queue.Message, error) {
	_, a, err := l.next(ctx, opHear)
	var m queue.Message
	if err == nil {
		m, err = a.message()
	}
	if err != nil {
		return queue.Message{}, fmt.Errorf("jobs/local: listen to %q: %w", l.topic, err)
	}
	return m, nil
}

// Close implements queue.Listener.
func (l *remoteListener) Close() error {
	l.cancel()
	if l.ended.Swap(true) {
		return nil
	}
	if err := l.tell(opDeaf); err != nil {
		return fmt.Errorf("jobs/local: listen to %q: %w", l.topic, err)
	}
	return nil
}
