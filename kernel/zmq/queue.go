package zmq

import (
	"errors"
	"net"
	"sync"
	"time"
)

// errPeerGone reports that the peer has left or was dropped.
var errPeerGone = errors.New("the peer is gone")

// errStalled reports a peer that does not read.
var errStalled = errors.New("the peer does not read")

// outgoing is a message, or a command when it has a name, on its way to a peer.
type outgoing struct {
	frames  [][]byte
	command string
}

// size returns the bytes that o takes on the wire, where each frame takes so many more than it has.
func (o outgoing) size(perFrame int) int {
	n := 0
	if o.command != "" {
		n = 1 + len(o.command)
	}
	for _, f := range o.frames {
		n += len(f) + perFrame + 2
		if len(f)+perFrame > 255 {
			n += 7
		}
	}
	return n
}

// overhead returns roughly what o costs in memory beside its bytes, which for many small messages is most of it.
func (o outgoing) overhead() int { return 96 + 48*len(o.frames) }

// queue holds what waits to be written to one peer. Bytes count as waiting until the network has taken them. Putting in never
// waits. Above its limit, and with more than two messages, the queue is full: then its peer has to take rate bytes in every period,
// or it is stalled.
type queue struct {
	perFrame int // bytes of a frame on the wire beside its own, header aside
	limit    int
	period   time.Duration
	rate     int64
	stalled  func() // called by the watch
	watch    *time.Timer

	mu       sync.Mutex
	items    []outgoing
	waiting  int           // bytes, with overhead
	largest  int           // message since the queue was empty, in bytes, with overhead
	written  int64         // bytes, since the beginning
	mark     int64         // written when the watch was set
	watching bool          // the queue is full
	closed   bool          // nothing is taken in any more
	changed  chan struct{} // closed and replaced at every change
}

func newQueue(perFrame, limit int, period time.Duration, rate int64, stalled func()) *queue {
	q := &queue{perFrame: perFrame, limit: limit, period: period, rate: rate, stalled: stalled, changed: make(chan struct{})}
	q.watch = time.AfterFunc(time.Hour, q.judge)
	q.watch.Stop()
	return q
}

func (q *queue) signal() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// put takes o in. It fails with errStalled where more than twice the limit waits, the largest message aside: who puts in is to
// look at [queue.room] before it comes to that.
func (q *queue) put(o outgoing) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	cost := o.size(q.perFrame) + o.overhead()
	switch {
	case q.closed:
		return errPeerGone
	case q.waiting > 2*q.limit+q.largest:
		return errStalled
	}
	q.items = append(q.items, o)
	q.waiting += cost
	q.largest = max(q.largest, cost)
	if q.full() && !q.watching {
		q.watching, q.mark = true, q.written
		q.watch.Reset(q.period)
	}
	q.signal()
	return nil
}

// full tells whether more waits than the limit and than two messages: a large one may take its time.
func (q *queue) full() bool { return q.waiting > max(q.limit, 2*q.largest) }

// judge looks whether a full queue's peer has taken enough since the last time.
func (q *queue) judge() {
	if q.standsStill() {
		q.stalled()
	}
}

func (q *queue) standsStill() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed || !q.full():
		q.watching = false
		return false
	case q.written-q.mark < q.rate:
		return true
	}
	q.mark = q.written
	q.watch.Reset(q.period)
	return false
}

// room waits until no more than so many bytes wait, or nothing will ever again. It fails when end is closed, and with errStalled
// where the peer has not taken rate bytes in a period.
func (q *queue) room(bytes int, end <-chan struct{}) error {
	tick := time.NewTicker(q.period)
	defer tick.Stop()
	var mark int64
	for first := true; ; first = false {
		q.mu.Lock()
		free, written, changed := q.closed || q.waiting <= bytes, q.written, q.changed
		q.mu.Unlock()
		if first {
			mark = written
		}
		if free {
			return nil
		}
		select {
		case <-changed:
		case <-end:
			return net.ErrClosed
		case <-tick.C:
			if written-mark < q.rate {
				return errStalled
			}
			mark = written
		}
	}
}

// behind tells whether more than so many bytes wait.
func (q *queue) behind(bytes int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed && q.waiting > bytes
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

// begun tells the queue that o, which take has returned, is being written: its memory will soon be free, its bytes still wait.
func (q *queue) begun(o outgoing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting -= o.overhead()
}

// wrote tells the queue that the network has taken n bytes.
func (q *queue) wrote(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting -= n
	q.written += int64(n)
	if q.waiting <= 0 {
		q.largest = 0
	}
	q.signal()
}

// close stops taking in. With drop, what waits is thrown away.
func (q *queue) close(drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.watch.Stop()
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
