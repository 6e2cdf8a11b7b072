package connect

import (
	"context"
	"sync"
	"time"

	"cancha/spark/internal/protocol"
)

// releases tells the server which responses it may forget, in the background: an operation does not wait for that. Of one operation only the latest
// is told, so a fast stream has one call under way and not one for each response. What cannot be told the server forgets by itself, in five minutes.
type releases struct {
	send   func(context.Context, *protocol.ReleaseExecuteRequest)
	cancel context.CancelFunc
	ended  chan struct{}
	wake   chan struct{}

	mu     sync.Mutex
	due    map[string]string // by operation: up to which response, "" for all
	closed bool
}

func newReleases(send func(context.Context, *protocol.ReleaseExecuteRequest)) *releases {
	ctx, cancel := context.WithCancel(context.Background())
	r := &releases{send: send, cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1), due: map[string]string{}}
	go func() {
		defer close(r.ended)
		r.run(ctx)
	}()
	return r
}

// until lets the server forget the responses of an operation up to one.
func (r *releases) until(operation, response string) { r.add(operation, response) }

// all lets it forget the operation.
func (r *releases) all(operation string) { r.add(operation, "") }

func (r *releases) add(operation, response string) {
	r.mu.Lock()
	if !r.closed {
		r.due[operation] = response
	}
	r.mu.Unlock()
	r.ring()
}

func (r *releases) ring() {
	select {
	case r.wake <- struct{}{}:
	default: // it is awake
	}
}

func (r *releases) run(ctx context.Context) {
	for {
		operation, response, closed := r.next()
		switch {
		case operation != "":
			r.send(ctx, request(operation, response))
		case closed:
			return
		default:
			select {
			case <-ctx.Done():
				return
			case <-r.wake:
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// next takes one that is due.
func (r *releases) next() (operation, response string, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for operation, response := range r.due {
		delete(r.due, operation)
		return operation, response, r.closed
	}
	return "", "", r.closed
}

func request(operation, response string) *protocol.ReleaseExecuteRequest {
	q := &protocol.ReleaseExecuteRequest{OperationId: operation}
	if response == "" {
		q.Of = &protocol.ReleaseExecuteRequest_All_{All: &protocol.ReleaseExecuteRequest_All{}}
	} else {
		q.Of = &protocol.ReleaseExecuteRequest_Until_{Until: &protocol.ReleaseExecuteRequest_Until{ResponseId: response}}
	}
	return q
}

// close takes no more, gives what is due some time, and ends.
func (r *releases) close(patience time.Duration) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.ring()
	defer time.AfterFunc(patience, r.cancel).Stop()
	<-r.ended
	r.cancel()
}

// release tells one. It is tried once: the next one says more.
func (c *Client) release(ctx context.Context, q *protocol.ReleaseExecuteRequest) {
	c.sign(q)
	ctx, cancel := context.WithTimeout(ctx, c.target.Patience)
	defer cancel()
	c.conn.Invoke(c.outgoing(ctx), service+"ReleaseExecute", q, new(protocol.ReleaseExecuteResponse))
}
