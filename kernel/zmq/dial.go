package zmq

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/wire"
)

// Conn is a client's connection to one channel. Send may be called from any goroutine; Receive from one.
type Conn struct {
	raw    *counted
	link   *link
	conn   *zmq4.Conn
	prefix int // empty frames before each message: a REQ's envelope

	mu sync.Mutex // orders whole messages on the wire
}

// DialDealer connects to a Router under the given identity; with none the router gives one.
func DialDealer(ctx context.Context, at wire.Endpoint, identity string) (*Conn, error) {
	return dial(ctx, at, zmq4.Dealer, identity)
}

// DialSubscriber connects to a Publisher and subscribes to a topic, "" for all.
func DialSubscriber(ctx context.Context, at wire.Endpoint, topic string) (*Conn, error) {
	c, err := dial(ctx, at, zmq4.Sub, "")
	if err != nil {
		return nil, err
	}
	if err := c.Send([][]byte{append([]byte{1}, topic...)}); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return c, nil
}

// DialRequester connects to an Echo: each Send is answered by one Receive.
func DialRequester(ctx context.Context, at wire.Endpoint) (*Conn, error) {
	c, err := dial(ctx, at, zmq4.Req, "")
	if err != nil {
		return nil, err
	}
	c.prefix = 1
	return c, nil
}

// dial makes one attempt; ctx bounds it, the handshake included. A peer that encrypts where this one does not is an ErrMechanism,
// and one that leaves our HELLO without an answer an ErrHello.
func dial(ctx context.Context, at wire.Endpoint, kind zmq4.SocketType, identity string) (c *Conn, err error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, at.Network, at.Address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handshake with %s: %v", at.Address, r)
		}
		if err != nil {
			_ = raw.Close()
		}
	}()
	counted := &counted{Conn: raw}
	c = &Conn{raw: counted, link: newLink(counted, raw, Limits{Message: 1 << 30}.withDefaults())}
	c.conn, err = open(c.link, at.CurveKeys, kind, identity, false)
	if err != nil {
		return nil, fmt.Errorf("handshake with %s: %w", at.Address, err)
	}
	c.link.onCommand = c.command
	c.link.live = true
	return c, nil
}

// command answers PING; nothing else concerns a client.
func (c *Conn) command(name string, body []byte) error {
	if name != zmq4.CmdPing || len(body) < 2 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.link.sendCommand(c.conn, zmq4.CmdPong, body[2:]); err != nil {
		return err
	}
	return c.link.flush()
}

// Send sends one message. It blocks while the other side does not read.
func (c *Conn) Send(frames [][]byte) error {
	m := make([][]byte, c.prefix, c.prefix+len(frames))
	m = append(m, frames...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.link.send(c.conn, m); err != nil {
		return err
	}
	return c.link.flush()
}

// Receive returns the next message; after Close, or when the kernel has gone, an error.
func (c *Conn) Receive() ([][]byte, error) {
	m, err := c.conn.RecvMsg()
	if err != nil {
		return nil, err
	}
	if len(m.Frames) < c.prefix {
		return nil, errFrame
	}
	return m.Frames[c.prefix:], nil
}

// Arrived is how many bytes have come: it grows while a large message is on its way.
func (c *Conn) Arrived() int64 { return c.raw.arrived.Load() }

// counted counts what is read.
type counted struct {
	net.Conn
	arrived atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.arrived.Add(int64(n))
	return n, err
}

// Close closes the connection at once.
func (c *Conn) Close() error { return c.raw.Close() }
