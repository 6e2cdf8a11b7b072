package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cancha/spark/internal/connect"
	"cancha/spark/internal/protocol"
)

// server is the one that scripts/spark.sh has started.
func server(t *testing.T) connect.Target {
	t.Helper()
	at := os.Getenv("CANCHA_SPARK")
	if at == "" {
		t.Skip("CANCHA_SPARK is not set: scripts/spark.sh with go test ./spark/... runs this test on a Spark of its own")
	}
	return target(t, at)
}

func serve(t *testing.T, at connect.Target) *connect.Client {
	t.Helper()
	c, err := connect.Dial(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c.Release(ctx) // some tests have ended the server
		c.Close()
	})
	return c
}

// count returns how many rows a query gives, and of which kinds its responses are.
func count(ctx context.Context, c *connect.Client, query string) (n int64, progress int, err error) {
	err = c.Execute(ctx, sql(query), func(r *protocol.ExecuteResponse) error {
		n += r.GetArrow().GetRows()
		if r.GetProgress() != nil {
			progress++
		}
		return nil
	})
	return n, progress, err
}

func wantCount(t *testing.T, c *connect.Client, query string, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // for a busy machine
	defer cancel()
	if n, _, err := count(ctx, c, query); err != nil || n != want {
		t.Errorf("%s: got %d rows, want %d: %v", query, n, want, err)
	}
}

// endlessSQL takes hours, on both cores. It has one stage: of several see sweeper.
const endlessSQL = "select id from range(0, 1000000000000000, 1, 2) where (id ^ 7) % 1000003 = -1"

func TestServer(t *testing.T) {
	c := serve(t, server(t))
	contains(t, c.Version(), "4.")
	wantCount(t, c, "select id, cast(id as string) s from range(1000)", 1000)
	for _, test := range []struct{ query, class, state, text string }{
		{"select nope from range(1)", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", "`nope`"},
		{"selec 1", "PARSE_SYNTAX_ERROR", "42601", "selec"},
		{"select * from nothing", "TABLE_OR_VIEW_NOT_FOUND", "42P01", "a temporary view belongs to"},
		{"select 1/0", "DIVIDE_BY_ZERO", "22012", "zero"},
		{"select * from parquet.`/no/such/path`", "PATH_NOT_FOUND", "42K03", "storage that both reach"},
		{"select raise_error(repeat('long ', 1000) || 'end')", "USER_RAISED_EXCEPTION", "P0001", "long end"}, // beyond what a status has room for
	} {
		_, _, err := count(t.Context(), c, test.query)
		var e *connect.Error
		if !errors.As(err, &e) || e.Class != test.class || e.SQLState != test.state || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v", test.query, err)
		} else if len(e.Types) == 0 {
			t.Errorf("%s: got no types of the exception", test.query)
		}
	}
}

func TestServerToken(t *testing.T) {
	at := server(t)
	if at.Token == "" {
		t.Skip("the server asks for no token")
	}
	at.Token = "wrong"
	start := time.Now()
	_, err := connect.Dial(t.Context(), at)
	wantError(t, err, "Unauthenticated", "", "/;token=TOKEN")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestServerSession: a session is gone on in by another client, until it is released.
func TestServerSession(t *testing.T) {
	at := server(t)
	one := serve(t, at)
	if _, _, err := count(t.Context(), one, "create temporary view v as select 1 x"); err != nil {
		t.Fatal(err)
	}
	at.SessionID = one.Session()
	two := serve(t, at)
	wantCount(t, two, "select * from v", 1)
	if err := two.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, err := count(t.Context(), one, "select 1")
	wantError(t, err, "Internal", "INVALID_HANDLE.SESSION_CLOSED", "connect again")
}

// TestServerInterrupt: when a context ends, the work does.
func TestServerInterrupt(t *testing.T) {
	c := serve(t, server(t))
	for _, wait := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 3 * time.Second} {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		start := time.Now()
		if _, _, err := count(ctx, c, endlessSQL); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: got %v", wait, err)
		} else if strings.Contains(err.Error(), "could not be told") {
			t.Error(err)
		}
		cancel()
		t.Logf("interrupted after %v: ended %v later", wait, time.Since(start)-wait)
		if ids, err := c.Interrupt(t.Context(), ""); err != nil || len(ids) != 0 {
			t.Errorf("after %v: there still run %v, %v", wait, ids, err)
		}
	}
	wantCount(t, c, "select id from range(0, 1000, 1, 2)", 1000) // both cores are free
}

// TestServerInterruptStages: of a query with several stages that is interrupted early nothing is left a few seconds later, with the session or without.
func TestServerInterruptStages(t *testing.T) {
	at := server(t)
	page := os.Getenv("CANCHA_SPARK_UI")
	if page == "" {
		t.Skip("CANCHA_SPARK_UI names no page of the server's")
	}
	wantCount(t, serve(t, at), "select id % 10, count(*) from range(0, 1000, 1, 2) group by 1", 10) // a cold server takes seconds to begin
	for i := range 6 {
		c := serve(t, at)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+100*i)*time.Millisecond)
		if _, _, err := count(ctx, c, "select s % 10, count(*) from ("+strings.Replace(endlessSQL, "id from", "id s from", 1)+") group by 1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		cancel()
		if i%2 == 0 {
			if err := c.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	for end := time.Now().Add(10 * time.Second); jobs(t, page) > 0; time.Sleep(100 * time.Millisecond) { // nobody tells
		if time.Now().After(end) {
			t.Fatalf("10 s later %d jobs run", jobs(t, page))
		}
	}
}

// jobs is how many the server runs, by the REST API of its page.
func jobs(t *testing.T, page string) int {
	t.Helper()
	get := func(path string, into any) {
		r, err := http.Get(page + "/api/v1/applications" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	var apps []struct{ ID string }
	var running []struct{ JobID int }
	get("", &apps)
	get("/"+apps[0].ID+"/jobs?status=running", &running)
	return len(running)
}

// TestServerProgress: a long query tells its stages.
func TestServerProgress(t *testing.T) {
	c := serve(t, server(t))
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	if _, progress, err := count(ctx, c, endlessSQL); progress == 0 {
		t.Errorf("got no progress: %v", err)
	}
}

// TestServerReattach: the connection breaks off every few megabytes, and the rows are all there.
func TestServerReattach(t *testing.T) {
	at := server(t)
	proxy := newProxy(t, at, 5<<20)
	at.Host, at.Port = "127.0.0.1", proxy.port()
	c := serve(t, at)
	const rows = 3_000_000
	wantCount(t, c, "select id, rand() r from range("+strconv.Itoa(rows)+")", rows)
	if n := proxy.cuts.Load(); n < 3 {
		t.Errorf("it broke off %d times", n)
	}
}

// TestServerPaused: a server that is stopped for longer than the client's patience is an error within 10 s, and can be spoken to again afterwards.
func TestServerPaused(t *testing.T) {
	at := server(t)
	control := script(t)
	c := serve(t, at)
	control("pause")
	start := time.Now()
	_, _, err := count(t.Context(), c, "select 1")
	took := time.Since(start)
	control("resume")
	wantError(t, err, "Unavailable", "", "says nothing")
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	wantCount(t, c, "select 1", 1)
}

// TestServerKilled: a server that dies under a query is an error when the client's patience ends; another one at its place does not know the session.
func TestServerKilled(t *testing.T) {
	at := server(t)
	control := script(t)
	c := serve(t, at)
	started, ended := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		ended <- c.Execute(t.Context(), sql(endlessSQL), func(*protocol.ExecuteResponse) error { once.Do(func() { close(started) }); return nil })
	}()
	<-started
	control("kill")
	start := time.Now()
	wantError(t, <-ended, "Unavailable", "", "cannot be reached")
	took := time.Since(start)
	t.Logf("told after %v", took)
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	control("start")
	_, _, err := count(t.Context(), c, "select 1")
	wantError(t, err, "Internal", "INVALID_HANDLE.SESSION_CHANGED", "connect again")
	wantCount(t, serve(t, at), "select 1", 1)
}

// script runs scripts/spark.sh, whose server this is.
func script(t *testing.T) func(string) {
	path := os.Getenv("CANCHA_SPARK_SH")
	if path == "" {
		t.Skip("CANCHA_SPARK_SH is not set")
	}
	return func(what string) {
		t.Helper()
		if text, err := exec.Command(path, what).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v %s", path, what, err, text)
		}
	}
}

// proxy passes bytes on, and breaks each connection off after so many of them.
type proxy struct {
	listener net.Listener
	to       string
	each     int64
	cuts     atomic.Int64
	running  sync.WaitGroup
}

func newProxy(t *testing.T, to connect.Target, each int64) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: net.JoinHostPort(to.Host, strconv.Itoa(to.Port)), each: each}
	p.running.Go(p.run)
	t.Cleanup(func() { l.Close(); p.running.Wait() })
	return p
}

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *proxy) run() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.pass(client) })
	}
}

func (p *proxy) pass(client net.Conn) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		client.Close()
		return
	}
	p.running.Go(func() { io.Copy(server, client); server.Close() })
	if n, _ := io.CopyN(client, server, p.each); n == p.each {
		p.cuts.Add(1)
	}
	client.Close()
	server.Close()
}
