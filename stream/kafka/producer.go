package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/internal/callback"
	"cancha/internal/running"
	"cancha/stream"
)

// ProducerConfig says where a Producer writes and how. Brokers and Topic are required.
type ProducerConfig struct {
	Brokers []string
	Topic   string
	// Partitions of the topic if the producer has to make it, default 4. A topic that exists keeps its own.
	Partitions int
	// LeaderOnly is content when the leader of a partition has a record, without waiting for its replicas. Faster on a real
	// cluster; a record can then be lost with its leader, and written twice after a lost acknowledgement.
	LeaderOnly bool
	// Linger is how long a record may wait for others to share a request with, default 5 ms.
	Linger time.Duration
	// Compression is none (default: best on one machine), lz4, snappy, zstd or gzip.
	Compression string
	// BatchBytes bounds a batch of records as it is sent, compressed if it is, and so a single record with its key: default 1,048,588, which is what brokers take
	// unless message.max.bytes, or the topic's max.message.bytes, says otherwise.
	BatchBytes int
	// Buffer is how many records may wait for their acknowledgement, default 16,384; Send blocks beyond it.
	Buffer int
	Security
	// Retry is told, at most once a second, why brokers cannot be reached. nil: in a notebook the cell that makes the producer, every 15 s, elsewhere nobody.
	Retry func(err error)
}

// Producer writes records to a topic: records of one key go to one partition (murmur2 of the key, as every Kafka client has
// it) and arrive there in the order of Send, once, however often brokers go away in between. All methods but Close may be
// called from several goroutines.
type Producer struct {
	cfg    ProducerConfig  // without its Security
	sec    func() Security // a function, as in source
	client *kgo.Client
	broken sync.WaitGroup // closes the client after a refusal
	slots  chan struct{}  // a record takes one until it is acknowledged
	acked  atomic.Int64
	entry  *running.Entry
	failed atomic.Pointer[error] // the first failure; later ones follow from it

	made   atomic.Bool // the topic is there, with the partitions that the configuration asks for if it was not
	making sync.Mutex

	ending sync.Mutex
	ended  bool // Close was called
}

// NewProducer makes a producer. It does not connect yet: Partitions does, or the first Send.
func NewProducer(cfg ProducerConfig) (*Producer, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	codec, ok := codecs(cfg.Compression)
	if !ok {
		return nil, fmt.Errorf("kafka: compression %q: want none, lz4, snappy, zstd or gzip", cfg.Compression)
	}
	security := cfg.Security
	p := &Producer{cfg: cfg, sec: func() Security { return security }, slots: make(chan struct{}, cfg.Buffer)}
	p.cfg.Security = Security{}
	client, err := kgo.NewClient(append(cfg.options(codec),
		// A topic that is not there is made by Partitions or will be; no number of tries is the last.
		kgo.UnknownTopicRetries(-1), kgo.AllowAutoTopicCreation(),
		kgo.WithHooks(&outages{to: p}))...)
	if err != nil {
		return nil, fmt.Errorf("kafka: producer of %s: %w", cfg.Topic, err)
	}
	p.client = client
	p.entry = running.Process().Add(listed{p})
	return p, nil
}

// String tells where the producer writes, without the password.
func (p *Producer) String() string {
	return fmt.Sprintf("kafka.Producer{%s, %d acknowledged}", p.cfg.target(p.sec()), p.Acked())
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (p *Producer) Format(f fmt.State, _ rune) { fmt.Fprint(f, p.String()) }

// String tells where and how is written, without the password.
func (c ProducerConfig) String() string { return "kafka.ProducerConfig{" + c.target(c.Security) + "}" }

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (c ProducerConfig) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

func (c *ProducerConfig) target(s Security) string {
	return fmt.Sprintf("%s at %s, %s", c.Topic, strings.Join(c.Brokers, ","), s.String())
}

// Partitions makes the topic unless it exists and returns how many partitions it has. It tries again while no broker
// answers, until ctx ends; one that refuses this client is an error at once.
func (p *Producer) Partitions(ctx context.Context) (int, error) {
	n, err := CreateTopic(ctx, TopicConfig{
		Brokers: p.cfg.Brokers, Topic: p.cfg.Topic, Partitions: p.cfg.Partitions, Security: p.sec(), Retry: p.cfg.Retry,
	})
	if err == nil {
		p.made.Store(true)
	}
	return n, err
}

// makeTopic makes the topic once: a broker that makes it by itself, at the first record, gives it as many partitions as it likes.
func (p *Producer) makeTopic(ctx context.Context) error {
	p.making.Lock()
	defer p.making.Unlock()
	if p.made.Load() {
		return nil
	}
	_, err := p.Partitions(ctx)
	return err
}

// Send hands a record over to be written; key and value must not change afterwards. It returns before the record is
// acknowledged (Flush waits for that), but waits for room while the buffer is full, and, the first time, until the topic is there as by
// Partitions. An error other than ctx's and that one means that an earlier record was refused and the producer is of no more use.
func (p *Producer) Send(ctx context.Context, key, value []byte) error {
	return p.SendRecord(ctx, stream.Record{Key: key, Value: value})
}

// SendRecord is Send for a record with headers, or with a time of its own (zero: now). Its topic, partition and offset are
// the producer's and the broker's business: what it says of them does not count.
func (p *Producer) SendRecord(ctx context.Context, r stream.Record) error {
	if !p.made.Load() {
		if err := p.makeTopic(ctx); err != nil {
			return err
		}
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := p.failed.Load(); err != nil {
		<-p.slots
		return *err
	}
	// The record outlives ctx: a caller that stops sending still wants flushed what it has sent.
	p.client.Produce(context.WithoutCancel(ctx), wire(r), p.done)
	return nil
}

// wire is a record as franz-go has it.
func wire(r stream.Record) *kgo.Record {
	out := &kgo.Record{Key: r.Key, Value: r.Value, Timestamp: r.Time}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	return out
}

// refuse ends the producer: no try can mend err, and franz-go would go on trying.
func (p *Producer) refuse(err error) {
	err = fmt.Errorf("kafka: write to %s: %w", p.cfg.Topic, err)
	p.ending.Lock()
	defer p.ending.Unlock()
	if p.failed.CompareAndSwap(nil, &err) && !p.ended {
		p.broken.Go(p.client.Close) // to abort what is buffered would wait for what is on its way
	}
}

// done is called when a record has been acknowledged or refused.
func (p *Producer) done(r *kgo.Record, err error) {
	<-p.slots
	if err == nil {
		p.acked.Add(1)
		return
	}
	err = p.explain(r, err)
	p.failed.CompareAndSwap(nil, &err)
}

func (p *Producer) explain(r *kgo.Record, err error) error {
	hint := ""
	switch {
	case errors.Is(err, kerr.UnknownServerError):
		hint = " (the broker cannot write; perhaps its disk is full)"
	case errors.Is(err, kerr.MessageTooLarge):
		return tooLarge(r, p.cfg.Topic, p.cfg.BatchBytes)
	case errors.Is(err, kgo.ErrClientClosed):
		hint = " (closed before the broker acknowledged it)"
	}
	return fmt.Errorf("kafka: write record with key %q to %s%s: %w", r.Key, p.cfg.Topic, hint, err)
}

// tooLarge is the error of a record that does not fit into a batch, or into the topic. The brokers' own words say nothing about either.
func tooLarge(r *kgo.Record, topic string, most int) error {
	return fmt.Errorf("kafka: write record with key %q to %s: its value of %d bytes is larger than a batch may be (BatchBytes, %d), or than the topic takes (max.message.bytes): raise what is less: %w",
		r.Key, topic, len(r.Value), most, kerr.MessageTooLarge)
}

// Flush waits until every record sent has been acknowledged, or ctx ends, or one has been refused.
func (p *Producer) Flush(ctx context.Context) error {
	err := p.client.Flush(ctx)
	if failed := p.failed.Load(); failed != nil {
		return *failed
	}
	if err != nil {
		return fmt.Errorf("kafka: flush %s, %d records unacknowledged: %w", p.cfg.Topic, len(p.slots), err)
	}
	return nil
}

// Acked is how many records have been acknowledged.
func (p *Producer) Acked() int64 { return p.acked.Load() }

// Close flushes, at most until ctx ends, and disconnects. Records that are still unacknowledged are given up: the error
// counts them.
func (p *Producer) Close(ctx context.Context) error {
	err := p.Flush(ctx)
	p.ending.Lock()
	p.ended = true
	p.ending.Unlock()
	p.broken.Wait()
	p.client.Close()
	p.entry.End(err)
	return err
}

// PartitionOf is the partition, of n, to which a Producer sends records with the key.
func PartitionOf(key []byte, n int) int {
	return kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(&kgo.Record{Key: key}, n)
}

func (c *ProducerConfig) fill() error {
	if err := validateTarget(c.Brokers, c.Topic, c.Security); err != nil {
		return err
	}
	if c.Partitions == 0 {
		c.Partitions = defaultPartitions
	}
	c.Retry = retry(c.Retry)
	if c.Linger == 0 {
		c.Linger = 5 * time.Millisecond
	}
	if c.Buffer == 0 {
		c.Buffer = 16384
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = defaultBatch
	}
	if c.BatchBytes < 1024 || c.BatchBytes > mostBatch {
		return fmt.Errorf("kafka: batches of %d bytes: want 1,024 to %d", c.BatchBytes, mostBatch)
	}
	if c.Partitions < 1 || c.Linger < 0 || c.Buffer < 1 {
		return fmt.Errorf("kafka: producer with %d partitions, linger %v, buffer of %d: want positive numbers", c.Partitions, c.Linger, c.Buffer)
	}
	return nil
}

const (
	defaultBatch = 1_048_588 // the default of message.max.bytes
	mostBatch    = 64 << 20  // requests of clients end at 100 MiB
)

func (c *ProducerConfig) options(codec kgo.CompressionCodec) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ClientID(clientID), kgo.DefaultProduceTopic(c.Topic),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerLinger(c.Linger), kgo.ProducerBatchCompression(codec), kgo.MaxBufferedRecords(c.Buffer + 1),
		kgo.ProducerBatchMaxBytes(int32(c.BatchBytes)),
		// A connection that ends before its first answer is one that broke. Who takes a port of another kind hears of it when the topic is looked up.
		kgo.AlwaysRetryEOF(),
		kgo.Dialer((&direct{sec: c.Security}).dial), kgo.RetryBackoffFn(retryBackoff), kgo.MetadataMinAge(minBackoff),
	}
	if c.LeaderOnly {
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	return opts
}

// direct is how a producer reaches its brokers.
type direct struct {
	sec   Security
	doubt doubt
}

// dial connects to a broker; the connection is encrypted and authenticated, as far as the cluster asks for it. The client
// closes it.
func (d *direct) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured, err := d.doubt.secure(ctx, &d.sec, conn, address)
	if refused := (*refusal)(nil); err != nil && !errors.As(err, &refused) {
		// franz-go tries again where a broker cannot be dialled, but takes an EOF for a wrong configuration, and gives up.
		return nil, &net.OpError{Op: "dial", Net: network, Addr: conn.RemoteAddr(), Err: errors.New(err.Error())}
	}
	return secured, err
}

// retryBackoff doubles like backoff, for the n-th try.
func retryBackoff(n int) time.Duration { return min(minBackoff<<min(max(n-1, 0), 10), maxBackoff) }

func codecs(name string) (kgo.CompressionCodec, bool) {
	switch name {
	case "", "none":
		return kgo.NoCompression(), true
	case "lz4":
		return kgo.Lz4Compression(), true
	case "snappy":
		return kgo.SnappyCompression(), true
	case "zstd":
		return kgo.ZstdCompression(), true
	case "gzip":
		return kgo.GzipCompression(), true
	}
	return kgo.CompressionCodec{}, false
}

// outages passes failed connections on, at most once a second, and ends its producer where no connection is to be had.
type outages struct {
	to   *Producer
	next atomic.Int64 // Unix nanoseconds
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (o *outages) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		o.to.refuse(refused)
	}
	if o.to.cfg.Retry == nil {
		return
	}
	now, next := time.Now(), o.next.Load()
	if err != nil && now.UnixNano() >= next && o.next.CompareAndSwap(next, now.Add(time.Second).UnixNano()) {
		_ = callback.Do(context.Background(), func() error { o.to.cfg.Retry(err); return nil }) // the client's goroutine is not its to end
	}
}
