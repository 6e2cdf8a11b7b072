package rabbitmq

import (
	"container/heap"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

const (
	laterPrefix = "cancha.later."
	most        = 1000 // messages that one consumer keeps an eye on while they are kept away; of more, the others come into view when these have gone
)

// laterName is the queue in which messages of another one are kept away.
func laterName(home string) string {
	sum := sha256.Sum256([]byte(home))
	return laterPrefix + short(home, queue.MaxText-len(laterPrefix), sum[:16])
}

// keepAway publishes a message that comes to its queue later.
func (b *Broker) keepAway(ctx context.Context, home string, after time.Duration, p amqp.Publishing) error {
	if err := b.grown(ctx, laterName(home)); err != nil { // the time begins when it is there
		return err
	}
	p.Headers[headerDue] = time.Now().Add(after).UnixMilli()
	return b.republish(ctx, laterName(home), p, func() error { return b.waitingRoom(ctx, home) })
}

// waitingRoom makes the queue in which messages of another one wait, where it is not there. It expires as that one does.
func (b *Broker) waitingRoom(ctx context.Context, home string) error {
	_, err := b.ensure(ctx, queue.Spec{Name: laterName(home), Expires: b.fact(home).expires})
	return err
}

// waiting is a message that is kept away.
type waiting struct {
	due time.Time
	d   amqp.Delivery
}

// waitings are those of one channel: a heap, by due.
type waitings []waiting

func (w waitings) Len() int           { return len(w) }
func (w waitings) Less(i, j int) bool { return w[i].due.Before(w[j].due) }
func (w waitings) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waitings) Push(x any)        { *w = append(*w, x.(waiting)) }
func (w *waitings) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// bringBack sends home what waits for a consumer's queue, over one channel after another, until the context ends. Each consumer does, so
// that somebody does as long as anybody is there to take it.
func (c *consumer) bringBack(ctx context.Context, s *session) {
	for {
		c.watch(ctx, s)
		s.close()
		var err error
		if s, err = over(ctx, c.b, c.b.consuming(), c.openLater, (*session).close); errors.Is(known(err), queue.ErrUnknownQueue) {
			if err = c.b.waitingRoom(ctx, c.name); err == nil {
				s, err = over(ctx, c.b, c.b.consuming(), c.openLater, (*session).close)
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				c.b.in.log("messages that are kept away stay where they are", "queue", c.name, "error", err)
			}
			return
		}
	}
}

func (c *consumer) openLater(ch *amqp.Channel) (*session, error) {
	if err := ch.Qos(most, 0, false); err != nil {
		return nil, err
	}
	return newSession(ch, laterName(c.name), false)
}

// watch sends home what is due, until the channel closes.
func (c *consumer) watch(ctx context.Context, s *session) {
	var kept waitings
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case d, open := <-s.deliveries:
			if !open {
				return
			}
			due, _ := d.Headers[headerDue].(int64)
			heap.Push(&kept, waiting{time.UnixMilli(due), d})
		case <-timer.C:
			if c.sendHome(ctx, s, &kept) != nil {
				sleep(ctx, time.Second)
			}
		case <-ctx.Done():
			return
		}
		if len(kept) > 0 {
			timer.Reset(time.Until(kept[0].due))
		}
	}
}

// sendHome publishes what is due, and acknowledges it when that is confirmed: between both a server that dies leaves it twice.
func (c *consumer) sendHome(ctx context.Context, s *session, kept *waitings) error {
	now := time.Now()
	for len(*kept) > 0 && !(*kept)[0].due.After(now) {
		d := &(*kept)[0].d
		p := again(d)
		for _, name := range []string{headerCount, headerHome, headerDeathQueue, headerDeathReason, headerDeathCount, headerDeathAt} {
			if value, is := d.Headers[name]; is {
				p.Headers[name] = value
			}
		}
		if err := c.b.put(ctx, c.name, []amqp.Publishing{p}); err != nil {
			return err
		}
		if err := s.ch.Ack(d.DeliveryTag, false); err != nil {
			return err
		}
		heap.Pop(kept)
	}
	return nil
}
