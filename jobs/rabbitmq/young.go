package rabbitmq

import (
	"context"
	"errors"
	"time"

	"cancha/jobs/queue"
)

// youth is for how long a queue that was made may go with a server that is killed: messages are on the disk before they are confirmed, but
// that there is such a queue is written down later. Of a server of 3.10.8, killed 0.5 to 1.8 s after it had made them, 1 of 7 classic
// queues was gone, and 3 of 7 quorum queues were there without a leader, so that nobody could use them; of those that were half a second
// older all came back.
const youth = 4 * time.Second

// childhood is for how long a queue that was made here and is gone has gone with the server.
const childhood = time.Minute

// infant is a queue that was made here.
type infant struct {
	spec queue.Spec
	at   time.Time
}

func (b *Broker) born(s queue.Spec) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.young[s.Name] = infant{s, time.Now()}
}

// grown waits until a queue that was made here is one that stays, so that what is confirmed stays with it.
func (b *Broker) grown(ctx context.Context, name string) error {
	for {
		b.mu.Lock()
		q, young := b.young[name]
		b.mu.Unlock()
		if !young || time.Since(q.at) > childhood {
			return nil
		}
		sleep(ctx, time.Until(q.at.Add(youth)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := b.revive(ctx, name, q); err != nil {
			return err
		}
		b.mu.Lock()
		if b.young[name] == q { // or it was made anew
			delete(b.young, name)
		}
		b.mu.Unlock()
	}
}

// revive makes a queue anew that has gone with the server; it was empty. One that expires has done that.
func (b *Broker) revive(ctx context.Context, name string, q infant) error {
	_, err := b.passive(ctx, name)
	if errors.Is(err, queue.ErrUnknownQueue) && q.spec.Expires == 0 {
		b.out.log("a queue that was made a moment ago has gone with the server; it is made anew", "queue", name)
		_, err = b.ensure(ctx, q.spec)
	}
	return err
}

// revived tells whether a queue that is gone was made a moment ago, and is there again.
func (b *Broker) revived(ctx context.Context, name string) bool {
	b.mu.Lock()
	q, young := b.young[name]
	b.mu.Unlock()
	return young && q.spec.Expires == 0 && time.Since(q.at) < childhood && b.revive(ctx, name, q) == nil
}
