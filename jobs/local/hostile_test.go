package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cancha/jobs/queue"
)

// recorder is a connection to memory.
type recorder struct {
	net.Conn
	to *bytes.Buffer
}

func (r recorder) Write(b []byte) (int, error)        { return r.to.Write(b) }
func (r recorder) SetWriteDeadline(_ time.Time) error { return nil }

// serving is a served broker with one queue, and a client of it.
func serving(t *testing.T) (*Server, *Remote) {
	t.Helper()
	b, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(b, "127.0.0.1:0", "0123456789secret")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Dial(t.Context(), s.Address(), "0123456789secret")
	if err == nil {
		_, err = r.Declare(t.Context(), queue.Spec{Name: "q"})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), s.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, r
}

// TestToken: neither side goes on with one that has another token, and what somebody else listens at is named so.
func TestToken(t *testing.T) {
	s, r := serving(t)
	for _, token := range []string{"0123456789Secret", "0123456789secret ", "x"} {
		if _, err := Dial(t.Context(), s.Address(), token); !errors.Is(err, ErrToken) {
			t.Errorf("%q: got %v, want ErrToken", token, err)
		}
	}
	if _, err := Dial(t.Context(), s.Address(), ""); err == nil || !strings.Contains(err.Error(), "a token is needed") {
		t.Errorf("no token: %v", err)
	}
	for _, says := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "\x00\x00\x00\x02{}", ""} {
		if _, err := Dial(t.Context(), listens(t, says), "0123456789secret"); err == nil || says != "" && !errors.Is(err, errNoBroker) {
			t.Errorf("what says %q: %v", says, err)
		}
	}
	if err := r.Publish(t.Context(), "q", queue.Message{}); err != nil {
		t.Errorf("the server does not go on: %v", err)
	}
}

// listens is an address where somebody says something and hangs up.
func listens(t *testing.T, says string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, says)
		_ = conn.Close()
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// TestPassedOn: who has taken another port, and passes on what both sides say, gets nothing through.
func TestPassedOn(t *testing.T) {
	s, _ := serving(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		to, err := net.Dial("tcp", s.Address())
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(to, conn); _ = to.Close() }()
		_, _ = io.Copy(conn, to)
	}()
	if _, err := Dial(t.Context(), l.Addr().String(), "0123456789secret"); !errors.Is(err, ErrToken) {
		t.Errorf("got %v, want ErrToken", err)
	}
	<-done
}

// TestHostile: a peer that says what nobody says loses its connection, or gets an error; the others go on.
func TestHostile(t *testing.T) {
	s, r := serving(t)
	greet := func(conn net.Conn) error { return greetServer(conn, "0123456789secret") }
	for name, test := range map[string]struct {
		greet func(net.Conn) error
		says  []byte
	}{
		"no greeting":        {nil, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		"large greeting":     {nil, binary.BigEndian.AppendUint32(nil, 1<<31)},
		"greeting of others": {nil, []byte("\x00\x00\x00\x02{}")},
		"hangs up":           {nil, nil},
		"large frame":        {greet, binary.BigEndian.AppendUint64(nil, 1<<63)},
		"packet too long":    {greet, []byte{0, 0, 0, 5, 0, 0, 0, 9, 1}},
		"no JSON":            {greet, []byte{0, 0, 0, 6, 0, 0, 0, 2, '{', '{'}},
		"half a frame":       {greet, []byte{0, 0, 0, 60, 0, 0, 0, 2, '{'}},
	} {
		conn, err := net.Dial("tcp", s.Address())
		if err != nil {
			t.Fatal(err)
		}
		if test.greet != nil {
			if err := test.greet(conn); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = conn.Write(test.says) // the server may have hung up already
		if err := conn.(*net.TCPConn).CloseWrite(); err == nil {
			_, err = io.Copy(io.Discard, conn) // until the server hangs up
			if err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: %v", name, err)
			}
		}
		_ = conn.Close()
	}
	l := r.link
	for name, p := range map[string]*packet{
		"no such call": {Op: "steal"}, "no Spec": {Op: opDeclare}, "no message": {Op: opAnnounce, Name: "t"}, "consumer": {Op: opNext, Consumer: 99},
		"listener": {Op: opHear, Consumer: 99}, "settle": {Op: opSettle, Consumer: 99, Outcome: &queue.Outcome{}},
		"sizes":    {Op: opPublish, Name: "q", Messages: []sentMessage{{Size: 5}}, body: []byte("four")},
		"negative": {Op: opPublish, Name: "q", Messages: []sentMessage{{Size: -5}}, body: []byte("four")},
		"priority": {Op: opPublish, Name: "q", Messages: []sentMessage{{Priority: 77}}},
	} {
		if a, err := l.call(t.Context(), p); err == nil || errors.Is(err, errAway) {
			t.Errorf("%s: got %+v, %v, want an error of the call", name, a, err)
		}
	}
	if err := r.Publish(t.Context(), "q", queue.Message{}); err != nil {
		t.Errorf("the server does not go on: %v", err)
	}
}

// TestNameOfNoUTF8: what is no text is refused before it becomes another text on its way, which may be the name of a queue.
func TestNameOfNoUTF8(t *testing.T) {
	_, r := serving(t)
	if _, err := r.Declare(t.Context(), queue.Spec{Name: "q\ufffd"}); err != nil {
		t.Fatal(err)
	}
	const name = "q\xff"
	_, declare := r.Declare(t.Context(), queue.Spec{Name: name})
	_, dead := r.Declare(t.Context(), queue.Spec{Name: "q", Dead: name})
	_, consume := r.Consume(t.Context(), name, 1)
	_, inspect := r.Inspect(t.Context(), name)
	_, listen := r.Listen(t.Context(), name)
	for what, err := range map[string]error{"declare": declare, "dead": dead, "consume": consume, "inspect": inspect, "listen": listen,
		"publish": r.Publish(t.Context(), name, queue.Message{}), "announce": r.Announce(t.Context(), name, queue.Message{})} {
		if !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", what, err)
		}
	}
}

// TestBadOutcome: what a peer says of a delivery is checked as what this process says.
func TestBadOutcome(t *testing.T) {
	_, r := serving(t)
	if err := r.Publish(t.Context(), "q", queue.Message{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	c, err := r.Consume(t.Context(), "q", 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []queue.Outcome{{Verdict: 7}, {Verdict: queue.Retry, After: -1}, {Verdict: queue.Retry, After: 1 << 62}} {
		if err := d.Settler.Settle(t.Context(), o); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%+v: got %v, want ErrInvalid", o, err)
		}
	}
	if err := d.Ack(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStuckServer: a server that has stopped answering holds nobody for longer than his context and a second.
func TestStuckServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	greeted, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err == nil {
			err = greetDialler(conn, "0123456789secret")
		}
		greeted <- err
		if err == nil {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	r, err := Dial(t.Context(), l.Addr().String(), "0123456789secret")
	if err := errors.Join(err, <-greeted); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	from := time.Now()
	if err := r.Publish(ctx, "q", queue.Message{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(from) > 10*time.Second {
		t.Errorf("got %v after %v", err, time.Since(from))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	<-done
}

// TestStoppedServer: nor does one that takes nothing any more, as a process that is stopped, though others have more on their way than the
// system holds.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	greeted, done := make(chan error, 1), make(chan struct{})
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = greetDialler(conn, "0123456789secret")
		}
		greeted <- err
		<-done
		if err == nil {
			_ = conn.Close()
		}
	}()
	defer close(done)
	r, err := Dial(t.Context(), l.Addr().String(), "0123456789secret")
	if err := errors.Join(err, <-greeted); err != nil {
		t.Fatal(err)
	}
	large := make(chan error, 1)
	go func() { large <- r.Publish(t.Context(), "q", queue.Message{Body: make([]byte, queue.MaxBody)}) }()
	for way := &r.link.out.mu; way.TryLock(); { // until it is on its way
		way.Unlock()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	from := time.Now()
	if err := r.Publish(ctx, "q", queue.Message{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(from) > 10*time.Second {
		t.Errorf("got %v after %v", err, time.Since(from))
	}
	if _, err := Dial(ctx, l.Addr().String(), "0123456789secret"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial: got %v", err)
	}
	if err := errors.Join(r.Close(), <-large); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("the large message: got %v", err)
	}
}

// TestNeverReads: who calls and never takes an answer is not read on, so that no more of his lies in memory than he may have in work.
func TestNeverReads(t *testing.T) {
	s, r := serving(t)
	conn, err := net.Dial("tcp", s.Address())
	if err == nil {
		err = errors.Join(greetServer(conn, "0123456789secret"), conn.(*net.TCPConn).SetReadBuffer(4096))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var calls bytes.Buffer
	for i := range 1000 {
		if err := (&wire{conn: recorder{to: &calls}}).write(&packet{ID: uint64(i), Op: opInspect, Name: strings.Repeat("no such queue ", 50)}); err != nil {
			t.Fatal(err)
		}
	}
	written, before := 0, runtime.NumGoroutine()
	for ; written < 100 && err == nil; written++ {
		if err = conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err == nil {
			_, err = conn.Write(calls.Bytes())
		}
	}
	t.Logf("%d,000 calls were taken", written)
	if n := runtime.NumGoroutine() - before; !errors.Is(err, os.ErrDeadlineExceeded) || n > 3*maxBehind {
		t.Errorf("%v, and %d calls are in work", err, n)
	}
	if err := r.Publish(t.Context(), "q", queue.Message{}); err != nil {
		t.Errorf("others: %v", err)
	}
}

// TestAddresses: what is beyond the machine, or cannot be an address, is refused with what is wanted.
func TestAddresses(t *testing.T) {
	broker := &Broker{}
	for address, says := range map[string]string{
		"0.0.0.0:0": "beyond this machine", "192.0.2.1:5": "beyond this machine", "example.com:5": "beyond this machine", "5050": "want unix:PATH or HOST:PORT",
		"": "want unix:PATH or HOST:PORT", "unix:": "want unix:PATH",
		"unix:/" + strings.Repeat("x", 103): "the name of a Unix socket has at most", "localhost:x:y": "want unix:PATH or HOST:PORT",
	} {
		if _, err := Serve(broker, address, "0123456789secret"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("serve %q: got %v, want %q", address, err, says)
		}
		if _, err := Dial(t.Context(), address, "0123456789secret"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("dial %q: got %v, want %q", address, err, says)
		}
	}
	if _, err := Dial(t.Context(), "unix:"+filepath.Join(t.TempDir(), "nobody"), ""); err == nil ||
		!strings.Contains(err.Error(), "no broker answers, start the process that serves it") {
		t.Errorf("nobody there: %v", err)
	}
}

// TestSocketLeftBehind: a socket of a dead process is taken over, another file and the socket of a living one are not.
func TestSocketLeftBehind(t *testing.T) {
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	address := Socket(folder)
	path := strings.TrimPrefix(address, "unix:")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Serve(&Broker{}, address, "")
	if err != nil {
		t.Fatalf("a socket that was left behind: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want 0600", info.Mode(), err)
	}
	if _, err := Serve(&Broker{}, address, ""); err == nil {
		t.Error("the socket of a living server was taken over")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("a text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Serve(&Broker{}, address, ""); err == nil {
		t.Error("a file was taken over")
	}
}
