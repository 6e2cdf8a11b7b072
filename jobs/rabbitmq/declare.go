package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// Kinds of queues.
const (
	quorum  = "quorum"
	classic = "classic"
)

// facts are what is known of a queue that was declared. The zero value is of one that was not.
type facts struct {
	counts bool   // the server counts what comes back
	most   int    // deliveries of a message; 0: any number
	dead   string // queue of the dead letters
}

func (b *Broker) fact(name string) facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.facts[name]
	f.dead = or(f.dead, queue.DeadLetters)
	return f
}

// Declare implements queue.Broker. A queue that is there is used as it is, and the notes say what it does otherwise.
func (b *Broker) Declare(ctx context.Context, s queue.Spec) ([]string, error) {
	notes, err := b.declare(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("jobs/rabbitmq: declare %q: %w", s.Name, err)
	}
	return notes, nil
}

func (b *Broker) declare(ctx context.Context, s queue.Spec) ([]string, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if dead := s.DeadQueue(); dead != s.Name {
		if _, err := b.passive(ctx, dead); errors.Is(err, queue.ErrUnknownQueue) {
			_, err = b.ensure(ctx, queue.Spec{Name: dead, Dead: s.Dead})
			if err != nil {
				return nil, fmt.Errorf("its dead letters %q: %w", dead, err)
			}
		} else if err != nil {
			return nil, err
		}
	}
	return b.ensure(ctx, s)
}

// ensure makes a queue that is not there, and finds out how one is that is there.
func (b *Broker) ensure(ctx context.Context, s queue.Spec) (notes []string, err error) {
	w := want{s: s, kind: b.kindFor(s), args: b.arguments(s, b.kindFor(s)), durable: true}
	for range 30 { // each refusal names one difference
		err = b.ask(ctx, func(ch *amqp.Channel) error {
			_, err := ch.QueueDeclare(s.Name, w.durable, w.autoDelete, w.exclusive, false, w.args)
			return err
		})
		d := differenceOf(err)
		if d == nil {
			break
		}
		w.adopt(b, d)
	}
	notes = w.notes
	if refused(err) { // who may not declare may use what is there
		if _, missing := b.passive(ctx, s.Name); missing != nil {
			return nil, err
		}
		w.kind, notes, err = "", []string{"nothing is known of it, since declaring it is refused"}, nil
	}
	if err != nil {
		return nil, err
	}
	b.learn(s, &w)
	return notes, nil
}

func refused(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Code == amqp.AccessRefused
}

// kindFor is the kind of queue that does what a Spec asks.
func (b *Broker) kindFor(s queue.Spec) string {
	if s.Plain || s.Priorities && !b.version.atLeast(4, 3) {
		return classic
	}
	return quorum
}

// arguments are those of a new queue.
func (b *Broker) arguments(s queue.Spec, kind string) amqp.Table {
	if s.Plain {
		return amqp.Table{}
	}
	args := amqp.Table{"x-queue-type": kind}
	if s.Priorities {
		args["x-max-priority"] = int64(queue.MaxPriority)
	}
	if s.Expires > 0 {
		args["x-expires"] = s.Expires.Milliseconds()
	}
	isDead := s.Name == s.DeadQueue()
	switch {
	case s.MaxLength > 0: // what is dropped would go to the dead letters, and so would go without them what has come too often
		args["x-max-length"], args["x-overflow"] = int64(s.MaxLength), "drop-head"
	case kind == quorum && s.MaxDeliveries > 0 && !isDead:
		args["x-delivery-limit"] = int64(s.MaxDeliveries - 1) // it counts what comes back
		args["x-dead-letter-exchange"], args["x-dead-letter-routing-key"] = "", s.DeadQueue()
		args["x-dead-letter-strategy"], args["x-overflow"] = "at-least-once", "reject-publish"
	}
	if _, limited := args["x-delivery-limit"]; kind == quorum && !limited && b.version.atLeast(4, 0) {
		args["x-delivery-limit"] = int64(-1) // or it would be 20
	}
	if kind == quorum && b.version.atLeast(3, 12) {
		args["x-consumer-timeout"] = int64(queue.MaxDelay.Milliseconds())
	}
	return args
}

// learn keeps what settling has to know.
func (b *Broker) learn(s queue.Spec, w *want) {
	f := facts{counts: w.kind == quorum, most: s.MaxDeliveries, dead: s.DeadQueue()}
	if limit, ok := w.args["x-delivery-limit"].(int64); ok && f.counts && limit >= 0 {
		f.most = int(limit) + 1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts[s.Name] = f
}

// want is how a queue is to be, and step by step how it is.
type want struct {
	s                              queue.Spec
	kind                           string
	args                           amqp.Table
	durable, autoDelete, exclusive bool
	notes                          []string
}

// difference is what the server says of a queue that is there.
type difference struct{ of, value string }

// inequivalent is how a RabbitMQ refuses to declare a queue otherwise: received 'true' but current is 'false', or, for an argument, received none but
// current is the value '9' of type 'signedint'.
var inequivalent = regexp.MustCompile(`inequivalent arg '([^']+)' for .*but current is (?:none|(?:the value )?'(.*?)'(?: of type '\w+')?)$`)

// differenceOf reads a refusal; nil: it is none of this kind.
func differenceOf(err error) *difference {
	var e *amqp.Error
	if !errors.As(err, &e) || e.Code != amqp.PreconditionFailed {
		return nil
	}
	found := inequivalent.FindStringSubmatch(e.Reason)
	if found == nil {
		return nil
	}
	return &difference{found[1], found[2]}
}

// adopt takes over one difference, and notes it.
func (w *want) adopt(b *Broker, d *difference) {
	is, _ := strconv.ParseBool(d.value)
	switch d.of {
	case "durable":
		w.durable = is
		w.notes = append(w.notes, "it is not durable: it goes with the server")
	case "auto_delete":
		w.autoDelete = is
		w.notes = append(w.notes, "it goes with its last consumer")
	case "exclusive":
		w.exclusive = is // the server says more when it is used
	case "x-queue-type":
		w.become(b, or(d.value, classic), d.value != "")
	default:
		was, had := w.args[d.of]
		if w.args[d.of] = valueOf(d.value); d.value == "" {
			delete(w.args, d.of)
		}
		w.notes = append(w.notes, fmt.Sprintf("its %s is %s, not %s", d.of, or(d.value, "none"), told(was, had)))
	}
}

// become takes over that a queue is of another kind. Its arguments are then to be those of that kind, so what was noted of them is looked at anew.
func (w *want) become(b *Broker, kind string, said bool) {
	if w.kind != kind {
		w.notes = slices.DeleteFunc(w.notes, func(note string) bool { return strings.HasPrefix(note, "its ") })
		w.notes = append(w.notes, fmt.Sprintf("it is a %s queue, not a %s one", kind, w.kind))
	}
	w.kind, w.args = kind, b.arguments(w.s, kind)
	if w.args["x-queue-type"] = kind; !said {
		delete(w.args, "x-queue-type")
	}
}

func valueOf(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

func told(value any, had bool) string {
	if !had {
		return "none"
	}
	return fmt.Sprint(value)
}
