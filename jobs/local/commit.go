package local

import (
	"errors"
	"sync"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/queue"
)

// change is one thing that the file is to know, and the index when it does.
type change interface {
	// write puts it into a transaction. queue.ErrUnknownQueue refuses this change, of which nothing is written; another error fails all of
	// the transaction.
	write(tx *disk.Tx) error
	// apply takes it into the index when it is on the disk, in the order of the file; the broker's mu is held.
	apply()
	// undo tells that it has not come into the file; the broker's mu is held.
	undo()
	// size is about how many bytes it has.
	size() int
}

// request is a change that waits to be written, with who waits for it.
type request struct {
	change
	done chan error // with room for one
}

// The most that one transaction takes: whoever comes first does not wait for all, and a transaction lies in memory.
const (
	maxChanges = 4096
	maxBytes   = 32 << 20
)

// linger is how long notes wait for a change that somebody waits for, to go along: of a message that is settled within that time none is written.
const linger = 5 * time.Millisecond

// committer writes the changes that have come while the one transaction was written in the next one: so many share an fsync when many are
// in flight, and one alone waits for nothing.
type committer struct {
	file  *file
	index *sync.Mutex // the broker's mu

	mu      sync.Mutex // after the broker's, where both are held
	waiting []request
	first   time.Time // when the first of them came
	urgent  bool      // they are not notes alone
	closed  bool
	wake    chan struct{} // with room for one
}

func newCommitter(f *file, index *sync.Mutex) *committer {
	return &committer{file: f, index: index, wake: make(chan struct{}, 1)}
}

// submit hands a change over. What comes out of the channel is nil when the change is on the disk and in the index.
func (c *committer) submit(ch change) <-chan error {
	r := request{ch, make(chan error, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		r.done <- queue.ErrClosed
		return r.done
	}
	if c.waiting == nil {
		c.first = time.Now()
	}
	c.waiting = append(c.waiting, r)
	_, isNote := ch.(*note)
	c.urgent = c.urgent || !isNote
	c.signal()
	return r.done
}

func (c *committer) signal() {
	select {
	case c.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// close has run end when all is written that was submitted before.
func (c *committer) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.signal()
}

// run writes until close.
func (c *committer) run() {
	for {
		batch, wait, closed := c.take()
		switch {
		case len(batch) > 0:
			c.commit(batch)
		case closed:
			return
		case wait > 0:
			c.sleep(wait)
		default:
			<-c.wake
		}
	}
}

func (c *committer) sleep(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.wake:
	case <-timer.C:
	}
}

// take returns what is to be written now; wait is for how long nothing is, though something waits.
func (c *committer) take() (batch []request, wait time.Duration, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait = linger - time.Since(c.first); len(c.waiting) > 0 && !c.urgent && !c.closed && wait > 0 {
		return nil, wait, false
	}
	n, bytes := 0, 0
	for n < len(c.waiting) && n < maxChanges && (n == 0 || bytes+c.waiting[n].size() <= maxBytes) {
		bytes += c.waiting[n].size()
		n++
	}
	batch = c.waiting[:n:n]
	if c.waiting = c.waiting[n:]; len(c.waiting) == 0 {
		c.waiting, c.urgent = nil, false
	}
	return batch, 0, c.closed
}

// commit writes a batch. Where there is no room for all of it, what publishes is refused, and the rest, which makes room, is tried once more.
func (c *committer) commit(batch []request) {
	refused, err := c.file.write(batch, 0)
	if !errors.Is(err, queue.ErrFull) {
		c.tell(batch, refused, err)
		return
	}
	var publishing, others []request
	for _, r := range batch {
		if _, is := r.change.(*publish); is {
			publishing = append(publishing, r)
		} else {
			others = append(others, r)
		}
	}
	c.tell(publishing, nil, err)
	if len(others) > 0 {
		refused, err = c.file.write(others, disk.Reserve)
		c.tell(others, refused, err)
	}
}

// tell takes a batch into the index, or tells that it has failed.
func (c *committer) tell(batch []request, refused []error, err error) {
	c.index.Lock()
	for i, r := range batch {
		if err == nil && refused[i] == nil {
			r.apply()
		} else {
			r.undo()
		}
	}
	c.index.Unlock()
	for i, r := range batch {
		if err == nil {
			r.done <- refused[i]
		} else {
			r.done <- err
		}
	}
}
