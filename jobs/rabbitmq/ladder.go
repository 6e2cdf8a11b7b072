package rabbitmq

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

const (
	rungPrefix = "cancha.retry."
	lowest     = 125 * time.Millisecond // the first rung; each further one is twice as high, so a message waits for twice as long as asked at most
	fresh      = time.Minute            // for so long a rung that was declared is there
)

// isRung tells whether a queue keeps messages away.
func isRung(name string) bool { return strings.HasPrefix(name, rungPrefix) }

// rungFor is the time for which a message is kept away, instead of the one that is asked for.
func rungFor(after time.Duration) time.Duration {
	rung := lowest
	for rung < after {
		rung *= 2
	}
	return min(rung, queue.MaxDelay)
}

// rungName is the queue in which messages of another one wait so long.
func rungName(home string, rung time.Duration) string {
	sum := sha256.Sum256([]byte(home))
	name := rungPrefix + rung.String() + "."
	return name + short(home, queue.MaxText-len(name), sum[:16])
}

// keepAway publishes a message that comes to its queue later: to the next higher rung where one refuses, as a quorum queue does that a server has lost track of.
func (b *Broker) keepAway(ctx context.Context, home string, after time.Duration, p amqp.Publishing) error {
	for rung := rungFor(after); ; rung *= 2 {
		err := b.keepOn(ctx, rung, home, p)
		if !errors.Is(err, queue.ErrFull) || b.out.room() != nil || 2*rung > queue.MaxDelay {
			return err
		}
		b.out.log("a queue refuses what is to be tried later", "queue", rungName(home, rung))
	}
}

func (b *Broker) keepOn(ctx context.Context, rung time.Duration, home string, p amqp.Publishing) error {
	name := rungName(home, rung)
	if err := b.rung(ctx, name, home, rung); err != nil {
		return err
	}
	return b.republish(ctx, name, p, func() error {
		b.mu.Lock()
		delete(b.rungs, name)
		b.mu.Unlock()
		return b.rung(ctx, name, home, rung)
	})
}

// rung declares a queue of the ladder, which starts its time to live anew. So it is there for longer than the last message that waits in it. A ladder for
// each queue, and not one for all: messages for a queue that is gone stay in theirs, and would block one that all share.
func (b *Broker) rung(ctx context.Context, name, home string, rung time.Duration) error {
	b.mu.Lock()
	last, there := b.rungs[name]
	b.mu.Unlock()
	if there && time.Since(last) < fresh {
		return nil
	}
	_, missing := b.passive(ctx, name)
	now := time.Now()
	args := amqp.Table{"x-message-ttl": rung.Milliseconds(), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": home,
		"x-expires": (2*rung + 60*fresh).Milliseconds()}
	if b.version.atLeast(3, 10) { // before, a quorum queue knows no time to live
		args["x-queue-type"], args["x-overflow"], args["x-dead-letter-strategy"] = quorum, "reject-publish", "at-least-once"
	}
	err := b.ask(ctx, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, args)
		return err
	})
	if err == nil {
		if errors.Is(missing, queue.ErrUnknownQueue) {
			b.made(name)
		}
		b.mu.Lock()
		b.rungs[name] = now
		b.mu.Unlock()
	}
	return err
}
