package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// line is a way to a broker on which each connection breaks after some bytes, as many as the dice say, of both directions together. A
// broker tells its clients where it is: on the way back that becomes where the line is. Close it.
type line struct {
	listener net.Listener
	to       string
	here     []byte // its own address, as brokers write it
	there    []byte // the broker's
	carrying sync.WaitGroup

	mu     sync.Mutex // guards what follows
	dice   *rand.Rand
	open   map[net.Conn]bool
	closed bool
	broken int
}

// What connections carry, from the shortest, over which little more than a greeting goes, to the longest, over which a large answer to a
// fetch goes: so all is read in the end.
const leastCarried, mostCarried = 2 << 10, 16 << 20

// newLine begins to carry what comes to a port of its own.
func newLine(to string, dice *rand.Rand) (*line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, to: to, dice: dice, open: map[net.Conn]bool{}}
	if l.here, err = written(l.addr()); err == nil {
		l.there, err = written(to)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	l.carrying.Go(l.accept)
	return l, nil
}

func (l *line) addr() string { return l.listener.Addr().String() }

// written is an address as brokers write it: the host, and the port in four bytes. One address must take as many bytes as the other.
func written(addr string) ([]byte, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err == nil && host != "127.0.0.1" {
		err = errors.New("a line leads to 127.0.0.1 alone, not to " + host)
	}
	return binary.BigEndian.AppendUint32([]byte(host), uint32(n)), err
}

// close breaks all connections and waits until they are gone.
func (l *line) close() {
	l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for c := range l.open {
		c.Close()
	}
	l.mu.Unlock()
	l.carrying.Wait()
}

func (l *line) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		l.carrying.Go(func() { l.carry(client) })
	}
}

// carry carries one connection until it breaks.
func (l *line) carry(client net.Conn) {
	defer client.Close()
	broker, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer broker.Close()
	left, hard, ok := l.begin(client, broker)
	if !ok {
		return
	}
	defer l.end(client, broker)
	if hard { // what is on its way is thrown away
		client.(*net.TCPConn).SetLinger(0)
	}
	quota := &quota{}
	quota.left.Store(left)
	var back sync.WaitGroup
	back.Go(func() {
		l.answers(quota.on(client), broker)
		client.Close()
		broker.Close()
	})
	io.Copy(quota.on(broker), client) // until it breaks, which is no error here
	client.Close()
	broker.Close()
	back.Wait()
}

// begin says how many bytes a connection is to carry: thousands as often as tens of thousands and as millions.
func (l *line) begin(client, broker net.Conn) (left int64, hard, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, false, false
	}
	l.open[client], l.open[broker] = true, true
	return int64(leastCarried * math.Pow(mostCarried/leastCarried, l.dice.Float64())), l.dice.IntN(2) == 0, true
}

func (l *line) end(client, broker net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, client)
	delete(l.open, broker)
	l.broken++
}

// answers carries answers to a client, each behind its length.
func (l *line) answers(client io.Writer, broker io.Reader) {
	head := make([]byte, 4)
	for {
		if _, err := io.ReadFull(broker, head); err != nil {
			return
		}
		answer := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(broker, answer); err != nil {
			return
		}
		if _, err := client.Write(append(head[:4:4], bytes.ReplaceAll(answer, l.there, l.here)...)); err != nil {
			return
		}
	}
}

// quota is how many bytes a connection still carries.
type quota struct{ left atomic.Int64 }

// errBroken tells that a connection has carried what it was to carry.
var errBroken = errors.New("the line is broken")

func (q *quota) on(w io.Writer) io.Writer { return limited{w, q} }

// limited writes to a connection within its quota: of what exceeds it, the part that still fits.
type limited struct {
	to    io.Writer
	quota *quota
}

// Write implements io.Writer.
func (l limited) Write(p []byte) (int, error) {
	over := -l.quota.left.Add(-int64(len(p)))
	if over <= 0 {
		return l.to.Write(p)
	}
	n, err := l.to.Write(p[:max(0, int64(len(p))-over)])
	return n, errors.Join(errBroken, err)
}
