package kernel

import (
	"sync"
	"time"
)

// queueLimit bounds the bytes of the requests that wait on one shell; then the main shell's channel is not read until one is done,
// and a subshell refuses. requestOverhead is what keeping a request costs beside its bytes, roughly.
const (
	queueLimit      = 256 << 20
	requestOverhead = 1 << 10
)

// A cell that fails aborts what was sent before anybody could know. A front end that runs all cells sends them in a burst, and the
// first may have failed before the last is here: so what comes within settleQuiet of the one before belongs to it, at most for
// settleLimit.
const (
	settleQuiet = 2 * time.Millisecond
	settleLimit = 50 * time.Millisecond
)

// requestQueue holds the requests of a shell that wait for their turn.
type requestQueue struct {
	mu      sync.Mutex
	changed *sync.Cond
	waiting []*request
	bytes   int // of those that wait
	came    int // requests, in all
	closed  bool
}

func newRequestQueue() *requestQueue {
	q := &requestQueue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func (r *request) cost() int {
	n := requestOverhead + len(r.RawHeader) + len(r.Content)
	for _, b := range r.Buffers {
		n += len(b)
	}
	return n
}

// push adds a request; while the queue is full it waits, or with wait false adds nothing. It reports false also once the queue is
// closed. An empty queue takes a request of any size.
func (q *requestQueue) push(r *request, wait bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	full := func() bool { return len(q.waiting) > 0 && q.bytes+r.cost() > queueLimit }
	for wait && full() && !q.closed {
		q.changed.Wait()
	}
	if q.closed || full() {
		return false
	}
	q.waiting = append(q.waiting, r)
	q.bytes += r.cost()
	q.came++
	q.changed.Broadcast()
	return true
}

// rest returns the requests that were waiting when the queue was closed.
func (q *requestQueue) rest() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	rs := q.waiting
	q.waiting, q.bytes = nil, 0
	return rs
}

// pop returns the next request, waiting for one; ok is false once the queue is closed.
func (q *requestQueue) pop() (r *request, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.changed.Wait()
	}
	if q.closed {
		return nil, false
	}
	r = q.waiting[0]
	q.waiting = q.waiting[1:]
	q.bytes -= r.cost()
	q.changed.Broadcast()
	return r, true
}

// abort marks the execute requests that wait, and those on their way: a cell has failed and they were sent by somebody who could
// not know.
func (q *requestQueue) abort() {
	q.settle()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.waiting {
		if r.Header.Type == "execute_request" {
			r.aborted = true
		}
	}
}

// settle waits until no more comes.
func (q *requestQueue) settle() {
	before := -1
	for limit := time.Now().Add(settleLimit); time.Now().Before(limit); time.Sleep(settleQuiet) {
		q.mu.Lock()
		came, closed := q.came, q.closed
		q.mu.Unlock()
		if closed || came == before {
			return
		}
		before = came
	}
}

func (q *requestQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
