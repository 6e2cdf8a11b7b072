package zmq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/wire"
)

// ErrNoPeer reports an answer to a peer that is not, or no longer, connected. The answer is lost; go on.
var ErrNoPeer = errors.New("zmq: no peer of that identity")

// Router is a ROUTER socket: a message that it receives begins with the identity of its sender, and a message that it
// sends goes to the peer whose identity it begins with.
type Router struct {
	*listener
	in      chan [][]byte
	signed  func(frames [][]byte) bool
	clients *clients
	names   atomic.Uint32 // of peers that give themselves no identity
	moved   atomic.Uint64 // identities taken over

	mu    sync.Mutex
	peers map[string]*peer
}

// NewRouter listens at an endpoint. signed tells whether who sent a message has the key: then what strangers do
// cannot end its connection. It is called by many goroutines; nil means that nobody has. A nil log is silent.
func NewRouter(at wire.Endpoint, lim Limits, signed func(frames [][]byte) bool, log *slog.Logger) (*Router, error) {
	r := &Router{in: make(chan [][]byte), signed: signed, clients: newClients(lim.withDefaults().Arriving), peers: map[string]*peer{}}
	l, err := bind(at, zmq4.Router, lim, log, &routerPeers{r})
	if err != nil {
		return nil, err
	}
	r.listener = l
	l.start()
	return r, nil
}

// Receive returns the next message, whoever sent it. After Close it returns net.ErrClosed.
func (r *Router) Receive(ctx context.Context) ([][]byte, error) {
	select {
	case m := <-r.in:
		return m, nil
	case <-r.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Send queues a message for the peer named by frames[0]. Frames must not be changed afterwards. It returns ErrNoPeer if no peer has that
// identity. It never waits: a peer that does not read its answers is no longer read, and is dropped.
func (r *Router) Send(frames [][]byte) error {
	if len(frames) == 0 {
		return ErrNoPeer
	}
	r.mu.Lock()
	p := r.peers[string(frames[0])]
	r.mu.Unlock()
	if p == nil {
		return ErrNoPeer
	}
	if err := p.put(outgoing{frames: frames[1:]}); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// Close drains what is queued (at most Linger), closes every connection and waits for their goroutines.
func (r *Router) Close() error { r.close(); return nil }

// routerPeers is the Router as its peers see it.
type routerPeers struct{ *Router }

// up enters the peer by its identity. The newest connection of an identity takes over: a client that comes back after its
// connection broke must not wait until we notice. Identities are no secret, so any local process could do it; it can read
// nothing that is signed with a key it lacks, but it could keep answers from a client, therefore it is logged: the first, second,
// fourth … time.
func (r *routerPeers) up(p *peer) error {
	old := r.enter(p)
	if old == nil {
		return nil
	}
	old.drop(net.ErrClosed)
	if n := r.moved.Add(1); n&(n-1) == 0 { // not under the lock: a log that nobody reads must not stop answers
		r.log.Warn("a new connection takes over an identity", "identity", fmt.Sprintf("%q", p.identity), "so_far", n)
	}
	return nil
}

// enter makes p the peer of its identity and returns the one that was.
func (r *routerPeers) enter(p *peer) (old *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.identity == "" {
		name := make([]byte, 5) // as libzmq: a zero byte, which no peer may choose, and a number
		binary.BigEndian.PutUint32(name[1:], r.names.Add(1))
		p.identity = string(name)
	}
	old = r.peers[p.identity]
	r.peers[p.identity] = p
	return old
}

func (r *routerPeers) down(p *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.peers[p.identity] == p {
		delete(r.peers, p.identity)
	}
}

func (r *routerPeers) received(p *peer, frames [][]byte) error {
	if !p.signed.Load() && r.signed != nil && r.signed(frames) {
		p.settle(r.clients)
	}
	m := make([][]byte, 0, len(frames)+1)
	m = append(append(m, []byte(p.identity)), frames...)
	select {
	case r.in <- m:
		return nil
	case <-p.gone:
		return p.cause
	case <-r.done:
		return net.ErrClosed
	}
}

func (*routerPeers) command(*peer, string, []byte) error { return nil } // none concerns a ROUTER
