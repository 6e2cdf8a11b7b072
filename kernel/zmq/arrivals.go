package zmq

import (
	"errors"
	"slices"
	"sync"
)

// errCrowded reports a peer whose message was the oldest unfinished one when all together became too large.
var errCrowded = errors.New("its message is not whole or not taken yet, and others need the room")

// arrivals counts what has come of large messages that are not whole, or not taken yet, of all peers of all sockets that share it.
// Above the limit the peer goes that began first: a client that means it sends the whole in moments.
type arrivals struct {
	limit int64

	mu    sync.Mutex
	bytes int64
	peers []*peer // that have begun, oldest first
}

// set tells that so many bytes of a peer's message have come; with 0 it is taken, or the peer is gone.
func (a *arrivals) set(p *peer, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.crowded {
		return
	}
	if p.arrived == 0 && bytes > 0 {
		a.peers = append(a.peers, p)
	}
	a.bytes += bytes - p.arrived
	p.arrived = bytes
	if bytes == 0 {
		a.remove(p)
	}
	for a.bytes > a.limit {
		oldest := a.peers[0]
		oldest.crowded = true
		oldest.drop(errCrowded)
		a.remove(oldest)
	}
}

func (a *arrivals) remove(p *peer) {
	a.bytes -= p.arrived
	p.arrived = 0
	a.peers = slices.DeleteFunc(a.peers, func(other *peer) bool { return other == p })
}
