package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
	"cancha/stream/broker"
)

// batchOf is a record batch of format 2, at an offset and with the same time stamp in milliseconds for all values.
func batchOf(offset, ms int64, control bool, values ...string) []byte {
	b := kmsg.RecordBatch{FirstOffset: offset, Magic: 2, LastOffsetDelta: int32(len(values) - 1), FirstTimestamp: ms, MaxTimestamp: ms,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(len(values))}
	if control {
		b.Attributes = 1 << 5
	}
	for i, v := range values {
		r := kmsg.Record{OffsetDelta: int32(i), Value: []byte(v)}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // without the length itself, a byte
		b.Records = r.AppendTo(b.Records)
	}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// answering is a link whose leader gives one answer to each fetch.
func answering(t *testing.T, answers ...kmsg.FetchResponse) *link {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	go func() {
		for _, a := range answers {
			var head [12]byte
			if _, err := io.ReadFull(server, head[:]); err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, server, int64(binary.BigEndian.Uint32(head[:]))-8); err != nil {
				return
			}
			a.Version = greatestByName
			body := a.AppendTo(append(make([]byte, 4), head[8:12]...))
			binary.BigEndian.PutUint32(body, uint32(len(body)-4))
			if _, err := server.Write(body); err != nil {
				return
			}
		}
	}()
	return &link{conn: client, id: stream.Partition{Topic: "t"}, version: greatestByName, decompressor: kgo.DefaultDecompressor()}
}

// fetch asks and receives.
func fetch(l *link, from int64) (fetched, error) {
	if err := l.fetch(from, time.Second, 1<<20); err != nil {
		return fetched{}, err
	}
	return l.receive()
}

func holding(batches ...[]byte) kmsg.FetchResponse {
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark = 100
	for _, b := range batches {
		p.RecordBatches = append(p.RecordBatches, b...)
	}
	return kmsg.FetchResponse{Topics: []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{p}}}}
}

func valuesOf(records []stream.Record) string {
	var all []string
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return strings.Join(all, " ")
}

func TestFetch(t *testing.T) {
	const ms = 1_700_000_000_000
	damaged := batchOf(2, ms, false, "c")
	damaged[len(damaged)-1] ^= 1
	for _, test := range []struct {
		name   string
		answer kmsg.FetchResponse
		from   int64
		want   string
		next   int64
		err    string
	}{
		{"two batches", holding(batchOf(0, ms, false, "a", "b"), batchOf(2, ms, false, "c")), 0, "a b c", 3, ""},
		{"from the middle of a batch", holding(batchOf(0, ms, false, "a", "b")), 1, "b", 2, ""},
		{"a batch that is cut off", holding(batchOf(0, ms, false, "a"), batchOf(1, ms, false, "b")[:60]), 0, "a", 1, ""},
		{"a marker of a transaction", holding(batchOf(0, ms, false, "a"), batchOf(1, ms, true, "marker")), 0, "a", 2, ""},
		{"a marker alone", holding(batchOf(4, ms, true, "marker")), 4, "", 5, ""},
		{"nothing", holding(), 7, "", 7, ""},
		{"a damaged batch behind another", holding(batchOf(0, ms, false, "a", "b"), damaged), 0, "a b", 2, "records from offset 2 on: encoded crc"},
		{"too short for a batch", holding([]byte("short")), 3, "", 3, ""},
		{"no topic", kmsg.FetchResponse{}, 0, "", 0, "not Kafka's"},
		{"an error", kmsg.FetchResponse{ErrorCode: 29}, 0, "", 0, "Topic Authorization Failed"},
	} {
		got, err := fetch(answering(t, test.answer), test.from)
		if values := valuesOf(got.records); values != test.want || got.next != test.next || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: got %q, next %d, error %v; want %q, %d, %q", test.name, values, got.next, err, test.want, test.next, test.err)
		}
	}
}

// TestThrottled: an answer without topics and with a time means to wait that long, and says nothing of the partition's end.
func TestThrottled(t *testing.T) {
	got, err := fetch(answering(t, kmsg.FetchResponse{ThrottleMillis: 250}), 5)
	if err != nil || got.throttled != 250*time.Millisecond || got.next != 5 || len(got.records) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestTimesBeyondAllYears: a time stamp in microseconds is one of the year 55000, and not one of another year that looks right.
func TestTimesBeyondAllYears(t *testing.T) {
	for ms, want := range map[int64]time.Time{
		1_700_000_000_123:         time.UnixMilli(1_700_000_000_123).UTC(),
		1_700_000_000_000_000:     time.UnixMilli(1_700_000_000_000_000).UTC(),
		-1:                        {},
		-(1 << 62):                time.UnixMilli(-(1 << 62)).UTC(),
		1_700_000_000_000_000_000: time.UnixMilli(1_700_000_000_000_000_000).UTC(),
	} {
		got, err := fetch(answering(t, holding(batchOf(0, ms, false, "a"))), 0)
		if err != nil || len(got.records) != 1 || !got.records[0].Time.Equal(want) {
			t.Errorf("%d ms: got %+v (%v), want %v", ms, got.records, err, want)
		}
	}
}

// counting counts the fetches that are sent over a connection.
type counting struct {
	net.Conn
	fetches *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	if len(b) > 6 && binary.BigEndian.Uint16(b[4:]) == 1 {
		c.fetches.Add(1)
	}
	return c.Conn.Write(b)
}

// TestTheNextFetchIsUnderWay while the records of the one before are handled.
func TestTheNextFetchIsUnderWay(t *testing.T) {
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	const n = 100
	produce(t, addr, topic, 1, 0, n)
	var fetches, under atomic.Int64
	h := &recorder{onBatch: func(b stream.Batch) {
		if len(b.Records) > 0 {
			under.CompareAndSwap(0, fetches.Load())
		}
	}}
	r := begin(t, Config{Brokers: []string{addr}, Topic: topic, wrap: func(c net.Conn) net.Conn { return counting{c, &fetches} }}, h)
	eventually(t, "all records", func() bool { return h.count() >= n })
	r.stop(t)
	h.check(t, n)
	if under.Load() != 2 {
		t.Errorf("%d fetches had been sent when the first records were handled, want 2", under.Load())
	}
}
