package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// cut is a connection that is lost at the first COMMIT: before it or behind it.
type cut struct {
	net.Conn
	behind bool
	done   *atomic.Bool
}

func (c *cut) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("COMMIT\x00")) || c.done.Swap(true) {
		return c.Conn.Write(p)
	}
	if c.behind {
		c.Conn.Write(p)
	}
	c.Conn.Close()
	return c.Conn.Write(p) // fails as on any connection that is closed
}

// TestDoubt: a connection that is lost while committing neither loses rows nor doubles them.
func TestDoubt(t *testing.T) {
	d := server(t)
	for _, key := range [][]string{nil, {"shop"}} {
		for _, behind := range []bool{false, true} {
			done := new(atomic.Bool)
			cfg := Config{URL: d.url, Table: fmt.Sprintf("t%d%v", len(key), behind), Create: true, Key: key, Types: map[string]string{"shop": "bigint"}}
			cfg.wrap = func(c net.Conn) net.Conn { return &cut{c, behind, done} }
			if err := write(t, cfg, shops(1, 1, 2, 2), shops(3, 3)); err != nil {
				t.Errorf("behind the COMMIT %v: %v", behind, err)
			}
			if !done.Load() {
				t.Error("no connection was cut off")
			}
			d.want("SELECT * FROM "+quote(cfg.Table)+" ORDER BY 1", "1|1", "2|2", "3|3")
		}
	}
}

// TestTerminated: an administrator ends the connection between two Writes.
func TestTerminated(t *testing.T) {
	d := server(t)
	s := newSink(Config{URL: d.url + "&application_name=terminated", Table: "t", Create: true, Key: []string{"shop"}})
	if err := errors.Join(s.Open(t.Context(), shops().Columns), s.Write(t.Context(), 1, shops("a", 1))); err != nil {
		t.Fatal(err)
	}
	d.want("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'terminated'", "t")
	if err := errors.Join(s.Write(t.Context(), 2, shops("b", 2)), s.Close()); err != nil {
		t.Fatal(err)
	}
	d.want("SELECT * FROM t ORDER BY 1", "a|1", "b|2")
}

// TestCancelled: a Write that waits for somebody's lock ends with its context, and leaves nothing.
func TestCancelled(t *testing.T) {
	d := server(t)
	s := newSink(Config{URL: d.url + "&application_name=cancelled", Table: "t", Create: true})
	if err := s.Open(t.Context(), shops().Columns); err != nil {
		t.Fatal(err)
	}
	other := newSink(Config{URL: d.url, Table: "t"})
	if err := other.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.conn.Exec(t.Context(), "BEGIN; LOCK TABLE t").ReadAll(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Write(ctx, 1, shops("a", 1)) }()
	for len(d.ask("SELECT 1 FROM pg_stat_activity WHERE application_name = 'cancelled' AND wait_event_type = 'Lock'")) == 0 {
		select {
		case err := <-ended:
			t.Fatalf("Write ended: %v", err)
		default:
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.conn.Exec(t.Context(), "COMMIT").ReadAll(); err != nil {
		t.Fatal(err)
	}
	for len(d.ask("SELECT 1 FROM pg_stat_activity WHERE application_name = 'cancelled'")) > 0 { // it goes
	}
	d.want("SELECT * FROM t")
}

// TestCrash kills the server while rows are appended, and starts it again: each row is there once.
func TestCrash(t *testing.T) {
	d := server(t)
	script := os.Getenv("CANCHA_POSTGRES_SH")
	if script == "" {
		t.Skip("CANCHA_POSTGRES_SH is not set")
	}
	control := func(what string) {
		if text, err := exec.Command(script, what).CombinedOutput(); err != nil {
			t.Errorf("%s %s: %v %s", script, what, err, text)
		}
	}
	s := newSink(Config{URL: d.url, Table: "t", Create: true})
	if err := s.Open(t.Context(), shops().Columns); err != nil {
		t.Fatal(err)
	}
	written := make(chan int64, 1<<20) // more than there will be
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(written)
		for n := int64(1); ; n++ {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := s.Write(t.Context(), n, shops(n, n, -n, n)); err != nil {
				ended <- err
				return
			}
			written <- n
		}
	}()
	var n int64
	for range 3 {
		for range 20 {
			n = max(n, <-written)
		}
		control("kill")
		control("start")
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for last := range written {
		n = last
	}
	d.want("SELECT count(*), count(DISTINCT shop), sum(sold) FROM t", fmt.Sprintf("%d|%d|%d", 2*n, 2*n, n*(n+1)))

	control("stop")
	impatient := *s.cfg()
	impatient.Patience = 300 * time.Millisecond
	s.cfg = func() *Config { return &impatient }
	err := s.Write(t.Context(), n+1, shops(n, n))
	if err == nil || !strings.Contains(err.Error(), "tried for 300ms: no server answers at 127.0.0.1:") {
		t.Errorf("without a server: got %v", err)
	}
	control("start")
	if err := errors.Join(s.Write(t.Context(), n+1, shops("last", 0)), s.Close()); err != nil {
		t.Error(err)
	}
	d.want("SELECT count(*) FROM t", fmt.Sprint(2*n+1))
}
