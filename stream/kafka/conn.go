package kafka

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// readBuffer is how much is read from a socket at once. kafka-go reads through 4 KB, which is one system call for six
// events: with 64 KB below it reading costs half (2.0 against 0.6 µs a record of 700 bytes, both sides; 256 KB no less).
const readBuffer = 64 << 10

var errConnsClosed = errors.New("the source has stopped")

// conns are the open connections of one run: what unblocks a request that cannot be interrupted is that they close.
type conns struct {
	wrap func(net.Conn) net.Conn // nil: none

	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
}

// conn is a connection that reads in large pieces and never waits for ever: kafka-go clears deadlines in places (its SASL
// handshake), and then a silent peer would hold it.
type conn struct {
	net.Conn
	buf  *bufio.Reader
	from *conns
}

// tcp connects to a broker.
func (s *conns) tcp(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if s.wrap != nil {
		nc = s.wrap(nc)
	}
	c := &conn{Conn: nc, buf: bufio.NewReaderSize(nc, readBuffer), from: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		nc.Close()
		return nil, errConnsClosed
	}
	if s.open == nil {
		s.open = make(map[*conn]struct{})
	}
	s.open[c] = struct{}{}
	return c, c.SetDeadline(time.Time{})
}

// closeAll closes what is open and refuses what comes later.
func (s *conns) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.open {
		c.Conn.Close()
	}
}

func (c *conn) Read(p []byte) (int, error) { return c.buf.Read(p) }

func (c *conn) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

func (c *conn) SetDeadline(t time.Time) error      { return c.Conn.SetDeadline(bounded(t)) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.Conn.SetReadDeadline(bounded(t)) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(bounded(t)) }

// bounded gives an operation without a deadline one that is later than any that this package sets itself.
func bounded(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now().Add(rebalanceTimeout + 2*requestTimeout)
	}
	return t
}
