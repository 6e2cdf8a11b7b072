package connect_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cancha/spark/internal/connect"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

// patience is what a client has in the tests where a server fails for good.
const patience = 160 * time.Millisecond

// row is a response with one row, which is a number.
func row(n int) *protocol.ExecuteResponse {
	return &protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Arrow{Arrow: &protocol.ArrowBatch{Rows: 1, Data: []byte{byte(n)}}}}
}

// rows answers every plan with the rows 0 to n-1.
func rows(n int) func(context.Context, *protocol.ExecuteRequest, func(*protocol.ExecuteResponse)) error {
	return func(_ context.Context, _ *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
		for i := range n {
			send(row(i))
		}
		return nil
	}
}

// endless answers every plan with one row, and then runs until it is ended.
func endless(ctx context.Context, _ *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
	send(row(0))
	<-ctx.Done()
	return ctx.Err()
}

func sql(text string) *protocol.Plan {
	return &protocol.Plan{Of: &protocol.Plan_Root{Root: &protocol.Relation{Of: &protocol.Relation_Sql{Sql: &protocol.SQL{Query: text}}}}}
}

func target(t *testing.T, text string) connect.Target {
	t.Helper()
	at, err := connect.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// dial connects to a test's server, and hangs up at the end of the test.
func dial(t *testing.T, s *connecttest.Server, pairs ...string) *connect.Client {
	t.Helper()
	c, err := connect.Dial(t.Context(), target(t, s.URL(pairs...)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// execute returns the rows that a plan gives.
func execute(t *testing.T, c *connect.Client) (got []int, err error) {
	t.Helper()
	err = c.Execute(t.Context(), sql("select"), func(r *protocol.ExecuteResponse) error {
		if b := r.GetArrow(); b != nil {
			got = append(got, int(b.GetData()[0]))
		}
		return nil
	})
	return got, err
}

// wantRows runs a plan, which has to give 0 to n-1.
func wantRows(t *testing.T, c *connect.Client, n int) {
	t.Helper()
	got, err := execute(t, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		if x != i {
			t.Fatalf("got %v, want 0 to %d", got, n-1)
		}
	}
	if len(got) != n {
		t.Fatalf("got %d rows, want %d", len(got), n)
	}
}

// wantError checks what an error is and says.
func wantError(t *testing.T, err error, code, class string, parts ...string) {
	t.Helper()
	var e *connect.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if e.Code != code || e.Class != class {
		t.Errorf("got code %q and class %q, want %q and %q: %v", e.Code, e.Class, code, class, err)
	}
	contains(t, err.Error(), parts...)
}

// eventually waits for what another goroutine does, of which no signal comes.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
