package local

import (
	"context"
	"fmt"

	"cancha/jobs/queue"
)

// behind is how many messages a listener may lag; of more it misses the oldest.
const behind = 1000

// listener hears one topic. The broker's mu guards what changes.
type listener struct {
	b     *Broker
	topic string
	heard chan queue.Message // closed by end; written to under mu
	over  bool
}

// Announce implements queue.Broker.
func (b *Broker) Announce(ctx context.Context, topic string, m queue.Message) error {
	if err := b.announce(ctx, topic, m); err != nil {
		return fmt.Errorf("jobs/local: announce on %q: %w", topic, err)
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return err
	}
	for l := range b.topics[topic] {
		l.hear(m.Clone())
	}
	return nil
}

func (b *Broker) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if b.closed {
		return queue.ErrClosed
	}
	return nil
}

// Listen implements queue.Broker.
func (b *Broker) Listen(ctx context.Context, topic string) (queue.Listener, error) {
	l, err := b.listen(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("jobs/local: listen to %q: %w", topic, err)
	}
	return l, nil
}

func (b *Broker) listen(ctx context.Context, topic string) (*listener, error) {
	if err := queue.CheckName(topic); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	l := &listener{b: b, topic: topic, heard: make(chan queue.Message, behind)}
	if b.topics[topic] == nil {
		b.topics[topic] = map[*listener]struct{}{}
	}
	b.topics[topic][l] = struct{}{}
	return l, nil
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
func (l *listener) Next(ctx context.Context) (queue.Message, error) {
	err := context.Cause(ctx)
	if err == nil {
		select {
		case m, open := <-l.heard:
			if open && !l.isOver() {
				return m, nil
			}
			err = queue.ErrClosed
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return queue.Message{}, fmt.Errorf("jobs/local: listen to %q: %w", l.topic, err)
}

func (l *listener) isOver() bool {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	return l.over
}

// Close implements queue.Listener.
func (l *listener) Close() error {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	l.end()
	return nil
}

func (l *listener) end() {
	if l.over {
		return
	}
	l.over = true
	close(l.heard)
	delete(l.b.topics[l.topic], l)
	if len(l.b.topics[l.topic]) == 0 {
		delete(l.b.topics, l.topic)
	}
}
