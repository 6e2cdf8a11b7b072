package rabbitmq

import (
	"context"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

// topics is the exchange of all topics.
const topics = "cancha.topics"

// behind is how many messages a listener may lag, on the server and again here; of more it misses the oldest.
const behind = 1000

func declareTopics(ch *amqp.Channel) error {
	return ch.ExchangeDeclare(topics, amqp.ExchangeDirect, true, false, false, false, nil)
}

// Announce implements queue.Broker. It does not wait for the server: nothing of an announcement is kept.
func (b *Broker) Announce(ctx context.Context, topic string, m queue.Message) error {
	if err := b.announce(ctx, topic, m); err != nil {
		return fmt.Errorf("jobs/rabbitmq: announce on %q: %w", topic, err)
	}
	return nil
}

func (b *Broker) announce(ctx context.Context, topic string, m queue.Message) error {
	if err := queue.CheckName(topic); err != nil {
		return err
	}
	if err := m.Check(); err != nil {
		return err
	}
	p := publishing(&m)
	p.DeliveryMode = amqp.Transient
	for {
		ch, err := b.speaks(ctx)
		if err != nil {
			return err
		}
		if err := b.out.room(); err != nil {
			return err
		}
		_, err = await(ctx, b, func() (struct{}, error) { return struct{}{}, ch.Publish(topics, topic, false, false, p) }, nil)
		if err == nil || ctx.Err() != nil || b.ctx.Err() != nil {
			return err
		}
		sleep(ctx, calm) // the connection broke
	}
}

// speaks returns the channel of announcements: not the outlet, which must not be closed by what goes wrong here.
func (b *Broker) speaks(ctx context.Context) (*amqp.Channel, error) {
	if ch := b.speaker.Load(); ch != nil && !ch.IsClosed() {
		return ch, nil
	}
	release, err := b.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if ch := b.speaker.Load(); ch != nil && !ch.IsClosed() {
		return ch, nil
	}
	ch, err := over(ctx, b, b.out, func(ch *amqp.Channel) (*amqp.Channel, error) { return ch, declareTopics(ch) }, nil)
	if err == nil {
		b.speaker.Store(ch)
	}
	return ch, err
}

// listener hears one topic.
type listener struct {
	b      *Broker
	topic  string
	heard  chan queue.Message
	living context.Context // ends with Close
	end    context.CancelFunc
	ended  chan struct{} // closed when run has ended
}

// Listen implements queue.Broker.
func (b *Broker) Listen(ctx context.Context, topic string) (queue.Listener, error) {
	l, err := b.listen(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("jobs/rabbitmq: listen to %q: %w", topic, err)
	}
	return l, nil
}

func (b *Broker) listen(ctx context.Context, topic string) (*listener, error) {
	if err := queue.CheckName(topic); err != nil {
		return nil, err
	}
	l := &listener{b: b, topic: topic, heard: make(chan queue.Message, behind), ended: make(chan struct{})}
	l.living, l.end = context.WithCancel(b.ctx)
	s, err := over(ctx, b, b.consuming(), l.open, (*session).close)
	if err == nil && !b.spawn(func() { l.run(s) }) {
		err = queue.ErrClosed
	}
	if err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

func (l *listener) open(ch *amqp.Channel) (*session, error) {
	if err := declareTopics(ch); err != nil {
		return nil, err
	}
	q, err := ch.QueueDeclare("", false, true, true, false, amqp.Table{"x-max-length": int32(behind), "x-overflow": "drop-head"})
	if err != nil {
		return nil, err
	}
	if err := ch.QueueBind(q.Name, l.topic, topics, false, nil); err != nil {
		return nil, err
	}
	return newSession(ch, q.Name, true)
}

// run takes what comes, over one channel after another, until Close.
func (l *listener) run(s *session) {
	defer close(l.ended)
	for s != nil {
		l.hearAll(s)
		s.close()
		var err error
		if s, err = over(l.living, l.b, l.b.consuming(), l.open, (*session).close); err != nil {
			s = nil
			if l.living.Err() == nil {
				l.b.in.log("a listener has ended", "topic", l.topic, "error", err)
			}
		}
	}
}

func (l *listener) hearAll(s *session) {
	for {
		select {
		case d, open := <-s.deliveries:
			if !open {
				return
			}
			l.hear(message(&d))
		case <-l.living.Done():
			return
		}
	}
}

// hear keeps a message for Next. Only Next takes any out beside, so there is room after one was dropped.
func (l *listener) hear(m queue.Message) {
	select {
	case l.heard <- m:
		return
	default:
	}
	select {
	case <-l.heard:
	default:
	}
	l.heard <- m
}

// Next implements queue.Listener.
func (l *listener) Next(ctx context.Context) (m queue.Message, err error) {
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case l.living.Err() != nil:
		err = queue.ErrClosed
	default:
		select {
		case m = <-l.heard:
			return m, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-l.ended:
			err = queue.ErrClosed
		}
	}
	return m, fmt.Errorf("jobs/rabbitmq: listen to %q: %w", l.topic, err)
}

// Close implements queue.Listener.
func (l *listener) Close() error {
	l.end()
	<-l.ended
	return nil
}
