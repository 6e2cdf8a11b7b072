package kafka

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
	"cancha/stream/broker"
)

// TestOddRecords reads records that no producer of ours writes: without key or value, large, and small on the wire but large
// once they are decompressed. All come as they were written: a value that is null is nil, and an empty one is not.
func TestOddRecords(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	noise := make([]byte, 900_000) // just below what a broker takes by default
	for i := range noise {
		noise[i] = byte(rand.N(256))
	}
	sent := []kgo.Record{
		{Key: []byte("k"), Value: []byte("first")}, {Key: []byte("tombstone")}, {Value: []byte("no key")}, {},
		{Key: []byte{}, Value: []byte{}}, {Key: []byte{0xff, 0}, Value: []byte{0xff, 0xfe, 0}}, {Key: []byte("noise"), Value: noise},
		{Key: []byte("large"), Value: bytes.Repeat([]byte("large "), 5_000_000)},
		{Key: noise[:100_000], Value: []byte("large key"), Headers: []kgo.RecordHeader{{Key: "h", Value: noise[:1000]}, {}}},
		{Key: []byte("k"), Value: []byte("last")},
	}
	topic := topicName(t)
	if _, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{addr}, Topic: topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(64<<20),
		kgo.MaxBufferedRecords(1), kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range sent {
		if err := client.ProduceSync(t.Context(), &sent[i]).FirstErr(); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	for _, group := range []string{"", topic} {
		i := 0
		h := &recorder{onBatch: func(b stream.Batch) {
			for _, r := range b.Records {
				if !bytes.Equal(r.Key, sent[i].Key) || !bytes.Equal(r.Value, sent[i].Value) || (r.Value == nil) != (sent[i].Value == nil) {
					t.Errorf("record %d: got key %.20q and %d bytes, want %.20q and %d", i, r.Key, len(r.Value), sent[i].Key, len(sent[i].Value))
				}
				i++
			}
		}}
		if err := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: group, Until: closed()}, h).wait(t); err != nil {
			t.Fatal(err)
		}
		h.check(t, -1)
		if h.records != len(sent) {
			t.Errorf("group %q: got %d records, want %d", group, h.records, len(sent))
		}
	}
}

// TestFewAndManyPartitions: also more partitions than a batch of matches fills.
func TestFewAndManyPartitions(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	for _, n := range []int{1, 100} {
		for _, group := range []string{"", "g"} {
			t.Run(strconv.Itoa(n)+group, func(t *testing.T) {
				topic := topicName(t)
				produce(t, addr, topic, n, 0, 1000)
				if group != "" {
					group = topic
				}
				h := &recorder{}
				if err := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: group, Until: closed()}, h).wait(t); err != nil {
					t.Fatal(err)
				}
				h.check(t, 1000)
				if got := len(h.assigned[0]); got != n {
					t.Errorf("got %d partitions, want %d", got, n)
				}
			})
		}
	}
}

// TestDeletedWhileReading: the broker drops records that are about to be read, at once and not when retention gets to it, so
// that an Apache Kafka can be asked too.
func TestDeletedWhileReading(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	for _, group := range []string{"", "g"} {
		t.Run("group "+group, func(t *testing.T) {
			topic := topicName(t)
			for from := 0; from < 5000; from += 500 { // a fetch brings a record batch at least
				produce(t, addr, topic, 1, from, from+500)
			}
			if group != "" {
				group = topic
			}
			until := make(chan struct{})
			var once sync.Once
			h := &recorder{onBatch: func(b stream.Batch) {
				once.Do(func() {
					deleteBefore(t, addr, topic, 3000)
					produce(t, addr, topic, 1, 5000, 5100)
					close(until)
				})
			}}
			cfg := Config{Brokers: []string{addr}, Topic: topic, Group: group, FetchBytes: 1 << 10, Until: until, Offsets: map[int]int64{0: 10}}
			if err := begin(t, cfg, h).wait(t); err != nil {
				t.Fatal(err)
			}
			h.check(t, -1)
			if h.lost == 0 || int(h.lost)+h.records != 5090 {
				t.Errorf("lost %d and read %d, want a loss, and 5090 together", h.lost, h.records)
			}
			for _, err := range h.retries {
				if !strings.Contains(err.Error(), "join group") {
					t.Errorf("reported as a fault of the broker: %v", err)
				}
			}
		})
	}
}

// deleteBefore drops the records of partition 0 before an offset.
func deleteBefore(t *testing.T, addr, topic string, offset int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 5000
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: offset}}}}
	res, err := req.RequestWith(t.Context(), client)
	if err != nil {
		t.Error(err)
		return
	}
	if got := res.Topics[0].Partitions[0]; got.ErrorCode != 0 || got.LowWatermark != offset {
		t.Errorf("delete records before %d: got code %d, first offset %d", offset, got.ErrorCode, got.LowWatermark)
	}
}
