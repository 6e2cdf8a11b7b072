package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// Broker is a RabbitMQ. It implements queue.Broker; Dial makes one.
type Broker struct {
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	out, in *link // out publishes, declares and asks; in consumes
	version version

	opening chan struct{} // held by who opens the outlet or the speaker; has room for one
	outlet  atomic.Pointer[outlet]
	speaker atomic.Pointer[amqp.Channel]

	mu     sync.Mutex
	closed bool
	begun  bool // the link in runs
	facts  map[string]facts
	young  map[string]infant // queues that were made here a moment ago
	locks  map[string]*lock  // that are held, or being taken
	work   sync.WaitGroup    // all goroutines; Add is called under mu, and not after closed
}

// Dial connects to a RabbitMQ, and waits for one that is not there as long as the context allows. Refused credentials, and a vhost that is not there,
// are errors at once.
func Dial(ctx context.Context, c Config) (*Broker, error) {
	b, err := dial(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("jobs/rabbitmq: connect: %w", err)
	}
	return b, nil
}

func dial(ctx context.Context, c Config) (*Broker, error) {
	url, err := c.url()
	if err != nil {
		return nil, err
	}
	b := &Broker{opening: make(chan struct{}, 1), facts: map[string]facts{}, young: map[string]infant{}, locks: map[string]*lock{}}
	b.ctx, b.end = context.WithCancel(context.WithoutCancel(ctx))
	b.out, b.in = b.link(c, url, "out"), b.link(c, url, "in")
	b.in.ready = b.relock
	conn, err := b.out.first(ctx)
	if err != nil {
		b.end()
		return nil, err
	}
	b.version = versionOf(conn.Properties)
	b.spawn(func() { b.out.run(conn) })
	if _, err := b.out.get(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Broker) link(c Config, url, what string) *link {
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(or(c.Name, filepath.Base(os.Args[0])) + " " + what)
	return &link{url: url, config: amqp.Config{Heartbeat: heartbeat, TLSClientConfig: c.TLS.Clone(), Properties: properties}, logger: c.Logger, ctx: b.ctx,
		change: make(chan struct{})}
}

// first makes the first connection.
func (l *link) first(ctx context.Context) (*amqp.Connection, error) {
	var refused *hopeless
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		conn, err := l.dial(ctx)
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %v", context.Cause(ctx), err)
		case errors.As(err, &refused):
			return nil, err
		}
		l.log("the server is not there yet", "error", err, "again in", pause)
		sleep(ctx, pause)
	}
}

// version of the server, such as 3.10.
type version struct{ major, minor int }

func versionOf(properties amqp.Table) (v version) {
	text, _ := properties["version"].(string)
	parts := strings.SplitN(text, ".", 3)
	v.major, _ = strconv.Atoi(parts[0]) // 0, where it says none: as an old one
	if len(parts) > 1 {
		v.minor, _ = strconv.Atoi(parts[1])
	}
	return v
}

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// spawn runs f on a goroutine that Close waits for; false: the broker is closed.
func (b *Broker) spawn(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.work.Go(f)
	return true
}

// consuming is the link that consumes; it is opened by the first who asks.
func (b *Broker) consuming() *link {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.begun && !b.closed {
		b.begun = true
		b.work.Go(func() { b.in.run(nil) })
	}
	return b.in
}

// await runs f, which knows no context, on a goroutine of its own, and leaves it there when the context ends; undo gets what nobody wants any more.
func await[T any](ctx context.Context, b *Broker, f func() (T, error), undo func(T)) (got T, err error) {
	if ctx.Err() != nil {
		return got, context.Cause(ctx)
	}
	type result struct {
		value T
		err   error
	}
	done, left := make(chan result), make(chan struct{})
	defer close(left)
	ok := b.spawn(func() {
		value, err := f()
		select {
		case done <- result{value, err}:
		case <-left:
			if err == nil && undo != nil {
				undo(value)
			}
		}
	})
	if !ok {
		return got, queue.ErrClosed
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return got, context.Cause(ctx)
	case <-b.ctx.Done():
		return got, queue.ErrClosed
	}
}

// tries is how often something is tried on one connection that fails without a reason that is known.
const tries = 5

// over runs f on a channel, and again on the next connection where one broke meanwhile. F owns the channel.
func over[T any](ctx context.Context, b *Broker, l *link, f func(*amqp.Channel) (T, error), undo func(T)) (got T, err error) {
	for try := 1; ; try++ {
		conn, err := l.get(ctx)
		if err != nil {
			return got, err
		}
		got, err = await(ctx, b, func() (T, error) {
			ch, err := conn.Channel()
			if err != nil {
				var none T
				return none, err
			}
			return f(ch)
		}, undo)
		switch {
		case err == nil, ctx.Err() != nil, b.ctx.Err() != nil, final(err):
			return got, err
		case conn.IsClosed():
			try = 0
		case try == tries:
			return got, err
		}
		sleep(ctx, calm) // the client notices that a connection is closed a little later
	}
}

// ask runs f on a channel that is closed afterwards.
func (b *Broker) ask(ctx context.Context, f func(*amqp.Channel) error) error {
	_, err := over(ctx, b, b.out, func(ch *amqp.Channel) (struct{}, error) {
		defer ch.Close() // an error closes it, too
		return struct{}{}, f(ch)
	}, nil)
	return err
}

// Inspect implements queue.Broker; it knows neither what is delayed nor what is in hand.
func (b *Broker) Inspect(ctx context.Context, name string) (queue.Info, error) {
	q, err := b.passive(ctx, name)
	if err != nil {
		return queue.Info{}, fmt.Errorf("jobs/rabbitmq: inspect %q: %w", name, err)
	}
	return queue.Info{Ready: q.Messages, Delayed: queue.Unknown, InHand: queue.Unknown, Consumers: q.Consumers}, nil
}

// passive asks for a queue.
func (b *Broker) passive(ctx context.Context, name string) (amqp.Queue, error) {
	q, err := over(ctx, b, b.out, func(ch *amqp.Channel) (amqp.Queue, error) {
		defer ch.Close()
		return ch.QueueDeclarePassive(name, true, false, false, false, nil)
	}, nil)
	return q, known(err)
}

// known says by the seam's words what the server says by its own.
func known(err error) error {
	var e *amqp.Error
	if errors.As(err, &e) && e.Code == amqp.NotFound && final(err) {
		return queue.ErrUnknownQueue
	}
	return err
}

// Close implements queue.Broker: both connections are closed, which ends all that runs over them. A second call waits for the first one.
func (b *Broker) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.end()
	b.work.Wait()
	return nil
}
