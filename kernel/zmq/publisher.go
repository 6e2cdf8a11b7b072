package zmq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/wire"
)

// What is published before anybody has subscribed is kept for the first subscriber, up to these bounds: a client that
// connects while the kernel starts would otherwise miss its first words.
const (
	earlyMessages = 16
	earlyBytes    = 64 << 10
)

// Publisher is an XPUB socket: every subscriber gets every message whose first frame begins with a topic it subscribed to,
// all in one order. Each subscription is first answered by a welcome.
type Publisher struct {
	*listener
	welcome func(topic []byte) [][]byte

	mu     sync.Mutex               // never held while a peer is waited for
	topics map[*peer]map[string]int // subscriptions of each peer, counted
	early  [][][]byte               // nil once somebody has subscribed
	begun  bool                     // somebody has subscribed
}

// NewPublisher listens at an endpoint. welcome makes the message that answers a subscription;
// nil means none. It is called by many goroutines and must not publish. A nil log is silent.
func NewPublisher(at wire.Endpoint, lim Limits, welcome func(topic []byte) [][]byte, log *slog.Logger) (*Publisher, error) {
	x := &Publisher{welcome: welcome, topics: map[*peer]map[string]int{}}
	l, err := bind(at, zmq4.XPub, lim.small(), log, &subscribers{x})
	if err != nil {
		return nil, err
	}
	x.listener = l
	l.start()
	return x, nil
}

// Publish queues a message for all who subscribed to its topic, frames[0]. Frames must not be changed afterwards. It never waits, and never
// fails because of a subscriber: one whose queue is full and that does not read is dropped. Callers that publish a lot call
// [Publisher.Wait] first.
func (x *Publisher) Publish(frames [][]byte) error {
	if len(frames) == 0 {
		return errors.New("zmq: publish: a message without a topic")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun {
		x.keepEarly(frames)
	}
	for p, topics := range x.topics {
		if subscribed(topics, frames[0]) {
			_ = p.put(outgoing{frames: frames}) // a subscriber that is dropped here is logged by its own goroutine
		}
	}
	return nil
}

// Wait returns when every subscriber has less than half a queue to read yet, or ctx ends. A subscriber that takes Rate in FullWait is
// waited for. A slower one is waited for once, for FullWait, and may then fall behind until it has caught up.
func (x *Publisher) Wait(ctx context.Context) error {
	for {
		p := x.slowest()
		if p == nil {
			return ctx.Err()
		}
		switch err := p.queue.room(p.lim.Queue/2, ctx.Done()); {
		case errors.Is(err, errStalled):
			p.lagging.Store(true)
		case err != nil:
			return ctx.Err()
		}
	}
}

// slowest returns a subscriber to wait for.
func (x *Publisher) slowest() *peer {
	x.mu.Lock()
	defer x.mu.Unlock()
	for p := range x.topics {
		behind := p.queue.behind(p.lim.Queue / 2)
		if behind && !p.lagging.Load() {
			return p
		}
		if !behind {
			p.lagging.Store(false)
		}
	}
	return nil
}

func subscribed(topics map[string]int, topic []byte) bool {
	for t := range topics {
		if bytes.HasPrefix(topic, []byte(t)) {
			return true
		}
	}
	return false
}

func (x *Publisher) keepEarly(frames [][]byte) {
	if (outgoing{frames: frames}).size(0) > earlyBytes/earlyMessages {
		return
	}
	if len(x.early) == earlyMessages {
		x.early = x.early[1:]
	}
	x.early = append(x.early, frames)
}

// Close drains what is queued (at most Linger), closes every connection and waits for their goroutines.
func (x *Publisher) Close() error { x.close(); return nil }

// subscribers is the Publisher as its peers see it.
type subscribers struct{ *Publisher }

func (s *subscribers) up(p *peer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics[p] = map[string]int{}
	return nil
}

func (s *subscribers) down(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.topics, p)
}

// received takes ZMTP 3.0 subscriptions: a message of one frame, 1 or 0 and the topic. Anything else that a subscriber says
// means nothing to us.
func (s *subscribers) received(p *peer, frames [][]byte) error {
	if len(frames) != 1 || len(frames[0]) == 0 {
		return nil
	}
	switch frames[0][0] {
	case 1:
		return s.subscribe(p, frames[0][1:])
	case 0:
		s.cancel(p, frames[0][1:])
	}
	return nil
}

// command takes ZMTP 3.1 subscriptions.
func (s *subscribers) command(p *peer, name string, body []byte) error {
	switch name {
	case zmq4.CmdSubscribe:
		return s.subscribe(p, body)
	case zmq4.CmdCancel, zmq4.CmdUnsubscribe:
		s.cancel(p, body)
	}
	return nil
}

// subscribe enters a topic and queues its welcome under the lock that Publish queues under: so the welcome is the first
// message that the subscription brings, and nothing after it is missed.
func (s *subscribers) subscribe(p *peer, topic []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	topics := s.topics[p]
	switch {
	case len(topic) > maxTopic:
		return fmt.Errorf("a topic of %d bytes: %w", len(topic), errTooLong)
	case len(topics) >= s.lim.Topics:
		return fmt.Errorf("more than %d subscriptions: %w", s.lim.Topics, errTooLong)
	}
	topics[string(topic)]++
	if topics[string(topic)] > 1 {
		return nil
	}
	if s.welcome != nil {
		if err := p.put(outgoing{frames: s.welcome(topic)}); err != nil {
			return err
		}
	}
	return s.catchUp(p)
}

// catchUp gives the first subscriber what was published before it came.
func (s *subscribers) catchUp(p *peer) error {
	early := s.early
	s.early, s.begun = nil, true
	for _, frames := range early {
		if !subscribed(s.topics[p], frames[0]) {
			continue
		}
		if err := p.put(outgoing{frames: frames}); err != nil {
			return err
		}
	}
	return nil
}

func (s *subscribers) cancel(p *peer, topic []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	topics := s.topics[p]
	if topics[string(topic)]--; topics[string(topic)] <= 0 {
		delete(topics, string(topic))
	}
}
