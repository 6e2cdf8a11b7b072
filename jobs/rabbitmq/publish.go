package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// Publish implements queue.Broker. Messages whose confirmation a broken connection has swallowed are published again.
func (b *Broker) Publish(ctx context.Context, name string, messages ...queue.Message) error {
	if err := b.publish(ctx, name, messages); err != nil {
		return fmt.Errorf("jobs/rabbitmq: publish to %q: %w", name, err)
	}
	return nil
}

func (b *Broker) publish(ctx context.Context, name string, messages []queue.Message) error {
	if err := queue.CheckTarget(name); err != nil {
		return err
	}
	all := make([]amqp.Publishing, len(messages))
	for i := range messages {
		if err := messages[i].Check(); err != nil {
			return err
		}
	}
	for i := range messages {
		all[i] = publishing(&messages[i])
	}
	return b.put(ctx, name, all)
}

// put publishes to a queue, and waits for the confirmations.
func (b *Broker) put(ctx context.Context, name string, all []amqp.Publishing) error {
	_, err := await(ctx, b, func() (struct{}, error) { return struct{}{}, b.putAll(ctx, name, all) }, nil)
	if full := b.out.room(); err != nil && ctx.Err() != nil && full != nil { // what was on its way when the server stopped to read may yet be taken
		return fmt.Errorf("%w (%v)", err, full)
	}
	return err
}

func (b *Broker) putAll(ctx context.Context, name string, left []amqp.Publishing) error {
	if err := b.grown(ctx, name); err != nil {
		return err
	}
	var refusing time.Time // since when
	for ctx.Err() == nil {
		o, err := b.opened(ctx)
		if err != nil {
			return err
		}
		if err := b.out.room(); err != nil {
			return err
		}
		refused := false
		if left, refused, err = o.publish(name, left); err != nil || len(left) == 0 {
			return err
		}
		switch {
		case !refused: // the connection broke, or the channel: what is left goes over the next one
			refusing = time.Time{}
		case refusing.IsZero():
			refusing = time.Now()
		case time.Since(refusing) > yielding:
			return fmt.Errorf("%w (the queue refuses)", queue.ErrFull)
		}
		sleep(ctx, calm)
	}
	return context.Cause(ctx)
}

// yielding is how long a queue may refuse before it counts as full: a quorum queue does so while it has no leader, as in its first moments.
const yielding = 5 * time.Second

// outlet is a channel with confirmations.
type outlet struct {
	ch    *amqp.Channel
	marks atomic.Int64
	turn  chan struct{} // taken by watch when it has noted what came before
	ended chan struct{} // closed when watch has ended

	mu       sync.Mutex
	returned map[int64]struct{} // marks of what came back
	met      map[string]bool    // queues that have taken something
}

// opened returns the outlet, and opens one where the last one is closed.
func (b *Broker) opened(ctx context.Context) (*outlet, error) {
	if o := b.outlet.Load(); o != nil && !o.ch.IsClosed() {
		return o, nil
	}
	release, err := b.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if o := b.outlet.Load(); o != nil && !o.ch.IsClosed() {
		return o, nil
	}
	o, err := over(ctx, b, b.out, newOutlet, func(o *outlet) { _ = o.ch.Close() })
	if err != nil {
		return nil, err
	}
	returns := o.ch.NotifyReturn(make(chan amqp.Return))
	if !b.spawn(func() { o.watch(returns) }) {
		return nil, queue.ErrClosed
	}
	b.outlet.Store(o)
	return o, nil
}

// turn waits until nobody else opens a channel that all use.
func (b *Broker) turn(ctx context.Context) (release func(), err error) {
	select {
	case b.opening <- struct{}{}:
		return func() { <-b.opening }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-b.ctx.Done():
		return nil, queue.ErrClosed
	}
}

func newOutlet(ch *amqp.Channel) (*outlet, error) {
	if err := ch.Confirm(false); err != nil {
		return nil, err
	}
	return &outlet{ch: ch, turn: make(chan struct{}), ended: make(chan struct{}), returned: map[int64]struct{}{}, met: map[string]bool{}}, nil
}

// watch notes what comes back, until the channel closes. The client hands over a return before it looks at the confirmation behind it, but that
// does not mean that it is noted when somebody hears of the confirmation: so who hears of one takes a turn first.
func (o *outlet) watch(returns <-chan amqp.Return) {
	defer close(o.ended)
	for {
		select {
		case r, open := <-returns:
			if !open {
				return
			}
			if mark, ok := r.Headers[headerMark].(int64); ok {
				o.mu.Lock()
				o.returned[mark] = struct{}{}
				o.mu.Unlock()
			}
		case <-o.turn:
		}
	}
}

// cameBack tells whether a message was returned, and forgets it.
func (o *outlet) cameBack(mark int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, yes := o.returned[mark]
	delete(o.returned, mark)
	return yes
}

// publish sends messages one after the other, and then waits for all confirmations. What is left was refused, or on its way when the
// channel closed. The first one for a queue goes alone: it is the one that a quorum queue refuses whose leader is not known yet, and the
// others would overtake it.
func (o *outlet) publish(name string, all []amqp.Publishing) (left []amqp.Publishing, refused bool, err error) {
	if len(all) > 1 && !o.knows(name) {
		if left, refused, err = o.publish(name, all[:1]); err != nil || len(left) > 0 {
			return all, refused, err
		}
		all = all[1:]
	}
	marks, confirmations := o.send(name, all)
	// The confirmations that the client offers on one channel in their order are not used: it reports a negative one that came early as
	// positive, when a later one confirms "all up to here".
	for _, c := range confirmations {
		c.Wait()
	}
	select {
	case o.turn <- struct{}{}:
	case <-o.ended:
	}
	for i := range all {
		switch {
		case i >= len(marks):
			left = append(left, all[i])
		case o.cameBack(marks[i]):
			err = queue.ErrUnknownQueue
		case confirmations[i].Acked():
			o.meets(name)
		default:
			left, refused = append(left, all[i]), refused || !o.ch.IsClosed()
		}
	}
	return left, refused, err
}

// send publishes as many as the channel takes.
func (o *outlet) send(name string, all []amqp.Publishing) (marks []int64, confirmations []*amqp.DeferredConfirmation) {
	for i := range all {
		mark := o.marks.Add(1)
		all[i].Headers[headerMark] = mark
		c, err := o.ch.PublishWithDeferredConfirm(amqp.DefaultExchange, name, true, false, all[i])
		if err != nil {
			_ = o.ch.Close() // whatever it was, this channel is of no more use
			break
		}
		marks, confirmations = append(marks, mark), append(confirmations, c)
	}
	return marks, confirmations
}

func (o *outlet) knows(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.met[name]
}

func (o *outlet) meets(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.met) > 1000 { // queues of answers come and go; meeting one again costs nothing but a wait
		clear(o.met)
	}
	o.met[name] = true
}

// republish puts one message into a queue, and makes the queue first where it is not there.
func (b *Broker) republish(ctx context.Context, name string, p amqp.Publishing, declare func() error) error {
	err := b.put(ctx, name, []amqp.Publishing{p})
	if errors.Is(err, queue.ErrUnknownQueue) {
		if err = declare(); err == nil {
			err = b.put(ctx, name, []amqp.Publishing{p})
		}
	}
	return err
}
