package zmq

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/wire"
	"cancha/kernel/zmq/curve"
)

// socket is what the three kinds of socket do with their peers. up, received and command are called by the peer's own
// reading goroutine, in the order of its bytes, and down after them; an error drops the peer.
type socket interface {
	up(p *peer) error
	received(p *peer, frames [][]byte) error
	command(p *peer, name string, body []byte) error
	down(p *peer)
}

// room bounds what has come of the large messages of peers: strangers or clients.
type room interface {
	set(p *peer, bytes int64)   // so many bytes of its message have come; 0: it is taken
	wait(p *peer) (waited bool) // until more of it may come
}

// peer is one accepted connection. Its reading goroutine is [peer.run]; its writing one lives from the handshake on.
type peer struct {
	raw      net.Conn
	conn     *zmq4.Conn
	link     *link
	lim      Limits
	identity string
	queue    *queue

	lagging atomic.Bool // it is not waited for, see Publisher.Wait

	signed  atomic.Bool // something signed has come from it
	room    room        // of the reading goroutine
	arrived int64       // bytes that room counts for it; guarded by its lock, as the next two are
	moved   int64       // of arrived, when it was last among those that go on
	crowded bool        // dropped for others: what the reading goroutine still has does not count

	once  sync.Once
	cause error         // why it was dropped; set before gone is closed
	gone  chan struct{} // closed by drop
}

func newPeer(raw net.Conn, lim Limits, encrypted bool) *peer {
	p := &peer{raw: raw, lim: lim, room: lim.strangers, gone: make(chan struct{})}
	overhead := 0
	if encrypted {
		overhead = curve.Overhead
	}
	p.queue = newQueue(overhead, lim.Queue, lim.FullWait, lim.Rate, func() { p.drop(errStalled) })
	p.link = newLink(raw, (*pacedWriter)(p), lim)
	return p
}

// drop closes the connection; the first cause is kept.
func (p *peer) drop(cause error) {
	p.once.Do(func() {
		p.cause = cause
		close(p.gone)
		p.queue.close(true)
		_ = p.raw.Close()
	})
}

// handshake opens the connection as a socket of the given type. The library panics on a cut READY and on an unknown socket
// type: here that is an error as any other.
func (p *peer) handshake(kind zmq4.SocketType, keys wire.CurveKeys) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handshake: %v", r)
		}
	}()
	if err := p.raw.SetDeadline(time.Now().Add(p.lim.Handshake)); err != nil {
		return err
	}
	p.conn, err = open(p.link, keys, kind, "", true)
	if err != nil {
		return err
	}
	p.identity = p.conn.Peer.Meta["Identity"]
	if len(p.identity) > 255 || len(p.identity) > 0 && p.identity[0] == 0 {
		return fmt.Errorf("identity %q is not allowed: %w", p.identity, errFrame)
	}
	p.link.live = true
	return p.raw.SetDeadline(time.Time{})
}

// serve reads messages until the peer leaves, and returns why it did.
func (p *peer) serve(s socket) error {
	p.link.onCommand = func(name string, body []byte) error {
		if err := p.command(s, name, body); err != nil {
			return err
		}
		return p.keepUp()
	}
	p.link.onArrival = p.arrive
	defer p.link.letGo()
	defer p.arrive(0)
	for {
		m, err := p.conn.RecvMsg()
		if err != nil {
			return err
		}
		p.link.copied()
		if err := s.received(p, m.Frames); err != nil {
			return err
		}
		if err := p.link.whole(); err != nil {
			return err
		}
		if err := p.keepUp(); err != nil {
			return err
		}
	}
}

// arrive tells what has come of a message, and waits until more of it may come.
func (p *peer) arrive(bytes int64) (waited bool) {
	p.room.set(p, bytes)
	return bytes > 0 && p.room.wait(p)
}

// settle makes a stranger, whose message has come whole and was signed, one of the clients.
func (p *peer) settle(c *clients) {
	p.signed.Store(true)
	p.link.signed = true
	p.room.set(p, 0)
	p.room = c
	if p.link.arrived > maxSmall {
		p.room.set(p, p.link.arrived)
	}
}

// keepUp waits while the peer's queue is over its limit: who does not read is not read. The queue's watch drops it.
func (p *peer) keepUp() error {
	for p.queue.behind(p.lim.Queue) {
		if err := p.queue.room(p.lim.Queue, nil); err != nil && !errors.Is(err, errStalled) {
			return err
		}
	}
	return nil
}

// command answers PING and hands other commands to the socket. A PING's body is a time to live in two bytes and a
// context of at most sixteen, which the PONG repeats (rfc.zeromq.org/spec:37).
func (p *peer) command(s socket, name string, body []byte) error {
	switch name {
	case zmq4.CmdPing:
		if len(body) < 2 || len(body) > 18 {
			return fmt.Errorf("PING of %d bytes: %w", len(body), errFrame)
		}
		return p.put(outgoing{command: zmq4.CmdPong, frames: [][]byte{body[2:]}})
	case zmq4.CmdPong:
		return nil
	case zmq4.CmdError:
		return fmt.Errorf("the peer reports an error: %q", body)
	default:
		return s.command(p, name, body)
	}
}

// write writes what is queued until the queue is closed.
func (p *peer) write() {
	for {
		items, ok := p.queue.take()
		if !ok {
			return
		}
		for i, o := range items {
			items[i] = outgoing{}
			p.queue.begun(o)
			if err := p.writeOne(o); err != nil {
				p.drop(err)
				return
			}
		}
		if err := p.link.flush(); err != nil {
			p.drop(err)
			return
		}
	}
}

func (p *peer) writeOne(o outgoing) error {
	if o.command != "" {
		return p.link.sendCommand(p.conn, o.command, o.frames[0])
	}
	return p.link.send(p.conn, o.frames)
}

// put queues a message, or a command; a peer that does not read is dropped.
func (p *peer) put(o outgoing) error {
	err := p.queue.put(o)
	if errors.Is(err, errStalled) {
		p.drop(err)
	}
	return err
}

// pacedWriter writes to the peer's connection in pieces, each with a deadline, and tells the queue of each.
type pacedWriter peer

func (w *pacedWriter) Write(b []byte) (written int, err error) {
	const piece = 256 << 10
	for len(b) > 0 {
		if w.link.live {
			if err := w.raw.SetWriteDeadline(time.Now().Add(w.lim.Stall)); err != nil {
				return written, err
			}
		}
		n, err := w.raw.Write(b[:min(len(b), piece)])
		written += n
		if w.link.live {
			w.queue.wrote(n)
		}
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}
