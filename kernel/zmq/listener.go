package zmq

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/wire"
)

// acceptPause keeps a listener that cannot accept (no file descriptors left, say) from spinning.
const acceptPause = 20 * time.Millisecond

// listener accepts connections for one socket and owns their goroutines.
type listener struct {
	kind zmq4.SocketType
	keys wire.CurveKeys
	lim  Limits
	log  *slog.Logger
	sock socket
	net  net.Listener
	done chan struct{} // closed by close
	wg   sync.WaitGroup
	bad  atomic.Uint64 // connections that ended for a reason worth telling

	mu          sync.Mutex
	closed      bool
	handshaking []*peer // oldest first
	live        []*peer // oldest first
}

// bind binds; start then serves until close.
func bind(at wire.Endpoint, kind zmq4.SocketType, lim Limits, log *slog.Logger, s socket) (*listener, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if at.Network == "unix" {
		if err := removeStale(at.Address); err != nil {
			return nil, err
		}
	}
	ln, err := net.Listen(at.Network, at.Address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if at.Network == "unix" {
		if err := os.Chmod(at.Address, 0o600); err != nil {
			_ = ln.Close()
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	return &listener{
		kind: kind, keys: at.CurveKeys, lim: lim.withDefaults(), sock: s, net: ln, done: make(chan struct{}),
		log: log.With("socket", string(kind), "address", at.Address),
	}, nil
}

// start begins to accept. It is apart from bind so that the socket is whole before its first peer comes.
func (l *listener) start() { l.wg.Go(l.accept) }

// removeStale removes the socket file that a killed process has left; one that answers is an error.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("listen: %w", err)
	case info.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("listen: %s is there and no socket", path)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return fmt.Errorf("listen: %s is in use", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

func (l *listener) accept() {
	for {
		raw, err := l.net.Accept()
		if err == nil {
			l.admit(raw)
			continue
		}
		select {
		case <-l.done:
			return
		case <-time.After(acceptPause):
			l.tell("accept failed", err)
		}
	}
}

// admit starts a connection's goroutine. Where too many are in handshake the oldest goes: a client that speaks is through
// in milliseconds, so the oldest is the one that says nothing.
func (l *listener) admit(raw net.Conn) {
	p := newPeer(raw, l.lim, l.keys.Encrypted())
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		_ = raw.Close()
		return
	}
	var oldest *peer
	if len(l.handshaking) >= l.lim.Handshaking {
		oldest = l.handshaking[0]
		l.handshaking = l.handshaking[1:]
	}
	l.handshaking = append(l.handshaking, p)
	l.wg.Go(func() { l.run(p) })
	l.mu.Unlock()
	if oldest != nil {
		oldest.drop(errors.New("too many connections in handshake"))
	}
}

// run is a peer's life: handshake, up, messages, down. A panic in it costs this connection only.
func (l *listener) run(p *peer) {
	defer func() {
		if r := recover(); r != nil {
			p.drop(fmt.Errorf("panic: %v", r))
			l.log.Error("connection ended by a panic", "panic", r)
		}
		l.forget(p)
	}()
	err := p.handshake(l.kind, l.keys)
	if err == nil {
		err = l.promote(p)
	}
	if err != nil {
		p.drop(err)
		l.tell("connection refused", p.cause)
		return
	}
	l.serve(p)
}

// tell logs the end of a connection, unless the peer just left; of many bad ones the first, second, fourth, eighth …, so
// that garbage does not fill a disk.
func (l *listener) tell(what string, cause error) {
	for _, quiet := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(cause, quiet) {
			return
		}
	}
	if n := l.bad.Add(1); n&(n-1) == 0 {
		l.log.Warn(what, "cause", cause, "so_far", n)
	}
}

func (l *listener) serve(p *peer) {
	var writer sync.WaitGroup
	writer.Go(p.write)
	defer writer.Wait()
	defer p.drop(io.EOF) // ends the writer, whatever happened
	defer l.sock.down(p)
	err := l.sock.up(p)
	if err == nil {
		err = p.serve(l.sock)
	}
	p.drop(err)
	l.tell("connection ended", p.cause)
}

// promote moves a peer from those in handshake to the live ones. Where there are too many, one of these goes that has not signed anything,
// if there is one, and of such the middle one: whose peers will sign is not known, but where one has opened as many as there may be, those
// that were there before stay, and so do those that come after, unless it goes on opening more. A client that it hits connects again.
func (l *listener) promote(p *peer) error {
	l.mu.Lock()
	l.handshaking = without(l.handshaking, p)
	if l.closed {
		l.mu.Unlock()
		return net.ErrClosed
	}
	var middle *peer
	if len(l.live) >= l.lim.Peers {
		middle = middleOf(l.live)
		l.live = without(l.live, middle)
	}
	l.live = append(l.live, p)
	l.mu.Unlock()
	if middle != nil {
		middle.drop(fmt.Errorf("more than %d connections", l.lim.Peers))
	}
	return nil
}

// middleOf returns the middle one of the strangers, or of all where there is none.
func middleOf(peers []*peer) *peer {
	strangers := slices.DeleteFunc(slices.Clone(peers), func(p *peer) bool { return p.signed.Load() })
	if len(strangers) > 0 {
		peers = strangers
	}
	return peers[len(peers)/2]
}

func (l *listener) forget(p *peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live, l.handshaking = without(l.live, p), without(l.handshaking, p)
}

func without(peers []*peer, p *peer) []*peer {
	return slices.DeleteFunc(peers, func(other *peer) bool { return other == p })
}

// close stops accepting, gives every peer up to Linger in all to take what is queued, closes the connections and waits
// for their goroutines. A second close waits for the first.
func (l *listener) close() {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	peers := slices.Concat(l.handshaking, l.live)
	l.mu.Unlock()
	if first {
		close(l.done)
		_ = l.net.Close()
	}
	end := make(chan time.Time)
	timer := time.AfterFunc(l.lim.Linger, func() { close(end) })
	for _, p := range peers {
		p.queue.close(false)
		p.queue.drained(end)
		p.drop(net.ErrClosed)
	}
	timer.Stop()
	l.wg.Wait()
}
