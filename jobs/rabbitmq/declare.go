package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
	counts  bool   // the server counts what comes back
	most    int    // deliveries of a message, which who reads it sees to; 0: any number
	dead    string // queue of the dead letters
	expires time.Duration
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

// ensure makes a queue that is not there, and finds out how one is that is there. It asks passively first: a queue that is there is not
// touched, and who may not make queues may use it. Where two make a queue at once, the second finds it as the first has made it. One that
// expires is most likely its caller's own, and is not asked for: the server would log an error for each that is not there.
func (b *Broker) ensure(ctx context.Context, s queue.Spec) (notes []string, err error) {
	w := want{s: s, kind: b.kindFor(s), durable: true}
	w.args = b.arguments(s, w.kind)
	missing := s.Expires > 0
	if missing {
		err = b.create(ctx, &w)
	}
	if !missing || refused(err) {
		_, err = b.passive(ctx, s.Name)
		if missing = errors.Is(err, queue.ErrUnknownQueue); missing {
			err = b.create(ctx, &w)
		}
	}
	if !missing && err == nil || differenceOf(err) != nil {
		err = b.compare(ctx, &w)
	}
	if err != nil {
		return nil, err
	}
	b.learn(s, &w)
	return w.notes, nil
}

// create makes a queue, without what the server does not know.
func (b *Broker) create(ctx context.Context, w *want) error {
	for {
		err := b.declareAs(ctx, w)
		if err == nil {
			b.born(w.s)
		}
		name := unknownArgument(err)
		if _, is := w.args[name]; !is {
			return err
		}
		delete(w.args, name)
		w.notes = append(w.notes, fmt.Sprintf("it has no %s, which this server does not take", name))
	}
}

// compare notes what a queue that is there has otherwise: each refusal to make it names one difference.
func (b *Broker) compare(ctx context.Context, w *want) error {
	for range 30 {
		err := b.declareAs(ctx, w)
		switch d := differenceOf(err); {
		case d != nil:
			w.adopt(b, d)
		case refused(err):
			w.kind, w.notes = "", []string{"nothing is known of it, since this user may not declare it"}
			return nil
		default:
			return err
		}
	}
	return errors.New("the server names one difference after the other")
}

func (b *Broker) declareAs(ctx context.Context, w *want) error {
	return b.ask(ctx, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(w.s.Name, w.durable, w.autoDelete, w.exclusive, false, w.args)
		return err
	})
}

func refused(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Code == amqp.AccessRefused
}

// kindFor is the kind of a new queue that does what a Spec asks. Quorum queues are for RabbitMQ 4: a server of 3.10 that was killed a
// second after it had made one starts with a queue that has no leader, where who publishes waits, and who consumes, too, until somebody
// deletes it (youth).
func (b *Broker) kindFor(s queue.Spec) string {
	if s.Shared || !b.version.atLeast(4, 0) || s.Priorities && !b.version.atLeast(4, 3) {
		return classic
	}
	return quorum
}

// arguments are those of a new queue. Neither a limit of deliveries nor a way to the dead letters is among them: who reads sees to both. A
// server of 3.10 that was killed may start without the worker of its dead letters (rabbit_fifo_dlx_worker, not_found), and tries again
// after 3 minutes what nobody had confirmed.
func (b *Broker) arguments(s queue.Spec, kind string) amqp.Table {
	args := amqp.Table{}
	if s.Shared { // a foreign program declares it without any
		return args
	}
	if s.Priorities {
		args["x-max-priority"] = int64(queue.MaxPriority)
	}
	if s.Expires > 0 {
		args["x-expires"] = s.Expires.Milliseconds()
	}
	if s.MaxLength > 0 {
		args["x-max-length"], args["x-overflow"] = int64(s.MaxLength), "drop-head"
	}
	if kind != quorum {
		return args
	}
	args["x-queue-type"] = quorum
	if b.version.atLeast(4, 0) {
		args["x-delivery-limit"] = int64(-1) // or it would be 20
	}
	if b.version.atLeast(3, 12) {
		args["x-consumer-timeout"] = queue.MaxDelay.Milliseconds()
	}
	return args
}

// learn keeps what settling has to know.
func (b *Broker) learn(s queue.Spec, w *want) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts[s.Name] = facts{counts: w.kind == quorum, most: s.MaxDeliveries, dead: s.DeadQueue(), expires: s.Expires}
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
	if delete(w.args, "x-queue-type"); said {
		w.args["x-queue-type"] = kind
	}
}

// unsupported is how a RabbitMQ refuses an argument that it does not know, or not for this kind of queue.
var unsupported = regexp.MustCompile(`invalid arg '([^']+)' for`)

// unknownArgument is what a server does not take; "": it refuses something else.
func unknownArgument(err error) string {
	var e *amqp.Error
	if !errors.As(err, &e) || e.Code != amqp.PreconditionFailed {
		return ""
	}
	if found := unsupported.FindStringSubmatch(e.Reason); found != nil {
		return found[1]
	}
	return ""
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
