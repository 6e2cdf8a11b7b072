package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// held is one message in somebody's hand. It implements queue.Settler.
type held struct {
	c     *consumer
	s     *session
	d     *amqp.Delivery
	count int
	death *queue.Death

	mu      sync.Mutex
	settled bool // or being settled
}

// Settle implements queue.Settler.
func (h *held) Settle(ctx context.Context, o queue.Outcome) error {
	err := h.begin(ctx)
	if err == nil {
		if err = h.settle(ctx, o); err != nil {
			h.mu.Lock()
			h.settled = false
			h.mu.Unlock()
		}
	}
	if err != nil {
		return fmt.Errorf("jobs/rabbitmq: settle a message of %q: %w", h.c.name, err)
	}
	return nil
}

func (h *held) begin(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.settled:
		return queue.ErrSettled
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case h.s.ch.IsClosed():
		return queue.ErrLost
	}
	h.settled = true
	return nil
}

func (h *held) settle(ctx context.Context, o queue.Outcome) (err error) {
	switch {
	case o.Verdict == queue.Dead:
		err = h.dead(ctx, o.Reason)
	case o.Verdict == queue.Retry && h.death == nil && h.worn(h.count):
		err = h.dead(ctx, queue.ReasonLimit)
	case o.Verdict == queue.Retry && o.After > 0:
		err = h.c.b.keepAway(ctx, h.c.name, o.After, h.afresh())
	case o.Verdict == queue.Retry && h.c.b.fact(h.c.name).counts:
		return lost(h.s.ch.Nack(h.d.DeliveryTag, false, true))
	case o.Verdict == queue.Retry:
		err = h.c.b.put(ctx, h.c.name, []amqp.Publishing{h.afresh()})
	}
	if err != nil {
		return err
	}
	return lost(h.s.ch.Ack(h.d.DeliveryTag, false))
}

// lost says what it means that a channel takes no verdict.
func lost(err error) error {
	if err != nil {
		return fmt.Errorf("%w (%v)", queue.ErrLost, err)
	}
	return nil
}

// worn tells whether a message that has been handed out so often is not handed out again.
func (h *held) worn(count int) bool {
	most := h.c.b.fact(h.c.name).most
	return most > 0 && count >= most
}

// afresh is the message as it comes again, with how often it has come.
func (h *held) afresh() amqp.Publishing {
	p := again(h.d)
	p.Headers[headerCount], p.Headers[headerHome] = int64(h.count), h.c.name
	if h.death != nil {
		write(p.Headers, *h.death)
	}
	return p
}

// dead publishes the message to the dead letters; what is one already stays in its queue.
func (h *held) dead(ctx context.Context, reason string) error {
	p, to := again(h.d), h.c.b.fact(h.c.name).dead
	death := queue.Death{Queue: h.c.name, Reason: reason, Count: h.count, At: time.Now()}
	if h.death != nil {
		to, death.Queue, death.Count = h.c.name, h.death.Queue, h.death.Count
	}
	write(p.Headers, death)
	return h.c.b.republish(ctx, to, p, func() error {
		_, err := h.c.b.ensure(ctx, queue.Spec{Name: to})
		return err
	})
}

// bury makes a dead letter of a message that comes once too often, as soon as there is room for one.
func (h *held) bury() {
	h.count--
	for h.c.living.Err() == nil {
		err := h.Settle(h.c.living, queue.Outcome{Verdict: queue.Dead, Reason: queue.ReasonLimit})
		if err == nil || errors.Is(err, queue.ErrLost) || errors.Is(err, queue.ErrClosed) {
			return
		}
		h.c.b.in.log("a message over its limit of deliveries stays for now", "queue", h.c.name, "error", err)
		sleep(h.c.living, time.Second)
	}
}

// uncounted tells whether a message comes again that its queue does not count.
func (h *held) uncounted() bool {
	_, counted := h.d.Headers[headerDelivered]
	return h.d.Redelivered && !counted
}

// recount puts a message behind the others of its queue, with how often it has come: in a queue that only tells that it has come before,
// the next one would find no more than that. False: it could not be.
func (h *held) recount(ctx context.Context) bool {
	h.count--
	p := h.afresh()
	h.count++
	return h.c.b.put(ctx, h.c.name, []amqp.Publishing{p}) == nil && h.s.ch.Ack(h.d.DeliveryTag, false) == nil
}
