package zmq

import (
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

// errCrowded reports a peer whose message stood still longest when those of all strangers together became too large.
var errCrowded = errors.New("its message is not whole or not taken yet, and others need the room")

// arrivals counts what has come of large messages that are not whole, or not taken yet. What it guards in a peer belongs to the arrivals
// that the peer has now, see [peer.settle].
type arrivals struct {
	limit int64

	mu    sync.Mutex
	bytes int64
	peers []*peer // that have begun a message
}

// count notes that so many bytes of a peer's message have come; with 0 it is taken, or the peer is gone. The lock is held.
func (a *arrivals) count(p *peer, bytes int64) {
	if p.arrived == 0 && bytes > 0 {
		a.peers = append(a.peers, p)
	}
	a.bytes += bytes - p.arrived
	p.arrived = bytes
	if bytes == 0 {
		p.moved = 0
		a.peers = slices.DeleteFunc(a.peers, func(other *peer) bool { return other == p })
	}
}

// strangers are peers of all sockets that have it in common, as long as nothing signed has come from them. Above the limit the peer goes
// whose message has stood still longest: what is only held makes room for what comes.
type strangers struct{ arrivals }

func (s *strangers) set(p *peer, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.crowded {
		return
	}
	s.count(p, bytes)
	if bytes-p.moved >= stride { // a byte now and then is no progress
		p.moved = bytes
		s.peers = append(slices.DeleteFunc(s.peers, func(other *peer) bool { return other == p }), p)
	}
	for s.bytes > s.limit {
		still := s.peers[0]
		still.crowded = true
		still.drop(errCrowded)
		s.count(still, 0)
	}
}

func (s *strangers) wait(*peer) bool { return false }

// clients are peers of a Router from which something signed has come. No stranger counts here, and nobody is ended: above the limit all
// wait but the one that began first.
type clients struct {
	arrivals
	changed chan struct{} // closed and replaced when there is more room
}

func newClients(limit int64) *clients {
	return &clients{arrivals: arrivals{limit: limit}, changed: make(chan struct{})}
}

func (c *clients) set(p *peer, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.bytes
	c.count(p, bytes)
	if c.bytes < before {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// wait waits until more of p's message may come, or p is gone, and tells whether it had to.
func (c *clients) wait(p *peer) (waited bool) {
	for {
		c.mu.Lock()
		free, changed := c.bytes <= c.limit || c.peers[0] == p, c.changed
		c.mu.Unlock()
		if free {
			return waited
		}
		waited = true
		select {
		case <-changed:
		case <-p.gone:
			return waited
		}
	}
}

// litter counts what messages have taken and nobody needs any more. The collector would come for it when there is as much again as is in
// use, and give it to the system minutes later.
type litter struct{ bytes atomic.Int64 }

// noticeable is how much of it is collected at once.
const noticeable = 32 << 20

func (l *litter) add(bytes int64) {
	if n := l.bytes.Add(bytes); n >= noticeable && l.bytes.CompareAndSwap(n, 0) {
		debug.FreeOSMemory()
	}
}
