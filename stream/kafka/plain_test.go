package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
)

// randomBatch is a batch with keys, values and headers that are absent, empty, short and long, and with gaps as compaction leaves them.
func randomBatch(random *rand.Rand) []byte {
	text := func() []byte {
		n := []int{-1, 0, 1, 10, 63, 64, 200, 9000}[random.IntN(8)]
		if n < 0 {
			return nil
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		return b
	}
	b := kmsg.RecordBatch{FirstOffset: random.Int64N(1e12), Magic: 2, FirstTimestamp: 1_700_000_000_000, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1}
	if random.IntN(10) == 0 {
		b.FirstTimestamp = -1 // a time stamp that is not set
	}
	delta := int32(0)
	for range random.IntN(6) {
		r := kmsg.Record{OffsetDelta: delta, TimestampDelta64: random.Int64N(1e6) - 1000, Key: text(), Value: text()}
		for range random.IntN(4) * random.IntN(2) {
			r.Headers = append(r.Headers, kmsg.Header{Key: string(text()), Value: text()})
		}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // of a length of 0
		b.Records = r.AppendTo(b.Records)
		b.NumRecords++
		b.LastOffsetDelta = delta
		delta += 1 + int32(random.IntN(3)*random.IntN(100))
	}
	b.LastOffsetDelta += int32(random.IntN(2) * random.IntN(5))
	b.MaxTimestamp = b.FirstTimestamp
	return sealed(b.AppendTo(nil))
}

// sealed sets a batch's length and checksum.
func sealed(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// byFranz reads a batch by franz-go alone.
func byFranz(batch []byte, from int64) (records []stream.Record, next int64, err error) {
	l := &link{id: stream.Partition{Topic: "t", ID: 3}, decompressor: kgo.DefaultDecompressor()}
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches = batch
	next, err = l.batch(&p, from)
	return l.records, next, err
}

// TestPlain: what plain reads, franz-go reads as well, and what plain leaves to it is not plain.
func TestPlain(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		batch := randomBatch(random)
		from := int64(binary.BigEndian.Uint64(batch)) + random.Int64N(8) - 2
		want, behind, err := byFranz(batch, from)
		if err != nil {
			t.Fatal(err)
		}
		l := &link{id: stream.Partition{Topic: "t", ID: 3}}
		next, ok := l.plain(batch, from)
		if !ok || next != behind || !reflect.DeepEqual(l.records, want) {
			t.Fatalf("batch % x from %d:\ngot  %+v, next %d, %t\nwant %+v, next %d", batch, from, l.records, next, ok, want, behind)
		}
	}
}

// TestNotPlain: batches of other kinds and damaged ones are left to franz-go, and nothing of them stays.
func TestNotPlain(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 5000 {
		batch := randomBatch(random)
		at := random.IntN(len(batch))
		batch[at] ^= byte(1 + random.IntN(255))
		binary.BigEndian.PutUint32(batch[8:], uint32(len(batch)-12)) // takeApart has gone by the length
		if random.IntN(2) == 0 {
			batch = sealed(batch) // the damage was done before the checksum
		}
		from := int64(binary.BigEndian.Uint64(batch))
		l := &link{id: stream.Partition{Topic: "t", ID: 3}}
		next, ok := l.plain(batch, from)
		if !ok {
			if len(l.records) > 0 {
				t.Fatalf("batch % x: %d records of a batch that is not plain", batch, len(l.records))
			}
			continue
		}
		if want, behind, err := byFranz(batch, from); err != nil || next != behind || !reflect.DeepEqual(l.records, want) {
			t.Fatalf("batch % x, byte %d changed:\ngot  %+v, next %d\nwant %+v, next %d, error %v", batch, at, l.records, next, want, behind, err)
		}
	}
}

func FuzzPlain(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		f.Add(randomBatch(random), int64(0))
	}
	f.Fuzz(func(t *testing.T, batch []byte, from int64) {
		if len(batch) < batchRecords {
			return
		}
		from = max(from, 0)
		batch = sealed(batch)
		l := &link{id: stream.Partition{Topic: "t", ID: 3}}
		next, ok := l.plain(batch, from)
		if !ok {
			return
		}
		if want, behind, err := byFranz(batch, from); err != nil || next != behind || len(want)+len(l.records) > 0 && !reflect.DeepEqual(l.records, want) {
			t.Fatalf("got  %+v, next %d\nwant %+v, next %d, error %v", l.records, next, want, behind, err)
		}
	})
}
