package guard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// valid is the shortest Metadata request, version 0, with its length.
var valid = []byte{0, 0, 0, 14, 0, 3, 0, 0, 0, 0, 0, 7, 0xff, 0xff, 0, 0, 0, 0}

// wire is a listener whose peers are pipes, so that a test's clock is its own.
type wire struct {
	peers chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.peers:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}
func (w *wire) Close() error   { w.once.Do(func() { close(w.done) }); return nil }
func (w *wire) Addr() net.Addr { return &net.TCPAddr{} }

// setup guards a wire and echoes each request that gets through.
func setup(t *testing.T, limits Limits, with ...func(*Listener)) (dial func() net.Conn, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	w := &wire{peers: make(chan net.Conn), done: make(chan struct{})}
	l := Listen(w, limits, slog.New(slog.NewTextHandler(log, nil)))
	for _, set := range with {
		set(l)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
		if n := l.Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		if !l.pending.TryAcquire(l.limits.PendingBytes) {
			t.Error("room for requests is not given back")
		}
	})
	return func() net.Conn {
		ours, theirs := net.Pipe()
		w.peers <- theirs
		t.Cleanup(func() { ours.Close() })
		return ours
	}, log
}

func echoed(t *testing.T, c net.Conn, frame []byte) {
	t.Helper()
	go c.Write(frame)
	got := make([]byte, len(frame))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, frame) {
		t.Fatalf("got %x, %v; want %x", got, err, frame)
	}
}

// ends waits until the other side has closed c.
func ends(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("read %d bytes, %v; want the connection closed", n, err)
	}
}

func TestPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, log := setup(t, Limits{})
		c := dial()
		for range 3 {
			echoed(t, c, valid)
		}
		echoed(t, c, largeProduce(3<<20))
		c.Close()
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("logged %s", log)
		}
	})
}

// largeProduce is a Produce of version 3 with records of n bytes.
func largeProduce(n int) []byte {
	body := []byte{0, 0, 0, 3, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0}
	body = append(binary.BigEndian.AppendUint32(body, uint32(n)), make([]byte, n)...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// TestAnswers has other answers sent than those that the broker gives.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed atomic.Uint64
		dial, _ := setup(t, Limits{}, func(l *Listener) {
			l.Arrived = failed.Load
			l.Answering = func(to Request, answer []byte) []byte {
				return fmt.Appendf(nil, "kind %d, version %d at %d: %d bytes", to.Kind, to.Version, to.Arrived, len(answer))
			}
		})
		numbered := bytes.Clone(valid)
		copy(numbered[8:], numbered[4:8]) // the echo is an answer to itself
		c := dial()
		for i := range 6 {
			failed.Store(uint64(i))
			echoed(t, c, valid) // is no answer to anything
			go c.Write(numbered)
			want := fmt.Sprintf("kind 3, version 0 at %d: 18 bytes", i)
			got := make([]byte, len(want))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		}
	})
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		send string
		want string
	}{
		"a length of 4 GiB":       {"\xff\xff\xff\xff", "it announced a request of 4294967295 bytes, and requests have 10 to 104857600"},
		"a length of nothing":     {"\x00\x00\x00\x00", "it announced a request of 0 bytes"},
		"HTTP":                    {"GET / HTTP/1.1\r\n", "an HTTP client?"},
		"TLS":                     {"\x16\x03\x01\x02\x00", "security.protocol=PLAINTEXT"},
		"an unknown kind":         {"\x00\x00\x00\x0d\x7f\xff\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00", "a request of kind 32767"},
		"a large control request": {"\x00\x20\x00\x00\x00\x03\x00\x01" + strings.Repeat("\x00", freeBytes), "a request of kind 3 with 2097152 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial, log := setup(t, Limits{})
				peer := dial()
				go peer.Write([]byte(c.send))
				ends(t, peer)
				synctest.Wait()
				if !strings.Contains(log.String(), c.want) {
					t.Errorf("logged %s, want %s", log, c.want)
				}
				echoed(t, dial(), valid)
			})
		})
	}
}

func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, log := setup(t, Limits{First: time.Second, Whole: 2 * time.Second, Idle: time.Minute, Taken: 3 * time.Second})
		begin := time.Now()
		silent := dial()
		ends(t, silent)
		if d := time.Since(begin); d != time.Second {
			t.Errorf("a silent peer was closed after %v", d)
		}
		half := dial()
		half.Write(valid[:9])
		ends(t, half)
		if d := time.Since(begin); d != 3*time.Second {
			t.Errorf("half a request was waited for until %v", d)
		}
		idle := dial()
		echoed(t, idle, valid)
		ends(t, idle)
		if d := time.Since(begin); d != time.Minute+3*time.Second {
			t.Errorf("an idle peer was closed after %v", d)
		}
		deaf := dial()
		deaf.Write(valid)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !strings.Contains(log.String(), "it does not read its answers") {
			t.Errorf("logged %s", log)
		}
	})
}

func TestConnectionsHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, _ := setup(t, Limits{Connections: 3})
		busy, idle := dial(), dial()
		echoed(t, idle, valid)
		time.Sleep(time.Second)
		echoed(t, busy, valid)
		dial()
		dial()
		synctest.Wait()
		ends(t, idle)
		echoed(t, busy, valid)
	})
}

// TestPendingHasABound lets two peers send requests of which one finds room.
func TestPendingHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, log := setup(t, Limits{PendingBytes: 1 << 20, Whole: time.Minute})
		frame := largeProduce(900 << 10)
		slow, late := dial(), dial()
		slow.Write(frame[:len(frame)-1])
		go late.Write(frame)
		time.Sleep(time.Second)
		slow.Close() // and its room is free
		got := make([]byte, len(frame))
		if _, err := io.ReadFull(late, got); err != nil {
			t.Fatalf("%v; logged %s", err, log)
		}
	})
}

// TestMemory announces 15 GB and sends none of it.
func TestMemory(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := Listen(l, Limits{}, nil)
	var all sync.WaitGroup
	defer all.Wait()
	defer g.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 150 {
		peer, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		c, err := g.Accept()
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer c.Close()
			c.Read(make([]byte, 1))
		})
		peer.Write([]byte{6, 0x40, 0, 0, 0, 0, 0, 3})
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
		t.Errorf("allocated %d MB", got>>20)
	}
}
