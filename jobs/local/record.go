package local

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"cancha/jobs/queue"
)

// A message lies in the file as a record: its form (1 byte), its priority (1 byte), a checksum of all else (CRC-32C, 4 bytes), the length
// of its head (uvarint), the head in JSON, the body. The priority stands apart, so that the index is made without reading heads.
const recordForm = 1

// checked is where that begins in a record which the checksum is of, besides the two bytes before it.
const checked = 6

// head is all of a message but its body and priority, and what a dead letter has besides.
type head struct {
	ID            string            `json:"id,omitempty"`
	ContentType   string            `json:"type,omitempty"`
	ReplyTo       string            `json:"reply,omitempty"`
	CorrelationID string            `json:"correlation,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	Death         *queue.Death      `json:"death,omitempty"`
}

var errRecord = errors.New("damaged message")

func encodeRecord(m *queue.Message, death *queue.Death) ([]byte, error) {
	text, err := json.Marshal(head{m.ID, m.ContentType, m.ReplyTo, m.CorrelationID, m.Headers, death})
	if err != nil {
		return nil, fmt.Errorf("the head of a message: %w", err)
	}
	b := make([]byte, checked, checked+binary.MaxVarintLen32+len(text)+len(m.Body))
	b[0], b[1] = recordForm, byte(m.Priority)
	b = binary.AppendUvarint(b, uint64(len(text)))
	b = append(append(b, text...), m.Body...)
	binary.BigEndian.PutUint32(b[2:], checksum(b))
	return b, nil
}

func checksum(record []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(record[:2], table), table, record[checked:])
}

// decodeRecord copies what it returns: the bytes of a file last no longer than a transaction.
func decodeRecord(b []byte) (m queue.Message, death *queue.Death, err error) {
	if len(b) < checked || b[0] != recordForm || b[1] > queue.MaxPriority || checksum(b) != binary.BigEndian.Uint32(b[2:]) {
		return m, nil, fmt.Errorf("%w: %d bytes that begin with %x", errRecord, len(b), b[:min(len(b), checked)])
	}
	rest := b[checked:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return m, nil, fmt.Errorf("%w: its head is longer than it", errRecord)
	}
	text, body := rest[n:n+int(size)], rest[n+int(size):]
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return m, nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return queue.Message{ID: h.ID, Body: append([]byte(nil), body...), ContentType: h.ContentType, Priority: int(b[1]), ReplyTo: h.ReplyTo,
		CorrelationID: h.CorrelationID, Headers: h.Headers}, h.Death, nil
}

// recordPriority is the priority of a message, whose checksum is for who reads it; 0 of a damaged one.
func recordPriority(b []byte) int {
	if len(b) < checked || b[1] > queue.MaxPriority {
		return 0
	}
	return int(b[1])
}

// mark is what the file has of a message besides: how often it has been handed out, and until when it is kept away.
type mark struct {
	count int
	due   time.Time // zero: it is not kept away
}

// encode puts down when a message is due, and how long it is kept away, after.
func (m mark) encode(after time.Duration) []byte {
	due := int64(0)
	if !m.due.IsZero() {
		due = m.due.UnixMilli() + 1 // rounded up: never too early
	}
	b := binary.AppendVarint(binary.AppendUvarint(nil, uint64(m.count)), due)
	return binary.AppendVarint(b, after.Milliseconds()+1)
}

// decodeMark reads a mark. Where the clock has gone back meanwhile, the message is kept away as long as at first and no longer. From now
// on, which the monotonic clock measures, it may go as it likes.
func decodeMark(b []byte, now time.Time) (m mark, err error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > 1<<31-1 {
		return m, fmt.Errorf("%w: its count is %x", errRecord, b)
	}
	due, k := binary.Varint(b[n:])
	if k <= 0 {
		return m, fmt.Errorf("%w: its time is %x", errRecord, b)
	}
	m.count = int(count)
	if due != 0 {
		m.due = now.Add(min(time.UnixMilli(due).Sub(now), longestDelay(b[n+k:])))
	}
	return m, nil
}

// longestDelay is how long a mark keeps a message away; the first marks did not say.
func longestDelay(b []byte) time.Duration {
	const most = int64(queue.MaxDelay / time.Millisecond)
	if after, n := binary.Varint(b); n > 0 && after < most {
		return time.Duration(max(after, 0)) * time.Millisecond
	}
	return queue.MaxDelay
}

// key is the place of a message in its queue, in the order of publishing.
func key(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }
