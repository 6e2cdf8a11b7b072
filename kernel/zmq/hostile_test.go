package zmq

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// greeting is what a libzmq peer says first.
func greeting() []byte {
	g := make([]byte, greetingSize)
	g[0], g[8], g[9], g[10], g[11] = 0xff, 1, 0x7f, 3, 1
	copy(g[12:], "NULL")
	return g
}

func frame(flags byte, body []byte) []byte {
	if len(body) > 255 {
		return append(binary.BigEndian.AppendUint64([]byte{flags | flagLong}, uint64(len(body))), body...)
	}
	return append([]byte{flags, byte(len(body))}, body...)
}

func command(name string, body []byte) []byte {
	return frame(flagCommand, append(append([]byte{byte(len(name))}, name...), body...))
}

func property(key, value string) []byte {
	b := append([]byte{byte(len(key))}, key...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return append(b, value...)
}

func ready(kind string) []byte { return command("READY", property("Socket-Type", kind)) }

func claim(flags byte, size uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{flags | flagLong}, size)
}

func TestGarbageEndsOnlyItsConnection(t *testing.T) {
	r, address := newRouter(t, quick())
	echo(t, r)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, c := range []struct {
		name string
		sent []byte
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + strings.Repeat("x", 100))},
		{"zeros", make([]byte, 1000)},
		{"PLAIN mechanism", append(append(greeting()[:12], "PLAIN"...), make([]byte, 47)...)},
		{"READY cut in a property", join(greeting(), command("READY", []byte{200, 'S'}))},
		{"READY with a value too long", join(greeting(), command("READY", append(property("Socket-Type", "DEALER")[:12], 255, 255, 255, 255)))},
		{"READY of 2^62 bytes", join(greeting(), claim(flagCommand, 1<<62))},
		{"unknown socket type", join(greeting(), ready("NONSENSE"))},
		{"incompatible socket type", join(greeting(), ready("PUSH"))},
		{"no READY but a message", join(greeting(), frame(0, []byte("hello")))},
		{"identity with a leading zero", join(greeting(), command("READY", join(property("Socket-Type", "DEALER"), property("Identity", "\x00abc"))))},
		{"frame of 2^33 bytes", join(greeting(), ready("DEALER"), claim(0, 1<<33))},
		{"frame of 2^49 bytes", join(greeting(), ready("DEALER"), claim(0, 1<<49))},
		{"frame of 2^63 bytes", join(greeting(), ready("DEALER"), claim(0, 1<<63))},
		{"message over the limit in parts", join(greeting(), ready("DEALER"), frame(flagMore, make([]byte, 5<<20)), claim(0, 5<<20))},
		{"too many frames", join(greeting(), ready("DEALER"), bytes.Repeat([]byte{flagMore, 0}, 2000))},
		{"reserved flags", join(greeting(), ready("DEALER"), frame(0x80, []byte("x")))},
		{"command with more", join(greeting(), ready("DEALER"), frame(flagCommand|flagMore, []byte("\x04PING")))},
		{"command without a name", join(greeting(), ready("DEALER"), frame(flagCommand, nil))},
		{"command with its name cut", join(greeting(), ready("DEALER"), frame(flagCommand, []byte{9, 'P'}))},
		{"PING cut", join(greeting(), ready("DEALER"), command("PING", []byte{0}))},
		{"ERROR", join(greeting(), ready("DEALER"), command("ERROR", []byte("\x02no")))},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			_, _ = raw.Write(c.sent) // the peer may have closed by then
			_ = raw.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := io.Copy(io.Discard, raw); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection was not closed")
			}
			alive(t, address)
		})
	}
}

// FuzzLink reads arbitrary bytes as a live peer's and checks that what passes is within the limits.
func FuzzLink(f *testing.F) {
	f.Add(frame(0, []byte("x")))
	f.Add(append(command("PING", []byte("\x00\x00")), frame(flagMore, nil)...))
	f.Add(claim(flagLong, 1<<62))
	f.Add(bytes.Repeat(frame(flagMore, []byte("x")), 5))
	f.Add(bytes.Repeat(frame(flagMore, make([]byte, 30<<10)), 3))
	f.Fuzz(func(t *testing.T, sent []byte) {
		client, server := net.Pipe()
		go func() {
			_, _ = client.Write(sent)
			_ = client.Close()
		}()
		defer server.Close()
		l := newLink(server, io.Discard, Limits{Message: 1 << 16, Parts: 4}.withDefaults())
		l.greeting, l.live = 0, true
		l.onCommand = func(string, []byte) error { return nil }
		passed, _ := io.ReadAll(l) // ends with what is wrong in sent, if not with its end
		size, parts := uint64(0), 0
		for len(passed) > 0 {
			flags, n, body := cutFrame(passed)
			if size, parts = size+n, parts+1; flags&flagCommand != 0 || size > uint64(l.lim.Message) || parts > l.lim.Parts {
				t.Fatalf("frame %d of a message, flags %#x, of %d bytes in all so far", parts, flags, size)
			}
			if flags&flagMore == 0 {
				size, parts = 0, 0
			}
			passed = body[min(n, uint64(len(body))):] // the last may be cut
		}
	})
}

// cutFrame returns a frame's flags, the size that it claims, and what follows its header.
func cutFrame(b []byte) (flags byte, size uint64, body []byte) {
	if b[0]&flagLong != 0 {
		return b[0], binary.BigEndian.Uint64(b[1:]), b[9:]
	}
	return b[0], uint64(b[1]), b[2:]
}

// flood sends b again and again on a live connection, reading nothing, until it is cut off or stuck, and returns the bytes that were
// taken.
func flood(t *testing.T, address, kind string, b []byte) (taken int) {
	t.Helper()
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_, _ = raw.Write(append(greeting(), ready(kind)...))
	many := bytes.Repeat(b, 64<<10/len(b))
	for range 4096 {
		_ = raw.SetWriteDeadline(time.Now().Add(10 * time.Second))
		n, err := raw.Write(many)
		if taken += n; err != nil {
			return taken
		}
	}
	t.Errorf("a peer that reads nothing was heard for %d bytes", taken)
	return taken
}

func TestWhoDoesNotReadIsNotHeard(t *testing.T) {
	e, err := NewEcho("tcp", "127.0.0.1:0", quick(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	flood(t, e.net.Addr().String(), "REQ", append(frame(flagMore, nil), frame(0, nil)...))
	r, address := newRouter(t, quick())
	echo(t, r)
	flood(t, address, "DEALER", command("PING", []byte("\x00\x00")))
	alive(t, address)
}

func TestOldestUnfinishedMessageMakesRoom(t *testing.T) {
	lim := quick()
	lim.Arriving = 10 << 20
	r, address := newRouter(t, lim)
	echo(t, r)
	begin := func() net.Conn {
		raw, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = raw.Close() })
		_, _ = raw.Write(bytes.Join([][]byte{greeting(), ready("DEALER"), claim(0, 7<<20), make([]byte, 6<<20)}, nil))
		return raw
	}
	oldest, next := begin(), begin()
	_ = oldest.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.Copy(io.Discard, oldest); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the oldest is still there")
	}
	_, _ = next.Write(make([]byte, 1<<20))
	_ = next.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := io.CopyN(io.Discard, next, 7<<20); err != nil {
		t.Errorf("of the younger's message %d bytes came back: %v", n, err)
	}
	_ = r.Close() // waits for its peers
	if r.lim.arrivals.bytes != 0 || len(r.lim.arrivals.peers) != 0 {
		t.Errorf("%d bytes of %d peers are still counted", r.lim.arrivals.bytes, len(r.lim.arrivals.peers))
	}
}

// dialRaw opens a live connection that says nothing more.
func dialRaw(t *testing.T, address, kind string) net.Conn {
	t.Helper()
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	hello := append(greeting(), ready(kind)...)
	if _, err := raw.Write(hello); err != nil {
		t.Fatal(err)
	}
	_ = raw.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(raw, make([]byte, greetingSize+2)); err != nil {
		t.Fatalf("no answer to a handshake: %v", err)
	}
	return raw
}

func exchange(t *testing.T, c *Conn) {
	t.Helper()
	if err := c.Send(text("ping")); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, c); got != "ping" {
		t.Fatalf("got %q back, want ping", got)
	}
}

func TestIdlePeersShutNobodyOut(t *testing.T) {
	lim := quick()
	lim.Peers = 16
	r, address := newRouter(t, lim)
	echo(t, r)
	first := dealer(t, address, "")
	exchange(t, first)
	for range 3 * lim.Peers {
		dialRaw(t, address, "DEALER")
	}
	last := dealer(t, address, "")
	exchange(t, last)
	exchange(t, first)
	exchange(t, last)
}

func TestUnfinishedMessageHasLimitedTime(t *testing.T) {
	lim := quick()
	lim.Stall = 100 * time.Millisecond
	r, address := newRouter(t, lim)
	echo(t, r)
	for _, sent := range [][]byte{
		append(claim(0, 7<<20), make([]byte, 6<<20)...),
		bytes.Repeat(frame(flagMore, make([]byte, 60<<10)), 3),
	} {
		raw := dialRaw(t, address, "DEALER")
		_, _ = raw.Write(sent)
		_ = raw.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.Copy(io.Discard, raw); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a peer that sent %d bytes of a message and no more is still there", len(sent))
		}
	}
	idle := dealer(t, address, "")
	exchange(t, idle)
	time.Sleep(3 * lim.Stall) // is what is tested: a peer between messages may be silent
	exchange(t, idle)
}

// TestMessagesWaitWithinTheLimit has peers send whole messages that nobody takes.
func TestMessagesWaitWithinTheLimit(t *testing.T) {
	lim := quick()
	lim.Arriving = 10 << 20
	r, address := newRouter(t, lim)
	for range 8 {
		raw := dialRaw(t, address, "DEALER")
		_, _ = raw.Write(append(claim(0, 4<<20), make([]byte, 4<<20)...))
	}
	a := r.lim.arrivals
	held := func() (peers int, bytes int64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(r.peers), a.bytes
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) { // nothing tells
		if peers, bytes := held(); peers == 2 && bytes > 7<<20 {
			return
		} else if bytes > lim.Arriving || time.Now().After(end) {
			t.Fatalf("%d peers hold %d bytes", peers, bytes)
		}
	}
}

func TestPiecesAreNoLargerThanWhatCame(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	l := newLink(server, io.Discard, Limits{}.withDefaults())
	l.greeting, l.live = 0, true
	go func() {
		_, _ = client.Write(claim(0, 200<<20))
		_, _ = client.Write(make([]byte, 100<<10))
		_ = client.Close()
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := l.Read(make([]byte, 9)); err == nil {
		t.Fatal("half a frame is read")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 512<<10 {
		t.Errorf("100 kB of a frame of 200 MB took %d bytes", took)
	}
}

func TestSubscriptionsAreSmall(t *testing.T) {
	_, address := newPublisher(t, Limits{})
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_, _ = raw.Write(bytes.Join([][]byte{greeting(), ready("SUB"), frame(0, append([]byte{1}, make([]byte, maxTopic+1)...))}, nil))
	_ = raw.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.Copy(io.Discard, raw); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a topic of %d bytes was taken", maxTopic+1)
	}
}
