package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/kafka"
)

// BrokersVariable names the environment variable that holds the addresses of a cluster, parted by commas.
const BrokersVariable = "KAFKA_BROKERS"

const (
	// opening is how long Open waits for a cluster.
	opening = 10 * time.Second
	// ending is what a shop that is told to stop grants the records that it has sent.
	ending = 5 * time.Second
)

// Shop is a shop whose records are being played into Kafka. Close it, or end the context that it was opened with. Its methods may be called
// from anywhere, after Close too.
type Shop struct {
	cfg     Config
	brokers []string
	prefix  string

	own     *broker.Broker // nil with a cluster
	stop    context.CancelFunc
	played  chan struct{} // closed when all is played
	err     error         // why; read after played
	sent    atomic.Int64
	close   sync.Once
	unwatch func() bool
}

// Open opens a shop. It returns when the topics are there and records are being played into them. A cluster that does not answer within ten
// seconds is an error.
func Open(ctx context.Context, cfg Config) (*Shop, error) {
	cfg.fill()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Shop{cfg: cfg, brokers: cfg.Brokers, prefix: cfg.Prefix, played: make(chan struct{})}
	if s.brokers == nil {
		s.brokers = kafka.Brokers(os.Getenv(BrokersVariable))
	}
	if len(s.brokers) == 0 {
		own, err := broker.Start(broker.Config{Partitions: cfg.Partitions})
		if err != nil {
			return nil, err
		}
		s.own, s.brokers = own, []string{own.Addr()}
	} else if s.prefix == "" {
		s.prefix = "shop-" + strconv.FormatInt(time.Now().UnixMicro(), 36) + "-"
	}
	if err := s.begin(ctx); err != nil {
		if s.own != nil {
			s.own.Close()
		}
		return nil, fmt.Errorf("open a shop: %w", err)
	}
	s.unwatch = context.AfterFunc(ctx, func() { s.shut() })
	return s, nil
}

// begin makes the topics and starts to play.
func (s *Shop) begin(ctx context.Context) error {
	all, err := Records(s.cfg)
	if err != nil {
		return err
	}
	out, err := s.producers(ctx)
	if err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx)) // Close ends it: the broker must not go first
	go func() {
		defer close(s.played)
		err := s.play(ctx, out, all)
		left, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
		defer cancel()
		s.err = cmp.Or(err, closeAll(left, out))
	}()
	return nil
}

// producers are one for each topic, which is there then.
func (s *Shop) producers(ctx context.Context) (out map[string]*kafka.Producer, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, opening, fmt.Errorf("no answer within %v", opening))
	defer cancel()
	out = map[string]*kafka.Producer{}
	defer func() {
		if err != nil {
			closeAll(ctx, out)
		}
	}()
	for _, topic := range []string{Orders, Payments, Products} {
		p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: s.brokers, Topic: s.Topic(topic), Partitions: s.cfg.Partitions})
		if err != nil {
			return out, err
		}
		out[topic] = p
		if _, err := p.Partitions(ctx); err != nil {
			return out, err
		}
	}
	return out, nil
}

func closeAll(ctx context.Context, out map[string]*kafka.Producer) error {
	var errs []error
	for _, p := range out {
		errs = append(errs, p.Close(ctx))
	}
	return errors.Join(errs...)
}

// play sends the records, evenly over time, until there are no more or ctx ends, which is no error.
func (s *Shop) play(ctx context.Context, out map[string]*kafka.Producer, all func(func(stream.Record) bool)) error {
	began := time.Now()
	for r := range all {
		if s.cfg.Rate > 0 {
			due := time.Duration(float64(s.sent.Load()) / s.cfg.Rate * float64(time.Second))
			wait(ctx, due-time.Since(began))
		}
		if ctx.Err() != nil {
			return nil
		}
		// Without its own time stamp, an old one: a cluster may throw away at once what seems to be months old.
		if err := out[r.Topic].Send(ctx, r.Key, r.Value); err != nil && ctx.Err() == nil {
			return err
		}
		s.sent.Add(1)
	}
	return nil
}

// wait waits unless it is for less than a system call is worth.
func wait(ctx context.Context, d time.Duration) {
	if d < time.Millisecond {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Source is a source of a topic of the shop's broker: Orders, Payments, Products, or any other that a query writes under the name Topic(name).
// It reads the topic from its first record on. When the shop is over it ends after what the topic then holds.
func (s *Shop) Source(name string) stream.Source {
	return kafka.Source(kafka.Config{Brokers: s.brokers, Topic: s.Topic(name), Until: s.played})
}

// Topic is the name that a topic has at the broker: with the shop's prefix.
func (s *Shop) Topic(name string) string { return s.prefix + name }

// Brokers are the addresses of the broker or the cluster.
func (s *Shop) Brokers() []string { return s.brokers }

// Sent is how many records have been sent so far.
func (s *Shop) Sent() int64 { return s.sent.Load() }

// Over is closed when no more records will come: all have been played, or Stop was called, or playing has failed; Err tells which.
func (s *Shop) Over() <-chan struct{} { return s.played }

// Err is why the shop is over; nil while it goes on, and when it came to its end or was stopped.
func (s *Shop) Err() error {
	select {
	case <-s.played:
		return s.err
	default:
		return nil
	}
}

// Stop ends the playing and waits for that. The topics stay, and can be read: their sources end with what they hold. It returns Err, and may be
// called twice.
func (s *Shop) Stop() error {
	s.stop()
	<-s.played
	return s.err
}

// Close is Stop, and ends a broker of the shop's own: sources that still read lose it. Topics in a cluster stay there. It may be called twice.
func (s *Shop) Close() error {
	s.unwatch()
	return s.shut()
}

func (s *Shop) shut() error {
	err := s.Stop()
	s.close.Do(func() {
		if s.own != nil {
			s.own.Close()
		}
	})
	return err
}

// String says what the shop is, for a user.
func (s *Shop) String() string {
	rate, end := "as fast as can be", "without end"
	if s.cfg.Rate > 0 {
		rate = fmt.Sprintf("%g records/s", s.cfg.Rate)
	}
	if s.cfg.Records > 0 {
		end = fmt.Sprintf("about %d records", s.cfg.Records)
	}
	where := strings.Join(s.brokers, ",")
	if s.own != nil {
		where += " (a broker of its own)"
	}
	return fmt.Sprintf("simulated shop, %s, %s, in topics %s, %s and %s at %s", end, rate, s.Topic(Orders), s.Topic(Payments), s.Topic(Products), where)
}
