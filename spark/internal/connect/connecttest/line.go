package connecttest

import (
	"net"
	"sync"
)

// line is a listener whose connections can be frozen and broken off.
type line struct {
	net.Listener

	mu     sync.Mutex
	frozen chan struct{} // closed when they may go on; nil while they do
	open   map[*conn]bool
}

func newLine(l net.Listener) *line { return &line{Listener: l, open: map[*conn]bool{}} }

// Accept implements net.Listener.
func (l *line) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, line: l}
	l.mu.Lock()
	l.open[c] = true
	l.mu.Unlock()
	return c, nil
}

// Freeze stops all connections.
func (l *line) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen == nil {
		l.frozen = make(chan struct{})
	}
}

// Thaw lets them go on.
func (l *line) Thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen != nil {
		close(l.frozen)
		l.frozen = nil
	}
}

// Drop breaks them off.
func (l *line) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.Conn.Close()
	}
}

func (l *line) wait() {
	l.mu.Lock()
	frozen := l.frozen
	l.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

type conn struct {
	net.Conn
	line *line
}

// Read gives what it has read only when the line is not frozen: it may have been when the bytes came.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.line.wait()
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.line.wait()
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.line.mu.Lock()
	delete(c.line.open, c)
	c.line.mu.Unlock()
	return c.Conn.Close()
}
