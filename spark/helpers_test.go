package spark

import (
	"context"
	"sync"
	"testing"

	"cancha/spark/internal/columns"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

// server is a fake with the plans that it was sent, and a session on it.
type server struct {
	*connecttest.Server
	*Session

	mu    sync.Mutex
	plans []*protocol.Plan
	last  string // the session of the last plan
}

// answers make the responses to a plan.
type answers func(ctx context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error

// start starts a fake and connects. The files of sessions are in a folder of the test's own.
func start(t *testing.T, c Config, fake connecttest.Config, answer answers) *server {
	t.Helper()
	own(t)
	s := startFake(t, fake, answer)
	c.Master = s.URL("patience=2s")
	session, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	s.Session = session
	return s
}

// startFake starts a fake, and nothing that uses it.
func startFake(t *testing.T, fake connecttest.Config, answer answers) *server {
	t.Helper()
	s := &server{}
	fake.Execute = func(ctx context.Context, r *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
		s.mu.Lock()
		s.plans, s.last = append(s.plans, r.Plan), r.SessionId
		s.mu.Unlock()
		if answer == nil {
			return nil
		}
		return answer(ctx, r.Plan, send)
	}
	s.Server = connecttest.Start(t, fake)
	return s
}

// session is the one in which the last plan was.
func (s *server) session() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// own gives the test a cache of its own.
func own(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir()) // where the cache is on macOS
}

// sent is the plan that came last.
func (s *server) sent() *protocol.Plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.plans) == 0 {
		return nil
	}
	return s.plans[len(s.plans)-1]
}

// rows answers with these columns.
func rows(t *testing.T, send func(*protocol.ExecuteResponse), c ...columns.Column) error {
	t.Helper()
	b := &columns.Batch{Columns: c}
	switch v := c[0].Values.(type) {
	case []int64:
		b.Rows = len(v)
	case []string:
		b.Rows = len(v)
	case []any:
		b.Rows = len(v)
	}
	data, err := columns.Write(b)
	if err != nil {
		return err
	}
	send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Arrow{Arrow: &protocol.ArrowBatch{Rows: int64(b.Rows), Data: data}}})
	return nil
}
