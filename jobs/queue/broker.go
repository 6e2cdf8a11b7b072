package queue

import (
	"context"
	"fmt"
	"time"
)

// Broker carries messages. Package queue says what it promises. Whoever has opened it closes it.
type Broker interface {
	// Declare makes a queue, and the queue of its dead letters, where they are not there. A queue that is there gets those settings of the
	// Spec that can be changed. The notes say, a sentence each, what the queue does otherwise than the Spec asks: none is the rule.
	Declare(ctx context.Context, s Spec) (notes []string, err error)
	// Publish puts messages into a queue, in this order, and returns when all are durable. After an error some of them may be there, the first ones
	// before others; of one message, none is after an error that says so.
	Publish(ctx context.Context, queue string, messages ...Message) error
	// Consume begins to take messages of a queue; prefetch, from 1 to MaxPrefetch, is how many its user may have in hand. The context is
	// for the call alone.
	Consume(ctx context.Context, queue string, prefetch int) (Consumer, error)
	// Announce gives a message to all who listen to a topic now. That nobody does is no error.
	Announce(ctx context.Context, topic string, m Message) error
	// Listen begins to listen: what is announced after it has returned is heard. The context is for the call alone.
	Listen(ctx context.Context, topic string) (Listener, error)
	// Inspect counts what a queue has.
	Inspect(ctx context.Context, queue string) (Info, error)
	// Close ends all consumers and listeners; what they have in hand comes again. Calls that wait return ErrClosed. It returns when nothing
	// runs any more.
	Close() error
}

// Consumer takes messages of one queue.
type Consumer interface {
	// Next waits for a message, and while as many are in hand as prefetch allows. Its errors are that of the context, ErrClosed, and
	// ErrUnknownQueue where the queue is gone. It may return a message though the context has ended meanwhile, and never drops one.
	Next(ctx context.Context) (*Delivery, error)
	// Stop has Next return ErrClosed, and what was fetched in advance go back. Deliveries in hand can still be settled, until Close.
	Stop()
	// Close is Stop, and what is in hand goes back, too: it comes again. It returns when the broker knows, or is away.
	Close() error
}

// Listener hears what is announced on one topic.
type Listener interface {
	// Next waits for a message. Its errors are that of the context and ErrClosed.
	Next(ctx context.Context) (Message, error)
	// Close ends listening.
	Close() error
}

// DeadLetters is the queue of the dead letters of queues whose Spec names none.
const DeadLetters = "cancha.dead"

// Spec says what a queue is to be. All queues are durable. Only Name is needed.
type Spec struct {
	Name string
	// MaxDeliveries is how often a message is handed out at most: if the last one comes back, it is a dead letter. 0: no limit.
	MaxDeliveries int
	// Dead is the queue of the dead letters; it is made where it is not there. "": DeadLetters.
	Dead string
	// Priorities has messages of higher priority handed out before others. Without it only their order counts, and a RabbitMQ can use the
	// kind of queue that is safest.
	Priorities bool
	// Shared is for a queue that programs declare which know nothing of this package: they find AMQP's plainest durable one, as they ask
	// for. What a RabbitMQ would have to be told for it, Priorities, Expires and MaxLength, does not count there.
	Shared bool
	// Expires removes the queue, with its messages, when it has had no consumer for so long: queues of answers are such. At least
	// MinExpires; 0: never.
	Expires time.Duration
	// MaxLength is how many messages wait at most; of more, old ones of low priority are dropped, and are no dead letters. 0: no limit.
	MaxLength int
}

// Check tells what a Spec has that no broker does, and fills in nothing.
func (s Spec) Check() error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	switch {
	case s.Dead != "" && CheckName(s.Dead) != nil:
		return CheckName(s.Dead)
	case s.MaxDeliveries < 0 || s.MaxLength < 0:
		return fmt.Errorf("%w: MaxDeliveries %d, MaxLength %d; want 0, which is none, or more", ErrInvalid, s.MaxDeliveries, s.MaxLength)
	case s.Expires != 0 && s.Expires < MinExpires:
		return fmt.Errorf("%w: Expires %v, want 0, which is never, or %v at least", ErrInvalid, s.Expires, MinExpires)
	}
	return nil
}

// DeadQueue is the name of the queue of its dead letters.
func (s Spec) DeadQueue() string {
	if s.Dead != "" {
		return s.Dead
	}
	return DeadLetters
}

// Unknown is a count of Info or Death that the broker does not tell.
const Unknown = -1

// Info counts what a queue has at one moment.
type Info struct {
	Ready     int // messages that wait for a consumer
	Delayed   int // that Retry keeps away; or Unknown
	InHand    int // that are handed out, and not settled; or Unknown
	Consumers int // that were not stopped
}
