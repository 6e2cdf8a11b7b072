package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
)

// link is a connection to the leader of a partition, over which one reader asks.
//
// It asks for itself and takes the answers apart, with franz-go where they are not plain: they are read whole, checked by their checksums, and the
// records lie in them. kafka-go's Batch makes a key and a value of each record: 0.44 µs a record of 700 bytes against 0.21.
//
// A request may be under way while the records of the answer before are handled: the broker looks for what follows meanwhile.
type link struct {
	conn     net.Conn
	id       stream.Partition
	version  int16 // of fetches
	topic    topicID
	asked    int32 // correlation ID of the last request
	request  []byte
	from     int64         // offset that was asked for last
	patience time.Duration // how long the broker may wait until it answers
	most     int           // bytes that were asked for at most
	answer   []byte        // used again for each fetch: its records are gone by then
	records  []stream.Record
	slab     slab

	committed    bool // what is committed alone is asked for
	decompressor kgo.Decompressor
}

// Fetches of version 4 are the oldest that Kafka 4 takes, and came with 0.11. From 13 on, since Kafka 3.1, they name topics by their IDs: a topic that was made
// anew is not read for the one before. Version 12 knows of leaders what nobody asks here.
const (
	leastFetch     = 4
	greatestByName = 11
	fetchByID      = 13
)

// leader connects to the broker that leads a partition.
func (c *cluster) leader(ctx context.Context, id stream.Partition) (*link, error) {
	p, topic, err := c.lookup(ctx, id)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(p.Leader.Host, strconv.Itoa(p.Leader.Port))
	conn, err := c.dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to the leader: %w", err)
	}
	l := &link{conn: conn, id: id, topic: topic, decompressor: c.decompressor, committed: c.readCommitted}
	if l.version, err = fetchVersion(ctx, conn, topic != topicID{}); err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to the leader %s: %w", address, err)
	}
	return l, nil
}

// fetchVersion is the version of fetches that a broker and this client both know: that which names topics by their IDs, if one is known.
func fetchVersion(ctx context.Context, conn net.Conn, identified bool) (int16, error) {
	defer untilDone(ctx, conn)()
	answer, err := exchange(conn, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return 0, err
	}
	versions := answer.(*kmsg.ApiVersionsResponse)
	if err := failure(versions.ErrorCode); err != nil {
		return 0, err
	}
	fetch := (*kmsg.FetchRequest)(nil).Key()
	for _, k := range versions.ApiKeys {
		switch {
		case k.ApiKey != fetch:
		case identified && k.MinVersion <= fetchByID && k.MaxVersion >= fetchByID:
			return fetchByID, nil
		case k.MinVersion <= greatestByName && k.MaxVersion >= leastFetch:
			return min(k.MaxVersion, greatestByName), nil
		}
	}
	return 0, fmt.Errorf("it takes no fetch of versions %d to %d: %w", leastFetch, greatestByName, kafka.UnsupportedVersion)
}

// offsets are the first offset of the partition and the one behind its last.
func (l *link) offsets() (first, last int64, err error) {
	l.conn.SetDeadline(time.Now().Add(requestTimeout))
	if first, err = l.offset(-2); err == nil {
		last, err = l.offset(-1)
	}
	return first, last, err
}

// offset asks for an offset by a time stamp, of which -2 and -1 mean the first and the one behind the last.
func (l *link) offset(timestamp int64) (int64, error) {
	ask := kmsg.NewPtrListOffsetsRequest()
	ask.Version, ask.ReplicaID = 1, -1
	if l.committed { // the end is that of the last transaction that has ended
		ask.Version, ask.IsolationLevel = 2, 1
	}
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = int32(l.id.ID), timestamp
	ask.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: l.id.Topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	var got kmsg.ListOffsetsResponse
	got.Version = ask.Version
	if err := l.ask(ask, &got); err != nil {
		return 0, err
	}
	if len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 1 {
		return 0, errGarbled
	}
	answer := got.Topics[0].Partitions[0]
	return answer.Offset, failure(answer.ErrorCode)
}

// fetched is the answer to a fetch.
type fetched struct {
	records   []stream.Record // valid until the next is received
	high      int64           // the partition's end
	next      int64           // where to go on, also where there is no record up to there
	throttled time.Duration   // for how long the broker wants to be left alone, having sent nothing
}

// fetch asks for what follows an offset. The answer is to be received before anything else is asked.
func (l *link) fetch(from int64, wait time.Duration, most int) error {
	l.from, l.patience, l.most = from, wait, most
	ask := kmsg.NewPtrFetchRequest()
	ask.Version, ask.MaxWaitMillis, ask.MinBytes, ask.MaxBytes = l.version, int32(wait/time.Millisecond), 1, int32(most)
	if l.committed {
		ask.IsolationLevel = 1
		ask.MaxBytes = math.MaxInt32 // kfake does not say what was aborted where this limit is reached; the partition's, below, is one of its own
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(l.id.ID), from, int32(most)
	ask.Topics = []kmsg.FetchRequestTopic{{Topic: l.id.Topic, TopicID: l.topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	l.conn.SetWriteDeadline(time.Now().Add(requestTimeout))
	return l.send(ask)
}

// receive waits for the answer to fetch. Records that came before an error are kept.
func (l *link) receive() (fetched, error) {
	var got kmsg.FetchResponse
	got.Version = l.version
	if cap(l.answer) > 2*l.most+readBuffer {
		l.answer = nil // of a batch that was larger than asked for
	}
	l.conn.SetReadDeadline(time.Now().Add(l.patience + requestTimeout))
	if err := l.hear(&got); err != nil {
		return fetched{}, err
	}
	if err := failure(got.ErrorCode); err != nil {
		return fetched{}, err
	}
	if got.ThrottleMillis > 0 && len(got.Topics) == 0 {
		return fetched{next: l.from, throttled: time.Duration(got.ThrottleMillis) * time.Millisecond}, nil
	}
	if len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 1 {
		return fetched{}, errGarbled
	}
	answer := &got.Topics[0].Partitions[0]
	if err := failure(answer.ErrorCode); err != nil {
		return fetched{}, err
	}
	next, err := l.takeApart(answer, l.from)
	high := answer.HighWatermark
	if l.committed && answer.LastStableOffset >= 0 {
		high = answer.LastStableOffset
	}
	return fetched{records: l.records, high: high, next: next}, err
}

// takeApart finds the records of an answer, batch by batch. The last batch may be cut off: it comes again.
func (l *link) takeApart(answer *kmsg.FetchResponseTopicPartition, from int64) (next int64, err error) {
	clear(l.records)
	if l.records = l.records[:0]; cap(l.records) > keptRecords {
		l.records = nil
	}
	next = from
	dropped := newAborted(answer.AbortedTransactions)
	for rest := answer.RecordBatches; len(rest) > batchMagic; {
		length := int(int32(binary.BigEndian.Uint32(rest[8:]))) + 12
		if length <= batchMagic || length > len(rest) {
			break
		}
		batch := rest[:length]
		rest = rest[length:]
		if behind, yes := dropped.has(batch); yes {
			next = max(next, behind)
			continue
		}
		if behind, ok := l.plain(batch, next); ok {
			next = behind
			continue
		}
		one := *answer
		one.RecordBatches = batch
		if next, err = l.batch(&one, next); err != nil {
			return next, fmt.Errorf("records from offset %d on: %w; if they are damaged for good, start behind them (Config.Offsets)", next, err)
		}
	}
	return next, nil
}

// Where a batch has its format, and in format 2 its first and last time stamp.
const (
	batchMagic = 16
	batchFirst = 27
	batchLast  = 35
)

// batch has franz-go read a batch of any kind.
func (l *link) batch(one *kmsg.FetchResponseTopicPartition, from int64) (next int64, err error) {
	in, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: from, Topic: l.id.Topic, Partition: one.Partition, Pools: []kgo.Pool{&l.slab}},
		one, l.decompressor, nil)
	beyond := outOfTime(one.RecordBatches)
	for _, m := range in.Records {
		r := stream.Record{Topic: l.id.Topic, Partition: l.id.ID, Offset: m.Offset, Time: beyond, Key: m.Key, Value: m.Value, Headers: headers(m.Headers)}
		if ms := m.Timestamp.UnixMilli(); beyond.IsZero() && ms > 0 {
			r.Time = m.Timestamp.UTC()
		}
		l.records = append(l.records, r)
	}
	l.slab.done()
	return next, in.Err
}

// outOfTime is a time stamp of a batch that 64 bits of nanoseconds cannot hold, and the zero time if there is none. franz-go makes times of any year
// of such, and they are taken for none of them.
func outOfTime(batch []byte) time.Time {
	if batch[batchMagic] != 2 || len(batch) < batchLast+8 {
		return time.Time{}
	}
	for _, at := range []int{batchFirst, batchLast} {
		if t := time.UnixMilli(int64(binary.BigEndian.Uint64(batch[at:]))).UTC(); t.Year() < 1678 || t.Year() > 2261 {
			return t
		}
	}
	return time.Time{}
}

// failure is the error that a code means, nil for none.
func failure(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}

// ask sends a request and reads its answer, which is valid until the next.
func (l *link) ask(request kmsg.Request, answer kmsg.Response) error {
	if err := l.send(request); err != nil {
		return err
	}
	return l.hear(answer)
}

func (l *link) send(request kmsg.Request) error {
	l.asked++
	l.request = kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(l.request[:0], request, l.asked)
	_, err := l.conn.Write(l.request)
	return err
}

// hear reads the answer to the request that was sent last.
func (l *link) hear(answer kmsg.Response) error {
	var head [8]byte
	if _, err := io.ReadFull(l.conn, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 4 || size > maxFetched || binary.BigEndian.Uint32(head[4:]) != uint32(l.asked) {
		return errGarbled
	}
	if err := l.read(int(size) - 4); err != nil {
		return err
	}
	body := l.answer
	if answer.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return errGarbled
		}
		body = body[1:] // the header's tags, of which there are none
	}
	if err := answer.ReadFrom(body); err != nil {
		return fmt.Errorf("%w: %w", errGarbled, err)
	}
	return nil
}

const (
	// maxFetched bounds an answer: a broker sends a batch whole, however large it is.
	maxFetched = 1 << 30
	// readStep is how many bytes must come within requestTimeout, and for how many more there is room at a time.
	readStep = 256 << 10
	// keptRecords is for how many records room is kept between fetches.
	keptRecords = 1 << 14
)

// read reads an answer of a size that was announced. It takes room only as the bytes come, and waits as long as some do.
func (l *link) read(size int) error {
	l.answer = l.answer[:0]
	for len(l.answer) < size {
		have := len(l.answer)
		step := min(size-have, readStep)
		l.answer = slices.Grow(l.answer, step)[:have+step]
		l.conn.SetReadDeadline(time.Now().Add(requestTimeout))
		if _, err := io.ReadFull(l.conn, l.answer[have:]); err != nil {
			return err
		}
	}
	return nil
}

// slab is where franz-go puts the records of a batch; the next batch has the same.
type slab struct{ records []kgo.Record }

// GetRecords implements kgo.PoolRecords.
func (s *slab) GetRecords(n int) []kgo.Record {
	if cap(s.records) < n {
		s.records = make([]kgo.Record, n)
	}
	s.records = s.records[:n]
	return s.records[:0:n]
}

// PutRecords implements kgo.PoolRecords. Nothing is given back but by done.
func (s *slab) PutRecords([]kgo.Record) {}

// done forgets the records of a batch, which hold its bytes.
func (s *slab) done() {
	clear(s.records)
	if cap(s.records) > keptRecords {
		s.records = nil
	}
}
