package kafka

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/streamtest"
)

// TestSuite runs what every source must pass, alone and in a group.
func TestSuite(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	for _, name := range []string{"alone", "group"} {
		t.Run(name, func(t *testing.T) {
			streamtest.TestSource(t, func(t *testing.T, partitions int) streamtest.Topic {
				topic := newSuiteTopic(t, addr, partitions, name == "group")
				if name == "group" {
					// Cut off without a goodbye, a group waits for the session to end: TestKilledMemberIsReplaced has it.
					return struct{ streamtest.Topic }{topic}
				}
				return topic
			})
		})
	}
}

// suiteTopic is a topic of the suite, with a network that it can cut.
type suiteTopic struct {
	addr, name, group string
	client            *kgo.Client

	mu     sync.Mutex
	broken bool
	open   []net.Conn
}

func newSuiteTopic(t *testing.T, addr string, partitions int, group bool) *suiteTopic {
	t.Helper()
	topic := &suiteTopic{addr: addr, name: topicName(t)}
	if group {
		topic.group = topic.name
	}
	if _, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{addr}, Topic: topic.name, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic.name), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	topic.client = client
	t.Cleanup(client.Close)
	topic.Append(t, 0) // its connections are there before the suite counts goroutines
	return topic
}

// Append implements streamtest.Topic.
func (s *suiteTopic) Append(t testing.TB, partition int, values ...[]byte) {
	t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Partition: int32(partition), Value: v})
	}
	if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// Source implements streamtest.Topic.
func (s *suiteTopic) Source(testing.TB) stream.Source {
	return Source(Config{Brokers: []string{s.addr}, Topic: s.name, Group: s.group, IdleInterval: 100 * time.Millisecond, wrap: s.wrap})
}

func (s *suiteTopic) wrap(c net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		c.Close()
	}
	s.open = append(s.open, c)
	return c
}

// Break implements streamtest.Breaker.
func (s *suiteTopic) Break(testing.TB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	for _, c := range s.open {
		c.Close()
	}
	s.open = nil
}

// Mend implements streamtest.Breaker.
func (s *suiteTopic) Mend(testing.TB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = false
}
