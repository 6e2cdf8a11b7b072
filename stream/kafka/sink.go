package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SinkConfig says where the rows of a query are written. Brokers and Topic are required.
type SinkConfig struct {
	Brokers []string
	Topic   string
	// Key is the column whose text is the key of a row's record: rows of one key go to one partition, in their order. A row
	// without a value there gets no key. Empty: no record has one.
	Key string
	Security
	// Partitions of the topic if the sink has to make it, default 4. A topic that exists keeps its own.
	Partitions int
}

// String tells where the rows are written, without the password.
func (c SinkConfig) String() string {
	text := fmt.Sprintf("kafka.SinkConfig{%s at %s", c.Topic, strings.Join(c.Brokers, ","))
	if c.Key != "" {
		text += ", key " + c.Key
	}
	return text + ", " + c.Security.String() + "}"
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (c SinkConfig) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

const (
	// sinkOpening is how long the start of a query waits for brokers that are away.
	sinkOpening = 10 * time.Second
	sinkClosing = 2 * time.Second
)

// sink writes records to a topic, and returns when they are acknowledged.
type sink struct {
	cfg func() *SinkConfig // a function, as in source
	out *Producer          // nil: not open
}

func newSink(cfg SinkConfig) *sink { return &sink{cfg: func() *SinkConfig { return &cfg }} }

// open makes the topic unless it exists. A broker that cannot be reached is an error: a query that has nowhere to write its
// rows should not start.
func (s *sink) open(ctx context.Context, columns []string) error {
	cfg := s.cfg()
	if cfg.Key != "" && !slices.Contains(columns, cfg.Key) {
		return fmt.Errorf("kafka: sink %s: no column %q for the key among %s", cfg.Topic, cfg.Key, strings.Join(columns, ", "))
	}
	out, err := NewProducer(ProducerConfig{
		Brokers: cfg.Brokers, Topic: cfg.Topic, Partitions: cfg.Partitions, Security: cfg.Security,
	})
	if err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(ctx, sinkOpening)
	defer cancel()
	n, err := CreateTopic(opening, TopicConfig{
		Brokers: cfg.Brokers, Topic: cfg.Topic, Partitions: cfg.Partitions, Security: cfg.Security,
	})
	if err != nil {
		out.Close(opening)
		if opening.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("tried for %v: %w", sinkOpening, err)
		}
		return fmt.Errorf("kafka: open sink %s: %w", cfg.Topic, err)
	}
	out.made.Store(n > 0)
	s.out = out
	return nil
}

// put writes n records and waits for their acknowledgement, while brokers are away too, until ctx ends.
func (s *sink) put(ctx context.Context, n int, record func(i int) (key, value []byte)) error {
	if s.out == nil {
		return fmt.Errorf("kafka: sink %s is not open", s.cfg().Topic)
	}
	for i := range n {
		key, value := record(i)
		if err := s.out.Send(ctx, key, value); err != nil {
			return err
		}
	}
	return s.out.Flush(ctx)
}

// Close disconnects. What Write has returned from is acknowledged; a Write that was interrupted may have written a part.
func (s *sink) Close() error {
	if s.out == nil {
		return nil
	}
	out := s.out
	s.out = nil
	ctx, cancel := context.WithTimeout(context.Background(), sinkClosing)
	defer cancel()
	return out.Close(ctx)
}
