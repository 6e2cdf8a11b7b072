package kafka

import (
	"bytes"
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
)

// tally only counts.
type tally struct{ records, bytes atomic.Int64 }

func (*tally) Assigned([]stream.Partition) {}
func (*tally) Retry(error, time.Duration)  {}
func (c *tally) Batch(_ context.Context, b stream.Batch) error {
	n := 0
	for i := range b.Records {
		n += len(b.Records[i].Value)
	}
	c.records.Add(int64(len(b.Records)))
	c.bytes.Add(int64(n))
	return nil
}

// preload writes n records of 700 bytes to a topic of 4 partitions.
func preload(b *testing.B, addr, topic string, n int) {
	b.Helper()
	p, err := NewProducer(ProducerConfig{Brokers: []string{addr}, Topic: topic})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := p.Partitions(b.Context()); err != nil {
		b.Fatal(err)
	}
	value := bytes.Repeat([]byte("x"), 700)
	for i := range n {
		if err := p.Send(b.Context(), strconv.AppendInt(nil, int64(i%64), 10), value); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func benchBroker(b *testing.B) string {
	b.Helper()
	if addr := realCluster(); addr != "" {
		return addr
	}
	s, err := broker.Start(broker.Config{RetentionBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s.Addr()
}

// BenchmarkConsume reads a preloaded topic, broker in the same process unless CANCHA_KAFKA names one.
func BenchmarkConsume(b *testing.B) {
	const n = 200000
	addr := benchBroker(b)
	topic := "consume-" + strconv.FormatInt(time.Now().UnixNano(), 10)
	preload(b, addr, topic, n)
	b.SetBytes(700 * n)
	var total int64
	for b.Loop() {
		c := &tally{}
		// The end is taken from the count: waiting for a partition to be idle is not reading.
		ctx, stop := context.WithCancel(b.Context())
		h := stopAt{c, n, stop}
		if err := Source(Config{Brokers: []string{addr}, Topic: topic}).Run(ctx, h); err != nil {
			b.Fatal(err)
		}
		stop()
		total += c.records.Load()
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "records/s")
}

type stopAt struct {
	*tally
	n    int64
	stop func()
}

func (s stopAt) Batch(ctx context.Context, b stream.Batch) error {
	err := s.tally.Batch(ctx, b)
	if s.records.Load() >= s.n {
		s.stop()
	}
	return err
}

// BenchmarkProduce writes records of 700 bytes and waits for their acknowledgement.
func BenchmarkProduce(b *testing.B) {
	const n = 100000
	addr := benchBroker(b)
	topic := "produce-" + strconv.FormatInt(time.Now().UnixNano(), 10)
	b.SetBytes(700 * n)
	total := 0
	for b.Loop() {
		preload(b, addr, topic, n)
		total += n
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "records/s")
}
