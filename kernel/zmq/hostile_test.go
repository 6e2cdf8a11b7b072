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
			raw := connect(t, address)
			_, _ = raw.Write(c.sent) // the peer may have closed by then
			_ = raw.SetReadDeadline(time.Now().Add(patience))
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
	raw := dialRaw(t, address, kind)
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
	flood(t, newEcho(t, quick()), "REQ", append(frame(flagMore, nil), frame(0, nil)...))
	r, address := newRouter(t, quick())
	echo(t, r)
	flood(t, address, "DEALER", command("PING", []byte("\x00\x00")))
	alive(t, address)
}

// begin sends the first bytes of a message of one frame.
func begin(t *testing.T, raw net.Conn, size, first int64) {
	t.Helper()
	goOn(t, raw, append(claim(0, uint64(size)), make([]byte, first)...))
}

// held waits until so many bytes are counted; the handshake's few are among them.
func held(t *testing.T, a *arrivals, want int64) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // nothing tells
		n := a.held()
		if n >= want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes are counted, want %d", n, want)
		}
	}
}

func (a *arrivals) held() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bytes
}

func goOn(t *testing.T, raw net.Conn, b []byte) {
	t.Helper()
	_ = raw.SetWriteDeadline(time.Now().Add(patience))
	if _, err := raw.Write(b); err != nil {
		t.Fatal(err)
	}
}

// hasEnded waits until a connection is closed.
func hasEnded(t *testing.T, raw net.Conn, who string) {
	t.Helper()
	_ = raw.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, raw); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s is still there", who)
	}
}

// comesBack reads so many bytes of an echo.
func comesBack(t *testing.T, raw net.Conn, bytes int64, whose string) {
	t.Helper()
	_ = raw.SetReadDeadline(time.Now().Add(patience))
	if n, err := io.CopyN(io.Discard, raw, bytes); err != nil {
		t.Errorf("of %s message %d bytes came back: %v", whose, n, err)
	}
}

// nothingCounts closes r, which waits for its peers.
func nothingCounts(t *testing.T, r *Router) {
	t.Helper()
	_ = r.Close()
	for _, a := range []*arrivals{&r.lim.strangers.arrivals, &r.clients.arrivals} {
		if a.bytes != 0 || len(a.peers) != 0 {
			t.Errorf("%d bytes of %d peers are still counted", a.bytes, len(a.peers))
		}
	}
}

// TestWhatIsHeldMakesRoom has three strangers: of those that were there the one goes whose message stands still, though it began later.
func TestWhatIsHeldMakesRoom(t *testing.T) {
	lim := quick()
	lim.Arriving = 10 << 20
	r, address := newRouter(t, lim)
	echo(t, r)
	all := &r.lim.strangers.arrivals
	goesOn, still, last := dialRaw(t, address, "DEALER"), dialRaw(t, address, "DEALER"), dialRaw(t, address, "DEALER")
	begin(t, goesOn, 4<<20, 1<<20)
	held(t, all, 1<<20)
	begin(t, still, 7<<20, 6<<20)
	held(t, all, 7<<20)
	goOn(t, goesOn, make([]byte, 1<<20))
	held(t, all, 8<<20)
	begin(t, last, 4<<20, 3<<20)
	hasEnded(t, still, "the one that stands still")
	goOn(t, goesOn, make([]byte, 2<<20))
	comesBack(t, goesOn, 4<<20, "the first one's")
	goOn(t, last, make([]byte, 1<<20))
	comesBack(t, last, 4<<20, "the last one's")
	nothingCounts(t, r)
}

// signedRouter is a router on which messages are signed by a first byte 's'.
func signedRouter(t *testing.T, lim Limits) (*Router, string) {
	t.Helper()
	signed := func(frames [][]byte) bool { return len(frames[0]) > 0 && frames[0][0] == 's' }
	r, err := NewRouter(endpoint("127.0.0.1:0"), lim, signed, nil)
	return opened(t, r, err), r.net.Addr().String()
}

// dialSigned opens a connection from which a signed message has come, and back.
func dialSigned(t *testing.T, address string) net.Conn {
	t.Helper()
	raw := dialRaw(t, address, "DEALER")
	goOn(t, raw, frame(0, []byte("s")))
	comesBack(t, raw, 3, "a client's")
	return raw
}

// TestStrangersEndNoClientsMessage has a client's largest message come while strangers hold more than there may be.
func TestStrangersEndNoClientsMessage(t *testing.T) {
	lim := quick()
	lim.Arriving = lim.Message
	r, address := signedRouter(t, lim)
	echo(t, r)
	client := dialSigned(t, address)
	begin(t, client, lim.Message, 7<<20)
	held(t, &r.clients.arrivals, 7<<20)
	first, second := dialRaw(t, address, "DEALER"), dialRaw(t, address, "DEALER")
	begin(t, first, 7<<20, 6<<20)
	held(t, &r.lim.strangers.arrivals, 6<<20)
	begin(t, second, 7<<20, 6<<20)
	hasEnded(t, first, "the first stranger")
	goOn(t, client, make([]byte, lim.Message-7<<20))
	comesBack(t, client, lim.Message, "the client's")
	nothingCounts(t, r)
}

// TestClientsWaitForEachOther has two clients send at once what is too large for both: the second waits, longer than a message may stand
// still.
func TestClientsWaitForEachOther(t *testing.T) {
	lim := quick()
	lim.Arriving, lim.Stall = lim.Message+200<<10, 500*time.Millisecond // so the second waits in the middle of a stride
	r, address := signedRouter(t, lim)
	answered, answer := make(chan struct{}), make(chan struct{}, 2)
	go func() {
		defer close(answered)
		for i := 0; ; i++ {
			m, err := r.Receive(t.Context())
			if err != nil {
				return
			}
			_ = r.Send(append(m[:1:1], []byte("s")))
			if i == 1 { // the two first messages were small: what is large now waits
				<-answer
			}
		}
	}()
	first, second := dialSigned(t, address), dialSigned(t, address)
	begin(t, first, lim.Message, lim.Message)
	held(t, &r.clients.arrivals, lim.Message)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = second.Write(append(claim(0, uint64(lim.Message)), make([]byte, lim.Message)...))
	}()
	time.Sleep(3 * lim.Stall) // is what is tested: who waits for its turn has not stood still
	if n := r.clients.held(); n > lim.Arriving+largestPiece {
		t.Errorf("%d bytes have come, want %d and a piece", n, lim.Arriving)
	}
	close(answer)
	comesBack(t, first, 3, "the first client's")
	comesBack(t, second, 3, "the second client's")
	<-sent
	nothingCounts(t, r)
	<-answered
}

// full is a socket that holds whatever is asked for.
type full struct{ net.Conn }

func (full) Read(p []byte) (int, error) { return len(p), nil }

// TestReadsArePieces: a client's message is read into its place at once, and is counted only then, so that one read is the most that comes
// unseen.
func TestReadsArePieces(t *testing.T) {
	l := newLink(full{}, io.Discard, Limits{}.withDefaults())
	l.greeting, l.live, l.signed, l.body = 0, true, true, 8*largestPiece
	if n, err := l.Read(make([]byte, l.body)); err != nil || n > largestPiece {
		t.Errorf("got %d bytes at once (%v), want at most %d", n, err, largestPiece)
	}
}

// dialRaw opens a live connection that says nothing more.
func dialRaw(t *testing.T, address, kind string) net.Conn {
	t.Helper()
	raw := connect(t, address)
	if testKeys.Encrypted() {
		return newSealedRaw(t, raw, kind)
	}
	hello := append(greeting(), ready(kind)...)
	if _, err := raw.Write(hello); err != nil {
		t.Fatal(err)
	}
	_ = raw.SetReadDeadline(time.Now().Add(patience))
	answer := make([]byte, greetingSize+2) // and a READY, which is short
	_, err := io.ReadFull(raw, answer)
	if err == nil {
		_, err = io.ReadFull(raw, make([]byte, answer[greetingSize+1]))
	}
	if err != nil {
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

// TestIdlePeersShutNoClientOut has strangers open connections again and again, before and after clients have come.
func TestIdlePeersShutNoClientOut(t *testing.T) {
	lim := quick()
	lim.Peers = 16
	r, address := signedRouter(t, lim)
	echo(t, r)
	var clients []net.Conn
	for range 3 {
		clients = append(clients, dialSigned(t, address))
		for range 2 * lim.Peers {
			dialRaw(t, address, "DEALER")
		}
	}
	for _, c := range clients {
		goOn(t, c, frame(0, []byte("s")))
		comesBack(t, c, 3, "a client's")
	}
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
		_ = raw.SetReadDeadline(time.Now().Add(patience))
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
	now := func() (peers int, bytes int64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.peers), r.lim.strangers.held()
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // nothing tells
		if peers, bytes := now(); peers == 2 && bytes > 7<<20 {
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
	raw := dialRaw(t, address, "SUB")
	_, _ = raw.Write(frame(0, append([]byte{1}, make([]byte, maxTopic+1)...)))
	_ = raw.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, raw); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a topic of %d bytes was taken", maxTopic+1)
	}
}
