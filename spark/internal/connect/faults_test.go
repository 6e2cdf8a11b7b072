package connect_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cancha/spark/internal/connect"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

// impatient is a target for which a client waits only shortly: one that would wait for a server that is away.
func impatient(at connect.Target, patience time.Duration) connect.Target {
	at.Patience = patience
	return at
}

// refusedDial connects to where that cannot be done, and returns the error.
func refusedDial(t *testing.T, at connect.Target) error {
	t.Helper()
	start := time.Now()
	c, err := connect.Dial(t.Context(), at)
	if err == nil {
		c.Close()
		t.Fatal("connected")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the error took %v", took)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the token: %v", err)
	}
	return err
}

func TestToken(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Token: "right"})
	for _, pairs := range [][]string{nil, {"token=secret"}} {
		wantError(t, refusedDial(t, target(t, s.URL(pairs...))), "Unauthenticated", "", "/;token=TOKEN")
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, ca := connecttest.Certify(t, "127.0.0.1", time.Now().Add(time.Hour))
	s := connecttest.Start(t, connecttest.Config{Certificate: certificate, Token: "right", Execute: rows(3)})
	c := dial(t, s, "ca="+ca, "token=right")
	wantRows(t, c, 3)

	wantError(t, refusedDial(t, target(t, s.URL("use_ssl=true", "token=secret"))), "Unavailable", "", "authority", ";ca=")
	wantError(t, refusedDial(t, impatient(target(t, s.URL("token=secret")), time.Second)), "Unavailable", "", "use_ssl=true")

	other, ca := connecttest.Certify(t, "elsewhere", time.Now().Add(time.Hour))
	s = connecttest.Start(t, connecttest.Config{Certificate: other})
	wantError(t, refusedDial(t, target(t, s.URL("ca="+ca))), "Unavailable", "", "the name that is in its certificate")

	old, ca := connecttest.Certify(t, "127.0.0.1", time.Now().Add(-time.Hour))
	s = connecttest.Start(t, connecttest.Config{Certificate: old})
	wantError(t, refusedDial(t, target(t, s.URL("ca="+ca))), "Unavailable", "", "expired", "renew its certificate")

	s = connecttest.Start(t, connecttest.Config{})
	wantError(t, refusedDial(t, target(t, s.URL("use_ssl=true"))), "Unavailable", "", "does not speak TLS")
}

func TestNowhere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := l.Addr().(*net.TCPAddr).Port // takes connections, and says nothing
	defer l.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	at := func(port int) connect.Target { return connect.Target{Host: "127.0.0.1", Port: port} }

	wantError(t, refusedDial(t, impatient(at(silent), patience)), "Unavailable", "", "says nothing", "firewall")
	wantError(t, refusedDial(t, impatient(at(closed.Addr().(*net.TCPAddr).Port), time.Second)), "Unavailable", "", "refused", "see whether a Spark Connect server runs there")

	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	wantError(t, refusedDial(t, impatient(target(t, "sc://"+web.Listener.Addr().String()), time.Second)), "Unavailable", "", "whether it is a Spark Connect server")

	other := grpc.NewServer()
	l2, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- other.Serve(l2) }()
	wantError(t, refusedDial(t, target(t, "sc://"+l2.Addr().String())), "Unimplemented", "", "not a Spark Connect server")
	other.Stop()
	<-served

	s := connecttest.Start(t, connecttest.Config{Version: "3.5.4"})
	contains(t, refusedDial(t, target(t, s.URL())).Error(), `Spark "3.5.4"; use one of version 4`)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := connect.Dial(ctx, at(silent)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// TestFails: what happens to a session and a server for good ends an operation with an error that says it.
func TestFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		fail        func(*connecttest.Server) // before an operation
		during      func(*connecttest.Server) // in the middle of it
		patience    string                    // short where the server is gone: all of it passes
		code, class string
		want        string
	}{
		{"expired", (*connecttest.Server).Expire, nil, "8s", "Internal", "INVALID_HANDLE.SESSION_CLOSED", "connect again"},
		{"started anew", (*connecttest.Server).Renew, nil, "8s", "Internal", "INVALID_HANDLE.SESSION_CHANGED", "views, models and queries are gone"},
		{"started anew meanwhile", nil, (*connecttest.Server).Renew, "8s", "Internal", "INVALID_HANDLE.SESSION_NOT_FOUND", "connect again"},
		{"gone", func(s *connecttest.Server) { s.Stop() }, nil, "400ms", "Unavailable", "", "was there and has gone: see its log"},
		{"gone meanwhile", nil, func(s *connecttest.Server) { go s.Stop() }, "400ms", "Unavailable", "", "cannot be reached"},
		{"frozen", (*connecttest.Server).Freeze, nil, "800ms", "Unavailable", "", "says nothing"},
		{"frozen meanwhile", nil, (*connecttest.Server).Freeze, "800ms", "Unavailable", "", "what ran there may still run"},
		{"nothing but ends", func(s *connecttest.Server) { s.End(make([]int, 1000)...) }, nil, "400ms", "Unavailable", "", "without a response; see its log, and whether a proxy"},
		{"refused", func(s *connecttest.Server) { s.Refuse(1000) }, nil, "400ms", "Unavailable", "", "connecttest: refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := connecttest.Start(t, connecttest.Config{Execute: func(ctx context.Context, r *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
				send(row(0))
				<-ctx.Done()
				return ctx.Err()
			}})
			c := dial(t, s, "patience="+test.patience)
			if test.fail != nil {
				test.fail(s)
			}
			start := time.Now()
			err := c.Execute(t.Context(), sql("select"), func(*protocol.ExecuteResponse) error {
				if test.during != nil {
					test.during(s)
				}
				return nil
			})
			wantError(t, err, test.code, test.class, test.want)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("the error took %v", took)
			}
		})
	}
}

// TestFailsCalls: the same for calls that are no operations.
func TestFailsCalls(t *testing.T) {
	t.Parallel()
	s := connecttest.Start(t, connecttest.Config{})
	c := dial(t, s, "patience=800ms")
	ask := func() error { _, err := c.Config(t.Context(), &protocol.ConfigRequest_Operation{}); return err }
	s.Freeze()
	wantError(t, ask(), "Unavailable", "", "says nothing")
	s.Thaw()
	if err := ask(); err != nil {
		t.Errorf("it goes on: got %v", err)
	}
	s.Renew()
	wantError(t, ask(), "Internal", "INVALID_HANDLE.SESSION_CHANGED")
	s.Stop()
	wantError(t, ask(), "Unavailable", "")

	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Config(ctx, &protocol.ConfigRequest_Operation{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// TestUntold: a context that ends while the server says nothing is not waited for without an end.
func TestUntold(t *testing.T) {
	t.Parallel()
	s := connecttest.Start(t, connecttest.Config{Execute: endless})
	c := dial(t, s, "patience=800ms")
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Execute(ctx, sql("select"), func(*protocol.ExecuteResponse) error { s.Freeze(); cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	contains(t, err.Error(), "could not be told", "release the session")
}

// TestSlow: a server that works for longer than the client's patience, and says nothing meanwhile, but answers when it is asked.
func TestSlow(t *testing.T) {
	t.Parallel()
	const patience = 800 * time.Millisecond
	s := connecttest.Start(t, connecttest.Config{Execute: func(ctx context.Context, r *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
		<-time.After(patience * 3 / 4)
		return rows(3)(ctx, r, send)
	}})
	wantRows(t, dial(t, s, "patience="+patience.String()), 3)
	if s.Calls("Config") == 0 {
		t.Error("it was not asked")
	}
}

// TestThaw: a server that says nothing for shorter than that, as a JVM does that collects garbage.
func TestThaw(t *testing.T) {
	t.Parallel()
	const patience = 2 * time.Second
	var s *connecttest.Server
	s = connecttest.Start(t, connecttest.Config{Execute: func(ctx context.Context, r *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
		send(row(0))
		s.Freeze()
		time.AfterFunc(patience*5/8, s.Thaw) // its connection has been given up by then
		send(row(1))
		return nil
	}})
	wantRows(t, dial(t, s, "patience="+patience.String()), 2)
}

func TestErrors(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Execute: func(_ context.Context, r *protocol.ExecuteRequest, _ func(*protocol.ExecuteResponse)) error {
		switch r.GetPlan().GetRoot().GetSql().GetQuery() {
		case "column":
			return connecttest.Failure(codes.Internal, "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", "No column `a`.", "messageParameters", `{"objectName":"`+"`a`"+`"}`)
		case "long":
			return connecttest.Failure(codes.Internal, "LONG", "XX000", "It beg…", "errorId", "7")
		case "text":
			return status.Error(codes.Internal, "[TABLE_OR_VIEW_NOT_FOUND] The table `t` cannot be found. SQLSTATE: 42P01; line 1 pos 14;\n'Project [*]")
		case "twice":
			return connecttest.Failure(codes.Internal, "AMBIGUOUS_REFERENCE", "42704", "Reference `id` is ambiguous.")
		case "memory":
			return connecttest.Failure(codes.Internal, "CANNOT_MODIFY_CONFIG", "46110", "Cannot modify the value.")
		case "kafka":
			return status.Error(codes.Internal, "Failed to find data source: kafka. Please deploy the application.")
		}
		return status.Error(codes.Internal, "an error of no class")
	}})
	cause, root := int32(1), int32(0)
	class, state := "LONG.WHOLE", "XX001"
	s.Explain("7", &protocol.ErrorResponse{Root: &root, Errors: []*protocol.ErrorResponse_Error{
		{Text: "[LONG.WHOLE] It begins and ends. SQLSTATE: XX001", Types: []string{"A", "B"}, Cause: &cause, Spark: &protocol.ErrorResponse_Error_Spark{Class: &class, SqlState: &state}},
		{Text: "a disk is full\n\tat x", Cause: &root},
	}})
	c := dial(t, s)
	ask := func(text string) *connect.Error {
		t.Helper()
		err := c.Execute(t.Context(), sql(text), func(*protocol.ExecuteResponse) error { return nil })
		var e *connect.Error
		if !errors.As(err, &e) {
			t.Fatalf("got %v", err)
		}
		return e
	}
	for _, test := range []struct{ query, class, state, text, whole string }{
		{"column", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", "No column `a`.", "spark: [UNRESOLVED_COLUMN.WITH_SUGGESTION] No column `a`. (SQLSTATE 42703)"},
		{"long", "LONG.WHOLE", "XX001", "It begins and ends.\ncaused by: a disk is full\n\tat x", "spark: [LONG.WHOLE] It begins"},
		{"text", "TABLE_OR_VIEW_NOT_FOUND", "42P01", "The table `t` cannot be found.; line 1 pos 14;\n'Project [*]", "a temporary view belongs to"},
		{"twice", "AMBIGUOUS_REFERENCE", "42704", "Reference `id` is ambiguous.", "JoinUsing"},
		{"memory", "CANNOT_MODIFY_CONFIG", "46110", "Cannot modify the value.", "only the server's start can set it"},
		{"kafka", "", "", "Failed to find data source: kafka. Please deploy the application.", "spark-sql-kafka-0-10_2.13"},
		{"none", "", "", "an error of no class", "spark: an error of no class"},
	} {
		e := ask(test.query)
		if e.Class != test.class || e.SQLState != test.state || e.Text != test.text || e.Code != "Internal" {
			t.Errorf("%s: got %+v", test.query, e)
		}
		contains(t, e.Error(), test.whole)
	}
	if e := ask("column"); e.Parameters["objectName"] != "`a`" || len(e.Types) != 2 {
		t.Errorf("got parameters %v, types %v", e.Parameters, e.Types)
	}
	if e := ask("long"); len(e.Types) != 2 || e.Types[0] != "A" {
		t.Errorf("got types %v", e.Types)
	}
}

// TestLarge: a message above the limit says which setting there is.
func TestLarge(t *testing.T) {
	s := connecttest.Start(t, connecttest.Config{Execute: func(_ context.Context, _ *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error {
		r := row(0)
		r.GetArrow().Data = make([]byte, 4096)
		send(r)
		return nil
	}})
	_, err := execute(t, dial(t, s, "grpc_max_message_size=2048"))
	wantError(t, err, "ResourceExhausted", "", "grpc_max_message_size")
	_, err = execute(t, dial(t, s))
	if err != nil {
		t.Error(err)
	}
}
