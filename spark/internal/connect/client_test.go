package connect_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"cancha/spark/internal/connect"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

func TestSession(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Version: "4.2.0", Token: "a;b=c", Settings: map[string]string{"spark.app.name": "trial"}})
	c := dial(t, s, "token=a;b=c", "user_id=ana", "user_agent=nb", "x-databricks-cluster-id=7")
	if c.Version() != "4.2.0" || len(c.Session()) != 36 {
		t.Errorf("got version %q, session %q", c.Version(), c.Session())
	}
	if got := s.Header("x-databricks-cluster-id"); got != "7" {
		t.Errorf("got cluster %q", got)
	}
	contains(t, s.Header("user-agent"), "nb cancha")

	set := func(o *protocol.ConfigRequest_Operation) *protocol.ConfigResponse {
		t.Helper()
		r, err := c.Config(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	on := "true"
	set(&protocol.ConfigRequest_Operation{Of: &protocol.ConfigRequest_Operation_Set{Set: &protocol.ConfigRequest_Set{
		Pairs: []*protocol.Pair{{Key: "spark.rapids.sql.enabled", Value: &on}}}}})
	r := set(&protocol.ConfigRequest_Operation{Of: &protocol.ConfigRequest_Operation_GetOption{GetOption: &protocol.ConfigRequest_Get{
		Keys: []string{"spark.rapids.sql.enabled", "spark.app.name", "none"}}}})
	if p := r.GetPairs(); len(p) != 3 || p[0].GetValue() != "true" || p[1].GetValue() != "trial" || p[2].Value != nil {
		t.Errorf("got settings %v", p)
	}

	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := c.Config(t.Context(), &protocol.ConfigRequest_Operation{})
	wantError(t, err, "Internal", "INVALID_HANDLE.SESSION_CLOSED", "connect again", "without session_id")
}

func TestExecute(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Execute: rows(100)})
	c := dial(t, s)
	wantRows(t, c, 100)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	ops := s.Operations(c.Session())
	if len(ops) != 1 || len(ops[0].Tags) != 1 || len(ops[0].ID) != 36 || !ops[0].Released || ops[0].Interrupted {
		t.Errorf("got operations %+v, want one with a tag, released as a whole", ops)
	}
}

// TestForgotten: while an operation runs, the server is told up to where it may forget.
func TestForgotten(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Execute: func(ctx context.Context, _ *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
		return errors.Join(rows(10)(ctx, nil, send), endless(ctx, nil, send))
	}})
	c := dial(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Execute(ctx, sql("select"), func(*protocol.ExecuteResponse) error { return nil }) })
	eventually(t, "11 responses are released", func() bool {
		ops := s.Operations(c.Session())
		return len(ops) == 1 && ops[0].Forgotten == 11
	})
	cancel()
	running.Wait()
}

// TestReattach: whatever becomes of the response streams, the rows come all, once and in order.
func TestReattach(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		fail     func(*connecttest.Server)
		execute  int // calls wanted
		reattach int
	}{
		{"none", func(*connecttest.Server) {}, 1, 0},
		{"cut", func(s *connecttest.Server) { s.Cut(3, 0, 50) }, 1, 3},
		{"cut before the first", func(s *connecttest.Server) { s.Cut(0) }, 1, 1},
		{"cut before the end", func(s *connecttest.Server) { s.Cut(100) }, 1, 1},
		{"ended", func(s *connecttest.Server) { s.End(7, 1, 0, 90) }, 1, 4},
		{"preempted", func(s *connecttest.Server) { s.Preempt(7) }, 1, 1},
		{"refused", func(s *connecttest.Server) { s.Refuse(2) }, 3, 2},
		{"refused, then cut", func(s *connecttest.Server) { s.Refuse(1); s.Cut(1) }, 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := connecttest.Start(t, connecttest.Config{Execute: rows(100)})
			c := dial(t, s)
			test.fail(s)
			wantRows(t, c, 100)
			if e, r := s.Calls("ExecutePlan"), s.Calls("ReattachExecute"); e != test.execute || r != test.reattach {
				t.Errorf("got %d ExecutePlan and %d ReattachExecute, want %d and %d", e, r, test.execute, test.reattach)
			}
		})
	}
}

// TestDropped: the connection itself breaks off in the middle.
func TestDropped(t *testing.T) {
	var s *connecttest.Server
	s = connecttest.Start(t, connecttest.Config{Execute: func(ctx context.Context, r *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
		send(row(0))
		s.Drop()
		send(row(1))
		return nil
	}})
	wantRows(t, dial(t, s), 2)
}

// TestMany: operations at the same time, with streams that break, stay apart.
func TestMany(t *testing.T) {
	t.Parallel()
	s := connecttest.Start(t, connecttest.Config{Execute: rows(50)})
	c := dial(t, s)
	s.Cut(1, 2, 3, 4, 5, 6, 7, 8)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := execute(t, c); err != nil || len(got) != 50 || got[49] != 49 {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	all.Wait()
}

// TestUnknown: what a newer server adds is passed over.
func TestUnknown(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Execute: func(ctx context.Context, _ *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
		r := row(0)
		r.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 900, protowire.BytesType), "new"))
		r.GetArrow().ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 901, protowire.VarintType), 1))
		send(r)
		newer := new(protocol.ExecuteResponse) // a kind of response that is not known here
		newer.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 902, protowire.BytesType), "new"))
		send(newer)
		send(row(1))
		return nil
	}})
	wantRows(t, dial(t, s), 2)
}

func TestInterrupt(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Execute: endless})
	c := dial(t, s)
	because := errors.New("because")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := c.Execute(ctx, sql("select"), func(*protocol.ExecuteResponse) error { cancel(because); return nil })
	if !errors.Is(err, because) {
		t.Errorf("got %v, want the context's error", err)
	}
	ops := s.Operations(c.Session())
	if len(ops) != 1 || !ops[0].Interrupted || ops[0].Running {
		t.Errorf("got %+v, want one that was interrupted, and has ended", ops)
	}
	if err := c.Execute(ctx, sql("select"), nil); !errors.Is(err, because) || len(s.Operations(c.Session())) != 1 {
		t.Errorf("got %v, want that nothing starts when the context has ended", err)
	}
}

// TestInterruptEarly: an operation whose request is still on its way when the context ends is ended too.
func TestInterruptEarly(t *testing.T) {
	t.Parallel()
	s := connecttest.Start(t, connecttest.Config{Execute: endless})
	c := dial(t, s)
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		if err := c.Execute(ctx, sql("select"), func(*protocol.ExecuteResponse) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	for _, op := range s.Operations(c.Session()) {
		if op.Running {
			t.Errorf("it runs on: %+v", op)
		}
	}
}

// TestSweep: what an operation may begin after it was interrupted is cancelled, twice, and once before the session's end; that of others is left alone.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := connecttest.Start(t, connecttest.Config{Execute: endless})
	full := errors.New("full")
	interrupted := func(c *connect.Client) {
		if err := c.Execute(t.Context(), sql("select"), func(*protocol.ExecuteResponse) error { return full }); err != full {
			t.Errorf("got %v, want %v itself", err, full)
		}
	}
	swept := func(c *connect.Client) int { return s.Operations(c.Session())[0].Swept }
	one, two := dial(t, s, "patience=400ms"), dial(t, s, "patience=400ms")
	interrupted(one)
	eventually(t, "it was swept twice", func() bool { return swept(one) == 2 })
	interrupted(two)
	if err := two.Release(t.Context()); err != nil || swept(two) != 1 {
		t.Errorf("got %v, and that it was swept %d times before the session's end, want once", err, swept(two))
	}
	whole := connecttest.Start(t, connecttest.Config{Execute: rows(3)})
	three := dial(t, whole, "patience=80ms")
	wantRows(t, three, 3)
	if err := three.Release(t.Context()); err != nil || whole.Operations(three.Session())[0].Swept != 0 {
		t.Errorf("got %v, and %+v", err, whole.Operations(three.Session()))
	}
}

// TestInterruptTags: all operations of a session, from elsewhere.
func TestInterruptTags(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Execute: endless})
	c := dial(t, s)
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.Execute(t.Context(), sql("select"), func(*protocol.ExecuteResponse) error { close(started); return nil })
	}()
	<-started
	if ids, err := c.Interrupt(t.Context(), "another tag"); err != nil || len(ids) != 0 {
		t.Errorf("got %v, %v, want none", ids, err)
	}
	if ids, err := c.Interrupt(t.Context(), ""); err != nil || len(ids) != 1 {
		t.Errorf("got %v, %v, want one", ids, err)
	}
	wantError(t, <-ended, "Internal", "OPERATION_CANCELED", "run it again")
}

// TestRefusal: the error of who takes the rows in comes back as it is, and the operation ends on the server.
func TestRefusal(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Execute: endless})
	c := dial(t, s)
	full := errors.New("full")
	if err := c.Execute(t.Context(), sql("select"), func(*protocol.ExecuteResponse) error { return full }); err != full {
		t.Errorf("got %v, want %v itself", err, full)
	}
	eventually(t, "it has ended", func() bool {
		ops := s.Operations(c.Session())
		return len(ops) == 1 && ops[0].Interrupted && !ops[0].Running
	})
}

// TestPanic: the operation ends on the server too where who takes the rows in panics, as a function of a cell does at an interrupt.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := connecttest.Start(t, connecttest.Config{Execute: endless})
	for _, interrupted := range []bool{false, true} {
		c := dial(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		raised := func() (raised any) {
			defer func() { raised = recover() }()
			c.Execute(ctx, sql("select"), func(*protocol.ExecuteResponse) error {
				if interrupted {
					cancel()
				}
				panic("enough")
			})
			return nil
		}()
		cancel()
		if raised != "enough" {
			t.Errorf("interrupted %v: got %v, want the panic as it was", interrupted, raised)
		}
		if ops := s.Operations(c.Session()); len(ops) != 1 || !ops[0].Interrupted {
			t.Errorf("interrupted %v: got %+v, want one that was interrupted", interrupted, ops)
		}
	}
}

func TestAnalyze(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Analyze: func(r *protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error) {
		if r.GetIsStreaming() == nil || r.GetUser().GetId() != "ana" || r.GetSessionId() == "" || r.GetServerSessionId() == "" {
			return nil, connecttest.Failure(codes.InvalidArgument, "TRIAL", "00000", r.String())
		}
		return &protocol.AnalyzeResponse{Of: &protocol.AnalyzeResponse_IsStreaming_{IsStreaming: &protocol.AnalyzeResponse_IsStreaming{IsStreaming: true}}}, nil
	}})
	c := dial(t, s, "user_id=ana")
	r, err := c.Analyze(t.Context(), &protocol.AnalyzeRequest{Of: &protocol.AnalyzeRequest_IsStreaming{IsStreaming: &protocol.AnalyzeRequest_OfPlan{}}})
	if err != nil || !r.GetIsStreaming().GetIsStreaming() {
		t.Errorf("got %v, %v", r, err)
	}
}
