package kafka

import (
	"encoding/binary"
	"net"
	"strconv"
	"sync"
	"testing"

	"cancha/stream/broker"
)

// understating makes a broker do what Apache Kafka does while records come in: it answers a fetch with records that lie
// beyond the end of the partition as it had noted it. Every second fetch that brings records is answered so; the end is
// said to be the offset that was asked for plus by.
type understating struct {
	net.Conn
	by int64

	mu      sync.Mutex
	asked   map[int32]int64 // offset by correlation id of a fetch
	answers int
	buf     []byte // of whole answers, changed where due
	changed *int
}

// Write notes the offset that a fetch asks for. A reader writes a request in one piece.
func (c *understating) Write(p []byte) (int, error) {
	const fetch, version = 1, fetchByID
	if len(p) > 14 && binary.BigEndian.Uint16(p[4:]) == fetch && binary.BigEndian.Uint16(p[6:]) == version {
		c.mu.Lock()
		// The last fields: offset (8), epoch of the last record (4), start of the log (8), bytes (4), tags, tags, forgotten topics, rack, tags (1 each).
		c.asked[int32(binary.BigEndian.Uint32(p[8:]))] = int64(binary.BigEndian.Uint64(p[len(p)-29:]))
		c.mu.Unlock()
	}
	return c.Conn.Write(p)
}

func (c *understating) Read(p []byte) (int, error) {
	if len(c.buf) == 0 {
		head := make([]byte, 4)
		if _, err := readFull(c.Conn, head); err != nil {
			return 0, err
		}
		c.buf = append(head, make([]byte, binary.BigEndian.Uint32(head))...)
		if _, err := readFull(c.Conn, c.buf[4:]); err != nil {
			return 0, err
		}
		c.change(c.buf)
	}
	n := copy(p, c.buf)
	c.buf = c.buf[n:]
	return n, nil
}

func readFull(c net.Conn, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = c.Read(p[n:])
		n += m
	}
	return n, err
}

func (c *understating) change(answer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	offset, fetch := c.asked[int32(binary.BigEndian.Uint32(answer[4:]))]
	if !fetch {
		return
	}
	// size, correlation id (4 each), tags (1), throttle (4), error (2), session (4), topics (1), topic's id (16), partitions (1), partition (4), error (2)
	const high = 4 + 4 + 1 + 4 + 2 + 4 + 1 + 16 + 1 + 4 + 2
	// the end, the end of what is stable, the start of the log (8 each), aborted transactions (1), the replica to prefer (4)
	if records := answer[high+8+8+8+1+4]; records <= 1 { // and a 1
		return
	}
	if c.answers++; c.answers%2 == 0 {
		binary.BigEndian.PutUint64(answer[high:], uint64(offset+c.by))
		*c.changed++
	}
}

// TestEndIsOlderThanTheRecords: records beyond the end that the broker tells with them come once, and nobody hears that the
// broker was away.
func TestEndIsOlderThanTheRecords(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	const n = 5000
	for _, by := range []int64{0, 1} {
		t.Run(strconv.FormatInt(by, 10), func(t *testing.T) {
			topic := topicName(t)
			for from := 0; from < n; from += n / 20 { // as many record batches at least
				produce(t, addr, topic, 1, from, from+n/20)
			}
			changed := 0
			var lock sync.Mutex
			wrap := func(c net.Conn) net.Conn {
				lock.Lock()
				defer lock.Unlock()
				return &understating{Conn: c, by: by, asked: map[int32]int64{}, changed: &changed}
			}
			h := &recorder{}
			r := begin(t, Config{Brokers: []string{addr}, Topic: topic, FetchBytes: 1 << 10, wrap: wrap}, h)
			eventually(t, "all records", func() bool { return h.count() >= n })
			r.stop(t)
			h.check(t, n)
			if changed == 0 {
				t.Error("no answer was changed: the test tests nothing")
			}
			if len(h.retries) > 0 {
				t.Errorf("%d retries reported, the first %v, want none", len(h.retries), h.retries[0])
			}
			t.Logf("%d answers changed", changed)
		})
	}
}
