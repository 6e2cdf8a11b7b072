package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"cancha/stream"
)

// Where a batch of format 2 has what is read of it (https://kafka.apache.org/documentation/#recordbatch).
const (
	batchCRC        = 17 // of all that follows it
	batchAttributes = 21
	batchLastDelta  = 23
	batchCount      = 57
	batchRecords    = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// plain reads the records of a batch that is as nearly all are: of format 2, not compressed, of no transaction, with the time stamps of its producer.
// It reads them to where they are to be; franz-go makes records of its own first. next is where to go on. ok is false for any
// other batch, and for one that is not whole: franz-go knows what to make of these, and what to say.
func (l *link) plain(batch []byte, from int64) (next int64, ok bool) {
	if len(batch) < batchRecords || batch[batchMagic] != 2 || binary.BigEndian.Uint16(batch[batchAttributes:]) != 0 || !outOfTime(batch).IsZero() ||
		crc32.Checksum(batch[batchAttributes:], castagnoli) != binary.BigEndian.Uint32(batch[batchCRC:]) {
		return 0, false
	}
	p := parser{text: batch, i: batchRecords}
	base, first := int64(binary.BigEndian.Uint64(batch)), int64(binary.BigEndian.Uint64(batch[batchFirst:]))
	last := int64(int32(binary.BigEndian.Uint32(batch[batchLastDelta:])))
	count := int32(binary.BigEndian.Uint32(batch[batchCount:]))
	if count < 0 {
		return 0, false
	}
	before, least := len(l.records), int64(0)
	for range count {
		r := stream.Record{Topic: l.id.Topic, Partition: l.id.ID}
		end := p.varint()
		end += int64(p.i)
		p.i++ // attributes, of which there are none
		if ms := first + p.varint(); ms > 0 {
			r.Time = time.UnixMilli(ms).UTC()
		}
		delta := p.varint()
		r.Offset = base + delta
		r.Key, r.Value = p.bytes(), p.bytes()
		r.Headers = p.headers()
		if p.bad || int64(p.i) != end || delta < least || delta > last {
			l.records = l.records[:before]
			return 0, false
		}
		if least = delta + 1; r.Offset >= from {
			l.records = append(l.records, r)
		}
	}
	if p.i != len(batch) {
		l.records = l.records[:before]
		return 0, false
	}
	return max(from, base+last+1), true
}

// parser reads the parts of a record. What it returns lies in the text; once it is bad it is at the text's end.
type parser struct {
	text []byte
	i    int
	bad  bool
}

func (p *parser) varint() int64 {
	if p.i < len(p.text) && p.text[p.i] < 0x80 {
		u := p.text[p.i]
		p.i++
		return int64(u>>1) ^ -int64(u&1)
	}
	return p.long()
}

// long reads a varint of more than one byte.
func (p *parser) long() int64 {
	v, n := binary.Varint(p.text[min(p.i, len(p.text)):])
	if n <= 0 {
		p.fail()
		return 0
	}
	p.i += n
	return v
}

func (p *parser) fail() { p.bad, p.i = true, len(p.text) }

// bytes reads a length and so many bytes; nil for a length of -1.
func (p *parser) bytes() []byte {
	n := p.varint()
	if n == -1 {
		return nil
	}
	if n < 0 || n > int64(len(p.text)-p.i) {
		p.fail()
		return nil
	}
	b := p.text[p.i : p.i+int(n) : p.i+int(n)]
	p.i += int(n)
	return b
}

// headers reads a record's headers; most have none.
func (p *parser) headers() []stream.Header {
	n := p.varint()
	if n == 0 {
		return nil
	}
	if n < 0 || n > int64(len(p.text)-p.i)/2 { // two lengths at least
		p.fail()
		return nil
	}
	headers := make([]stream.Header, n)
	for i := range headers {
		key := p.bytes()
		if key == nil {
			p.fail()
			return nil
		}
		headers[i] = stream.Header{Key: string(key), Value: p.bytes()}
	}
	return headers
}
