package zmq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cancha/kernel/wire"
)

// quick are limits that let a test see the deadline of who does not read. A busy machine may take its time for a handshake.
func quick() Limits {
	return Limits{Handshake: patience, FullWait: 200 * time.Millisecond, Queue: 1 << 20, Message: 8 << 20}
}

// patience is how long a test waits for what comes in moments unless it does not come at all.
const patience = time.Minute

func text(words ...string) [][]byte {
	frames := make([][]byte, len(words))
	for i, w := range words {
		frames[i] = []byte(w)
	}
	return frames
}

// opened sees to a socket, of any kind, that a constructor has returned.
func opened[S io.Closer](t *testing.T, s S, err error) S {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newRouter(t *testing.T, lim Limits) (*Router, string) {
	t.Helper()
	r, err := NewRouter(endpoint("127.0.0.1:0"), lim, nil, nil)
	return opened(t, r, err), r.net.Addr().String()
}

func newEcho(t *testing.T, lim Limits) (address string) {
	t.Helper()
	e, err := NewEcho(endpoint("127.0.0.1:0"), lim, nil)
	return opened(t, e, err).net.Addr().String()
}

// echo answers every message of r with itself until the test ends.
func echo(t *testing.T, r *Router) {
	go func() {
		for {
			m, err := r.Receive(t.Context())
			if err != nil {
				return
			}
			_ = r.Send(m)
		}
	}()
}

func newPublisher(t *testing.T, lim Limits) (*Publisher, string) {
	t.Helper()
	welcome := func(topic []byte) [][]byte { return [][]byte{[]byte("welcome"), topic} }
	x, err := NewPublisher(endpoint("127.0.0.1:0"), lim, welcome, nil)
	return opened(t, x, err), x.net.Addr().String()
}

func dealer(t *testing.T, address, identity string) *Conn {
	t.Helper()
	c, err := DialDealer(t.Context(), endpoint(address), identity)
	return opened(t, c, err)
}

func subscriber(t *testing.T, address, topic string) *Conn {
	t.Helper()
	c, err := DialSubscriber(t.Context(), endpoint(address), topic)
	return opened(t, c, err)
}

// receive returns the next message as words.
func receive(t *testing.T, c *Conn) string {
	t.Helper()
	_ = c.raw.SetReadDeadline(time.Now().Add(patience))
	m, err := c.Receive()
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	return string(bytes.Join(m, []byte(" ")))
}

// alive checks that a new client is served.
func alive(t *testing.T, address string) {
	t.Helper()
	exchange(t, dealer(t, address, ""))
}

func TestRouterAnswersTheSender(t *testing.T) {
	r, address := newRouter(t, Limits{})
	echo(t, r)
	a, b := dealer(t, address, "a"), dealer(t, address, "b")
	for i := range 50 {
		for _, c := range []*Conn{a, b} {
			if err := c.Send(text("m", fmt.Sprint(i), "")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 50 {
		want := fmt.Sprintf("m %d ", i)
		if got := receive(t, a); got != want {
			t.Fatalf("a got %q, want %q", got, want)
		}
		if got := receive(t, b); got != want {
			t.Fatalf("b got %q, want %q", got, want)
		}
	}
	if err := r.Send(text("nobody", "x")); !errors.Is(err, ErrNoPeer) {
		t.Errorf("send to nobody: %v, want ErrNoPeer", err)
	}
}

func TestRouterCarriesLargeMessages(t *testing.T) {
	r, address := newRouter(t, Limits{})
	echo(t, r)
	c := dealer(t, address, "")
	big := bytes.Repeat([]byte("0123456789"), 2<<20)
	if err := c.Send([][]byte{big, nil}); err != nil {
		t.Fatal(err)
	}
	_ = c.raw.SetReadDeadline(time.Now().Add(patience))
	m, err := c.Receive()
	if err != nil {
		t.Fatal(err)
	}
	if len(m) != 2 || !bytes.Equal(m[0], big) {
		t.Errorf("20 MB came back as %d frames, the first of %d bytes", len(m), len(m[0]))
	}
}

func TestNewestConnectionTakesTheIdentity(t *testing.T) {
	var said bytes.Buffer // written before the newer gets its answer
	r, err := NewRouter(endpoint("127.0.0.1:0"), Limits{}, nil, slog.New(slog.NewTextHandler(&said, nil)))
	address := opened(t, r, err).net.Addr().String()
	echo(t, r)
	first := dealer(t, address, "same")
	if err := first.Send(text("1")); err != nil {
		t.Fatal(err)
	}
	receive(t, first)
	second := dealer(t, address, "same")
	if err := second.Send(text("2")); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, second); got != "2" {
		t.Errorf("the newer got %q, want its answer", got)
	}
	if !strings.Contains(said.String(), "takes over") || !strings.Contains(said.String(), "same") {
		t.Errorf("the log says %q, want that the identity was taken over", said.String())
	}
	_ = first.raw.SetReadDeadline(time.Now().Add(patience))
	if m, err := first.Receive(); err == nil {
		t.Errorf("the older got %q, want its connection closed", m)
	}
	for range 62 {
		c := dealer(t, address, "same")
		if err := c.Send(text("again")); err != nil {
			t.Fatal(err)
		}
		receive(t, c)
	}
	if n := strings.Count(said.String(), "takes over"); n != 6 {
		t.Errorf("63 takeovers were logged %d times, want 6: the first, second, fourth …", n)
	}
}

// TestSilentPeersDelayNobody has peers that may be silent for as long as a test waits: a client is served meanwhile.
func TestSilentPeersDelayNobody(t *testing.T) {
	r, address := newRouter(t, quick())
	echo(t, r)
	for range 15 {
		connect(t, address)
	}
	alive(t, address)
}

func TestSilentPeersAreCutOff(t *testing.T) {
	lim := quick()
	lim.Handshake = 100 * time.Millisecond
	_, address := newRouter(t, lim)
	for range 15 {
		hasEnded(t, connect(t, address), "a silent peer")
	}
}

// connect opens a connection that says nothing yet.
func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	return opened(t, c, err)
}

func TestOldestHandshakeGoesFirst(t *testing.T) {
	lim := Limits{Handshaking: 2, Handshake: time.Minute}
	r, address := newRouter(t, lim)
	echo(t, r)
	oldest := connect(t, address)
	_, _ = io.ReadFull(oldest, make([]byte, greetingSize)) // it has been admitted
	for range 2 {
		connect(t, address)
	}
	hasEnded(t, oldest, "the oldest silent peer")
	alive(t, address)
}

func TestPingIsAnsweredAndNoMessage(t *testing.T) {
	r, address := newRouter(t, Limits{})
	raw := dialRaw(t, address, "DEALER")
	goOn(t, raw, append(command("PING", []byte("\x00\x05ctx")), frame(0, []byte("after"))...))
	m, err := r.Receive(t.Context())
	if err != nil || string(m[1]) != "after" {
		t.Fatalf("received %q, %v; want the message after the PING", m, err)
	}
	pongs(t, raw, "ctx")
}

func TestWelcomeComesFirst(t *testing.T) {
	x, address := newPublisher(t, Limits{})
	stop := make(chan struct{})
	published := make(chan struct{})
	go func() { // a busy publisher: whatever the moment of the subscription, the welcome is first
		defer close(published)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = x.Publish(text("topic", fmt.Sprint(i)))
				runtime.Gosched()
			}
		}
	}()
	for range 20 {
		c := subscriber(t, address, "")
		if got := receive(t, c); got != "welcome " {
			t.Errorf("first message %q, want the welcome", got)
		}
		receive(t, c)
		_ = c.Close()
	}
	close(stop)
	<-published
	only := subscriber(t, address, "b")
	if got := receive(t, only); got != "welcome b" {
		t.Errorf("got %q, want the welcome with its topic", got)
	}
	_ = x.Publish(text("a", "1"))
	_ = x.Publish(text("b", "2"))
	if got := receive(t, only); got != "b 2" {
		t.Errorf("a subscriber of b got %q", got)
	}
}

func TestFirstSubscriberGetsTheFirstWords(t *testing.T) {
	x, address := newPublisher(t, Limits{})
	for i := range earlyMessages + 4 {
		_ = x.Publish(text("t", fmt.Sprint(i)))
	}
	c := subscriber(t, address, "")
	receive(t, c)
	for i := range earlyMessages {
		if got, want := receive(t, c), fmt.Sprintf("t %d", i+4); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	second := subscriber(t, address, "")
	receive(t, second)
	_ = x.Publish(text("t", "now"))
	if got := receive(t, second); got != "t now" {
		t.Errorf("the second subscriber got %q, want only what is new", got)
	}
}

func TestStalledSubscriberIsDroppedAlone(t *testing.T) {
	lim := quick()
	lim.FullWait = time.Second
	x, address := newPublisher(t, lim)
	healthy, stalled := subscriber(t, address, ""), subscriber(t, address, "")
	receive(t, healthy)
	receive(t, stalled)
	const messages = 400 // of 100 KB: more than the queue and the network's own buffers hold
	body := bytes.Repeat([]byte("x"), 100<<10)
	done := make(chan error, 1)
	go func() {
		for i := range messages {
			_ = healthy.raw.SetReadDeadline(time.Now().Add(patience))
			m, err := healthy.Receive()
			if err == nil && string(m[1]) != fmt.Sprint(i) {
				err = fmt.Errorf("message %s where %d was due", m[1], i)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	began, longest := time.Now(), time.Duration(0)
	for i := range messages {
		if err := x.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		_ = x.Publish([][]byte{[]byte("t"), []byte(fmt.Sprint(i)), body})
		longest = max(longest, time.Since(before))
	}
	if err := <-done; err != nil {
		t.Errorf("the healthy subscriber: %v", err)
	}
	if took := time.Since(began); took > 30*lim.FullWait { // the stalled one is waited for once, and not with each message
		t.Errorf("%d messages took %v beside a stalled subscriber", messages, took)
	}
	if longest > lim.FullWait/2 { // it takes microseconds
		t.Errorf("a message waited %v in Publish", longest)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.topics); n != 1 {
		t.Errorf("%d subscribers are left, want the healthy one", n)
	}
}

// TestSlowSubscriberIsWaitedFor has one that reads a tenth of what could be published, and wants it to get all of it.
func TestSlowSubscriberIsWaitedFor(t *testing.T) {
	lim := quick()
	lim.Rate, lim.FullWait = 64<<10, patience // how slow it may be on a busy machine is not what is tested
	x, address := newPublisher(t, lim)
	slow := subscriber(t, address, "")
	receive(t, slow)
	const messages = 150
	body := bytes.Repeat([]byte("x"), 100<<10)
	done := make(chan error, 1)
	go func() {
		for i := range messages {
			time.Sleep(5 * time.Millisecond) // it is slow: 20 MB a second
			_ = slow.raw.SetReadDeadline(time.Now().Add(patience))
			m, err := slow.Receive()
			if err == nil && string(m[1]) != fmt.Sprint(i) {
				err = fmt.Errorf("message %s where %d was due", m[1], i)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for i := range messages {
		if err := x.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = x.Publish([][]byte{[]byte("t"), []byte(fmt.Sprint(i)), body})
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestClientThatDoesNotReadIsDropped asks for much and reads nothing: another client is answered all the time.
func TestClientThatDoesNotReadIsDropped(t *testing.T) {
	r, address := newRouter(t, quick())
	body := bytes.Repeat([]byte("x"), 100<<10)
	go func() { // answers with much, and never waits
		for {
			m, err := r.Receive(t.Context())
			if err != nil {
				return
			}
			_ = r.Send(append(m, body))
		}
	}()
	deaf, other := dealer(t, address, "deaf"), dealer(t, address, "other")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for deaf.Send(text("give")) == nil {
		}
	}()
	for {
		if err := other.Send(text("give")); err != nil {
			t.Fatal(err)
		}
		receive(t, other)
		select {
		case <-gone:
			return
		default:
		}
	}
}

func TestEchoOutlivesABadEnvelope(t *testing.T) {
	address := newEcho(t, Limits{})
	bad := dealer(t, address, "")
	if err := bad.Send(text("no", "envelope")); err != nil {
		t.Fatal(err)
	}
	if err := bad.Send(text("id", "", "right")); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, bad); got != "id  right" {
		t.Errorf("got %q, want the request with its envelope", got)
	}
	c, err := DialRequester(t.Context(), endpoint(address))
	opened(t, c, err)
	for range 3 {
		if err := c.Send(text("ping")); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, c); got != "ping" {
			t.Errorf("got %q, want ping", got)
		}
	}
}

func TestCloseDrainsAndLeavesNothing(t *testing.T) {
	before, files := runtime.NumGoroutine(), openFiles()
	for range 10 {
		x, err := NewPublisher(endpoint("127.0.0.1:0"), Limits{}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := DialSubscriber(t.Context(), endpoint(x.net.Addr().String()), "")
		if err != nil {
			t.Fatal(err)
		}
		silent, err := net.Dial("tcp", x.net.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = x.Publish(text("t", "first"))
		if got := receive(t, c); got != "t first" {
			t.Fatalf("got %q", got)
		}
		for i := range 50 {
			_ = x.Publish(text("t", fmt.Sprint(i)))
		}
		_ = x.Close()
		for i := range 50 {
			if got, want := receive(t, c), fmt.Sprintf("t %d", i); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		_, _ = c.Close(), silent.Close()
	}
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if n := openFiles(); n > files+1 { // one for the poller, where there was none
		t.Errorf("%d open files, %d before", n, files)
	}
}

// openFiles is how many file descriptors the process has; 0 where the system does not say.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

func TestReceiveEnds(t *testing.T) {
	r, _ := newRouter(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	_ = r.Close()
	if _, err := r.Receive(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
}

func TestIPC(t *testing.T) {
	dir, err := os.MkdirTemp("", "cancha") // t.TempDir is too long for a socket's path on some systems
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s-1")
	at := wire.Endpoint{Network: "unix", Address: path, CurveKeys: testKeys}
	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = stale.Close() // as a killed process leaves it
	r, err := NewRouter(at, Limits{}, nil, nil)
	if err != nil {
		t.Fatalf("a stale file: %v", err)
	}
	defer r.Close()
	echo(t, r)
	if _, err := NewRouter(at, Limits{}, nil, nil); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a path in use: got %v", err)
	}
	c, err := DialDealer(t.Context(), at, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Send(text("hi")); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, c); got != "hi" {
		t.Errorf("got %q, want hi", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewRouter(wire.Endpoint{Network: "unix", Address: file}, Limits{}, nil, nil); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file that is no socket: got %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("somebody's file was removed: %v", err)
	}
}
