package zmq

import (
	"errors"
	"sync"
	"time"
)

// errPeerGone reports that the peer has left or was dropped.
var errPeerGone = errors.New("the peer is gone")

// errStalled reports a peer that was dropped because it does not read.
var errStalled = errors.New("the peer does not read")

// outgoing is a message, or a command when it has a name, on its way to a peer.
type outgoing struct {
	frames  [][]byte
	command string
}

// size returns the bytes that o takes on the wire.
func (o outgoing) size() int {
	n := 0
	if o.command != "" {
		n = 1 + len(o.command)
	}
	for _, f := range o.frames {
		n += len(f) + 2
		if len(f) > 255 {
			n += 7
		}
	}
	return n
}

// queue holds what waits to be written to one peer. Bytes count as waiting until the network has taken them.
type queue struct {
	limit int

	mu      sync.Mutex
	items   []outgoing
	waiting int           // bytes
	written int64         // bytes, since the beginning
	closed  bool          // nothing is taken in any more
	changed chan struct{} // closed and replaced at every change
}

func newQueue(limit int) *queue { return &queue{limit: limit, changed: make(chan struct{})} }

func (q *queue) signal() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// offer takes o in unless the queue is full; a message larger than the whole queue is taken by an empty one. It never waits.
func (q *queue) offer(o outgoing) (ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := o.size()
	switch {
	case q.closed:
		return false, errPeerGone
	case q.waiting > 0 && q.waiting+size > q.limit:
		return false, nil
	}
	q.items = append(q.items, o)
	q.waiting += size
	q.signal()
	return true, nil
}

// put takes o in, waiting for room for as long as the peer takes rate bytes in each period; else errStalled.
func (q *queue) put(o outgoing, period time.Duration, rate int64) error {
	mark, deadline := q.progress(), time.NewTimer(period)
	defer deadline.Stop()
	for {
		q.mu.Lock()
		changed := q.changed
		q.mu.Unlock()
		if ok, err := q.offer(o); ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-deadline.C:
			now := q.progress()
			if now-mark < rate {
				return errStalled
			}
			mark = now
			deadline.Reset(period)
		}
	}
}

func (q *queue) progress() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.written
}

// take returns all that waits, waiting for something; ok is false once the queue is closed and empty.
func (q *queue) take() (items []outgoing, ok bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			items, q.items = q.items, nil
			q.mu.Unlock()
			return items, true
		}
		closed, changed := q.closed, q.changed
		q.mu.Unlock()
		if closed {
			return nil, false
		}
		<-changed
	}
}

// wrote tells the queue that the network has taken n bytes.
func (q *queue) wrote(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting -= n
	q.written += int64(n)
	q.signal()
}

// close stops taking in. With drop, what waits is thrown away.
func (q *queue) close(drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if drop {
		q.items, q.waiting = nil, 0
	}
	q.signal()
}

// drained waits until nothing waits any more, or the channel ends.
func (q *queue) drained(end <-chan time.Time) {
	for {
		q.mu.Lock()
		waiting, changed := q.waiting, q.changed
		q.mu.Unlock()
		if waiting <= 0 {
			return
		}
		select {
		case <-changed:
		case <-end:
			return
		}
	}
}
