// Package guard stands between a Kafka broker and its port: the broker sees whole requests only, each of a kind and version
// that exists, whose lengths and counts are true to its bytes. All else ends the connection that sent it, and one line of the
// log says why.
//
// It ends where a request's meaning begins: whether a topic exists, a group is known or a checksum is right is the broker's
// business, and so are passwords and encryption, which this broker has none of.
//
// Memory is given for bytes that came, not for bytes that were announced, and what all requests on their way take together has
// a bound (Limits). A peer that stops in the middle of a request, that never sends a first one, that does not read its
// answers, or that is idle, is closed; where all places are taken, the one that has been idle for longest makes room.
package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limits bound what peers may take. The zero Limits are the defaults named at each field.
type Limits struct {
	// Connections at a time, default 1,024.
	Connections int
	// RequestBytes is the largest Produce request, default 100 MiB as socket.request.max.bytes of Apache Kafka.
	RequestBytes int
	// ControlBytes is the largest request of any other kind, default 1 MiB.
	ControlBytes int
	// Elements is how many topics, partitions, members and the like one request may name together, default 20,000.
	Elements int
	// PendingBytes is what requests beyond freeBytes each take together while they arrive and wait, default 256 MiB. Those
	// that find no room wait.
	PendingBytes int64
	// First is how long a new connection may take to its first request, default 10 s.
	First time.Duration
	// Whole is how long a request may take from its first byte to its last, and a second more for each MiB, default 30 s.
	Whole time.Duration
	// Idle is how long a connection may be silent, default 10 min as connections.max.idle.ms of Apache Kafka.
	Idle time.Duration
	// Taken is how long a peer may leave part of an answer unread, default 1 min.
	Taken time.Duration
}

// freeBytes of each request are not counted as pending: requests of the usual size never wait for those of others.
const freeBytes = 64 << 10

func (l *Limits) fill() {
	for _, f := range []struct {
		v   *int
		def int
	}{{&l.Connections, 1024}, {&l.RequestBytes, 100 << 20}, {&l.ControlBytes, 1 << 20}, {&l.Elements, 20_000}} {
		if *f.v == 0 {
			*f.v = f.def
		}
	}
	if l.PendingBytes == 0 {
		l.PendingBytes = 256 << 20
	}
	for _, f := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&l.First, 10 * time.Second}, {&l.Whole, 30 * time.Second}, {&l.Idle, 10 * time.Minute}, {&l.Taken, time.Minute}} {
		if *f.v == 0 {
			*f.v = f.def
		}
	}
}

// Listener gives out connections whose Read yields checked requests. Close it; the connections are closed by who has them.
type Listener struct {
	// Arrived is called when a request has come, and Answering before its answer is sent; what it returns is sent. Many goroutines call
	// them. Nil: nobody is asked.
	Arrived   func() uint64
	Answering func(to Request, answer []byte) []byte

	net.Listener
	limits  Limits
	log     *slog.Logger
	pending *semaphore.Weighted
	refused atomic.Int64

	mu    sync.Mutex
	conns map[*conn]struct{}
}

// Request is one that has come.
type Request struct {
	Kind, Version int16
	Arrived       uint64 // what [Listener.Arrived] has returned

	correlation uint32
}

// Listen guards what inner accepts. A nil log is silent.
func Listen(inner net.Listener, limits Limits, log *slog.Logger) *Listener {
	limits.fill()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Listener{
		Listener: inner, limits: limits, log: log,
		pending: semaphore.NewWeighted(limits.PendingBytes), conns: map[*conn]struct{}{},
	}
}

// Accept waits for the next peer. It makes room where all places, or all descriptors of the process, are taken, and fails only
// once the listener is closed: a broker stops to listen at an error.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			return l.admit(c), nil
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case !l.evict("no file descriptor is left for the next peer"):
			return nil, fmt.Errorf("accept: %w", err)
		}
	}
}

func (l *Listener) admit(inner net.Conn) *conn {
	c := &conn{Conn: inner, l: l, peer: inner.RemoteAddr().String()}
	c.used.Store(time.Now().UnixNano())
	if l.Connections() >= l.limits.Connections {
		l.evict(fmt.Sprintf("all %d connections are taken, and this one was idle for longest", l.limits.Connections))
	}
	l.mu.Lock()
	l.conns[c] = struct{}{}
	l.mu.Unlock()
	return c
}

// Connections are those that are open now.
func (l *Listener) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// evict closes the connection that has been idle for longest; false where there is none.
func (l *Listener) evict(why string) bool {
	l.mu.Lock()
	var oldest *conn
	for c := range l.conns {
		if oldest == nil || c.used.Load() < oldest.used.Load() {
			oldest = c
		}
	}
	l.mu.Unlock()
	if oldest == nil {
		return false
	}
	oldest.refuse(why)
	return true
}

func (l *Listener) forget(c *conn) {
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
}

// tell writes of the first refused peers, then of each time their number has doubled: a flood of garbage does not become a flood of
// lines.
func (l *Listener) tell(peer, why string) {
	n := l.refused.Add(1)
	if n <= 16 || n&(n-1) == 0 {
		l.log.Warn("broker: closed a connection", "peer", peer, "why", why, "closed", n)
	}
}
