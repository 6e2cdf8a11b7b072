package connecttest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"

	"cancha/spark/internal/protocol"
)

// session is what a server keeps of one.
type session struct {
	closed     bool
	settings   map[string]string
	operations map[string]*operation
}

func (x *session) end() {
	for _, op := range x.operations {
		op.cancel()
	}
}

func clone(m map[string]string) map[string]string {
	c := maps.Clone(m)
	if c == nil {
		c = map[string]string{}
	}
	return c
}

// session finds one, or makes it, by Spark's rules.
func (s *Server) session(id, observed string, create bool) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	switch {
	case x == nil && !create:
		return nil, Failure(codes.Internal, "INVALID_HANDLE.SESSION_NOT_FOUND", "HY000", "The handle "+id+" is invalid. Session not found.")
	case x == nil:
		x = &session{settings: clone(s.c.Settings), operations: map[string]*operation{}}
		s.sessions[id] = x
	case x.closed:
		return nil, Failure(codes.Internal, "INVALID_HANDLE.SESSION_CLOSED", "HY000", "The handle "+id+" is invalid. Session was closed.")
	}
	if observed != "" && observed != s.serverID(id) {
		return nil, Failure(codes.Internal, "INVALID_HANDLE.SESSION_CHANGED", "HY000",
			"The handle "+id+" is invalid. The existing Spark server driver instance has restarted. Please reconnect.")
	}
	return x, nil
}

// operation is one execution. A plan's function writes its responses, and any number of streams, one after another, reads them.
type operation struct {
	id     string
	tags   []string
	ctx    context.Context
	cancel context.CancelFunc

	mu          sync.Mutex
	changed     chan struct{} // closed at each change, and made anew
	responses   []*protocol.ExecuteResponse
	forgotten   int // how many of the first were released
	ended       bool
	err         error
	interrupted bool
	released    bool
	swept       int
	reader      int // the number of the stream that may read
}

func (op *operation) change(do func()) {
	op.mu.Lock()
	defer op.mu.Unlock()
	do()
	close(op.changed)
	op.changed = make(chan struct{})
}

// begin starts an operation's plan.
func (s *Server) begin(x *session, r *protocol.ExecuteRequest) *operation {
	op := &operation{id: r.GetOperationId(), tags: r.GetTags(), changed: make(chan struct{})}
	op.ctx, op.cancel = context.WithCancel(s.ctx)
	x.operations[op.id] = op
	server := s.serverID(r.GetSessionId())
	send := func(m *protocol.ExecuteResponse) {
		op.change(func() {
			m.SessionId, m.ServerSessionId, m.OperationId = r.GetSessionId(), server, op.id
			m.ResponseId = fmt.Sprintf("response-%d", len(op.responses)+1)
			op.responses = append(op.responses, m)
		})
	}
	s.runs.Go(func() {
		var err error
		if s.c.Execute != nil {
			err = s.c.Execute(op.ctx, r, send)
		}
		if err == nil {
			send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Complete{Complete: &protocol.Complete{}}})
		}
		op.change(func() { op.ended, op.err = true, op.outcome(err) })
	})
	return op
}

// outcome is an operation's error: Spark's for an interrupted one, whatever its plan's function returns.
func (op *operation) outcome(err error) error {
	if op.interrupted && err != nil {
		return Failure(codes.Internal, "OPERATION_CANCELED", "HY008", "Operation has been canceled.")
	}
	return err
}

// interrupt ends it.
func (op *operation) interrupt() {
	op.mu.Lock()
	op.interrupted = true
	op.mu.Unlock()
	op.cancel()
}

// sweep notes that another has come with the id of one that was released.
func (op *operation) sweep() (released bool) {
	op.change(func() {
		if released = op.released; released {
			op.swept++
		}
	})
	return released
}

// take makes the caller the one that reads.
func (op *operation) take() (number int) {
	op.change(func() { op.reader++; number = op.reader })
	return number
}

// Operation is what a server knows of one that was executed.
type Operation struct {
	ID          string
	Tags        []string
	Running     bool // its plan's function has not returned
	Interrupted bool
	Released    bool // as a whole
	Forgotten   int  // how many responses were released
	Swept       int  // how often another was executed under its id when it was released
}

// Operations returns those of a session, by their ids.
func (s *Server) Operations(session string) (all []Operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[session]
	if x == nil {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(x.operations)) {
		op := x.operations[id]
		op.mu.Lock()
		all = append(all, Operation{op.id, op.tags, !op.ended, op.interrupted, op.released, op.forgotten, op.swept})
		op.mu.Unlock()
	}
	return all
}
