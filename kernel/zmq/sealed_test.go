package zmq

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/wire"
	"cancha/kernel/zmq/curve"
)

// testKeys are those of the sockets that tests open: none, but while TestEncrypted runs.
var testKeys wire.CurveKeys

func endpoint(address string) wire.Endpoint {
	return wire.Endpoint{Network: "tcp", Address: address, CurveKeys: testKeys}
}

// withKeys has tests open encrypted sockets until t ends.
func withKeys(t *testing.T) {
	testKeys = wire.NewCurveKeys()
	t.Cleanup(func() { testKeys = wire.CurveKeys{} })
}

// TestEncrypted runs again, on encrypted sockets, what holds for all of them.
func TestEncrypted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	withKeys(t)
	for _, again := range []struct {
		name string
		test func(*testing.T)
	}{
		{"the router answers the sender", TestRouterAnswersTheSender},
		{"large messages", TestRouterCarriesLargeMessages},
		{"the newest takes the identity", TestNewestConnectionTakesTheIdentity},
		{"silent peers delay nobody", TestSilentPeersDelayNobody},
		{"silent peers are cut off", TestSilentPeersAreCutOff},
		{"the oldest handshake goes first", TestOldestHandshakeGoesFirst},
		{"PING", TestPingIsAnsweredAndNoMessage},
		{"welcome comes first", TestWelcomeComesFirst},
		{"the first words", TestFirstSubscriberGetsTheFirstWords},
		{"a stalled subscriber", TestStalledSubscriberIsDroppedAlone},
		{"a slow subscriber", TestSlowSubscriberIsWaitedFor},
		{"a client that does not read", TestClientThatDoesNotReadIsDropped},
		{"a bad envelope", TestEchoOutlivesABadEnvelope},
		{"close drains", TestCloseDrainsAndLeavesNothing},
		{"ipc", TestIPC},
		{"garbage", TestGarbageEndsOnlyItsConnection},
		{"who does not read is not heard", TestWhoDoesNotReadIsNotHeard},
		{"what is held makes room", TestWhatIsHeldMakesRoom},
		{"strangers end no client's message", TestStrangersEndNoClientsMessage},
		{"clients wait for each other", TestClientsWaitForEachOther},
		{"idle peers shut nobody out", TestIdlePeersShutNobodyOut},
		{"idle peers shut no client out", TestIdlePeersShutNoClientOut},
		{"unfinished messages", TestUnfinishedMessageHasLimitedTime},
		{"messages wait within the limit", TestMessagesWaitWithinTheLimit},
		{"subscriptions are small", TestSubscriptionsAreSmall},
	} {
		t.Run(again.name, again.test)
	}
}

// sealedRaw is a live encrypted connection of a peer that may do what a client does not: frames that tests write as if nothing were
// encrypted leave in boxes, and what comes is read as if it came without them.
type sealedRaw struct {
	*link
	raw  net.Conn
	rest []byte // of a box whose frame has not been written whole
	due  int    // bytes of that frame to come
}

// newSealedRaw makes the handshake.
func newSealedRaw(t *testing.T, raw net.Conn, kind string) *sealedRaw {
	t.Helper()
	l := newLink(raw, raw, Limits{Message: 1 << 30}.withDefaults())
	_ = raw.SetDeadline(time.Now().Add(patience))
	if _, err := open(l, testKeys, zmq4.SocketType(kind), "", false); err != nil {
		t.Fatal(err)
	}
	_ = raw.SetDeadline(time.Time{})
	l.live = true
	l.onCommand = func(string, []byte) error { return nil } // a PONG may come before the end that a test waits for
	return &sealedRaw{link: l, raw: raw}
}

// Write sends frames. One of which a part is given is sealed as if the rest were zeros, and the same part of its box is sent.
func (s *sealedRaw) Write(b []byte) (n int, err error) {
	var out []byte
	all := len(b)
	for len(b) > 0 {
		if s.due == 0 {
			flags, size, body := cutFrame(b)
			b, out = body, binary.BigEndian.AppendUint64(append(out, flagLong), size+uint64(curve.Overhead))
			s.rest = s.box(flags, size, body)
			if s.due = int(min(size, 1<<40)); s.due == 0 {
				out = append(out, s.rest...)
			}
			continue
		}
		part := min(len(b), s.due)
		b, s.due = b[part:], s.due-part
		if s.due > 0 {
			part = min(part, len(s.rest))
		} else {
			part = len(s.rest)
		}
		out, s.rest = append(out, s.rest[:part]...), s.rest[part:]
	}
	if n, err := s.raw.Write(out); err != nil {
		return min(n, all), err
	}
	return all, nil
}

// box returns a frame in its box; of one that no test sends whole, the beginning.
func (s *sealedRaw) box(flags byte, size uint64, body []byte) []byte {
	frame := make([]byte, min(size, 1<<28))
	copy(frame, body)
	inner := flags & flagMore
	if flags&flagCommand != 0 {
		inner = curve.Command
	}
	return s.session.Seal(nil, inner, frame)
}

// pongs reads until a PONG with this context comes.
func pongs(t *testing.T, raw net.Conn, context string) {
	t.Helper()
	_ = raw.SetReadDeadline(time.Now().Add(patience))
	if s, ok := raw.(*sealedRaw); ok {
		answers := errors.New("a PONG")
		s.onCommand = func(name string, body []byte) error {
			if name == "PONG" && string(body) == context {
				return answers
			}
			return nil
		}
		if _, err := s.Read(make([]byte, 9)); !errors.Is(err, answers) {
			t.Fatalf("no PONG with its context: %v", err)
		}
		return
	}
	var got []byte
	for !bytes.Contains(got, []byte("\x04PONG"+context)) {
		b := make([]byte, 256)
		n, err := raw.Read(b)
		if err != nil {
			t.Fatalf("no PONG with its context in %q: %v", got, err)
		}
		got = append(got, b[:n]...)
	}
}

// curveGreeting is what a libzmq peer says first that has keys.
func curveGreeting() []byte {
	g := greeting()
	copy(g[12:], "CURVE")
	return g
}

// TestMechanismsMustBeTheSame: neither side goes on with a peer that encrypts where it does not, or has another key.
func TestMechanismsMustBeTheSame(t *testing.T) {
	none, one, other := wire.CurveKeys{}, wire.NewCurveKeys(), wire.NewCurveKeys()
	for _, c := range []struct {
		name           string
		server, client wire.CurveKeys
		want           string
	}{
		{"a client without keys", one, none, `the peer's is "CURVE", and ours NULL`},
		{"a server without keys", none, one, `the peer's is "NULL", and ours CURVE`},
		{"another key", one, other, "no answer to HELLO"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewRouter(wire.Endpoint{Network: "tcp", Address: "127.0.0.1:0", CurveKeys: c.server}, quick(), nil, nil)
			opened(t, r, err)
			at := wire.Endpoint{Network: "tcp", Address: r.net.Addr().String(), CurveKeys: c.client}
			if _, err := DialDealer(t.Context(), at, "me"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			} else if differ := c.server.Encrypted() != c.client.Encrypted(); errors.Is(err, ErrMechanism) != differ {
				t.Errorf("got %v, want ErrMechanism only where one encrypts and the other does not", err)
			} else if errors.Is(err, ErrHello) == differ {
				t.Errorf("got %v, want ErrHello only where both encrypt", err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.peers) != 0 {
				t.Errorf("%d peers have entered", len(r.peers))
			}
		})
	}
}

// initiate begins a handshake on a raw connection and returns the INITIATE that would end it.
func initiate(t *testing.T, raw net.Conn) []byte {
	t.Helper()
	client := curve.NewClient(curve.NewPair(), testKeys.CurvePublic)
	hello, err := client.Hello()
	if err != nil {
		t.Fatal(err)
	}
	goOn(t, raw, append(curveGreeting(), command("HELLO", hello)...))
	_ = raw.SetReadDeadline(time.Now().Add(patience))
	answer := make([]byte, greetingSize+2+168)
	if _, err := io.ReadFull(raw, answer); err != nil {
		t.Fatal(err)
	}
	if answer[asServerByte] != 1 {
		t.Error("the greeting does not say that it is a server's")
	}
	body, err := client.Initiate(answer[greetingSize+2+len("\x07WELCOME"):], property("Socket-Type", "DEALER"))
	if err != nil {
		t.Fatal(err)
	}
	return command("INITIATE", body)
}

// TestHostileHandshakes: what is no handshake of CURVE ends its connection, and nothing else.
func TestHostileHandshakes(t *testing.T) {
	withKeys(t)
	r, address := newRouter(t, quick())
	echo(t, r)
	first := connect(t, address)
	replayed := initiate(t, first)
	goOn(t, first, replayed)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	hello := func(change func([]byte)) []byte {
		body, err := curve.NewClient(curve.NewPair(), testKeys.CurvePublic).Hello()
		if err != nil {
			t.Fatal(err)
		}
		change(body)
		return command("HELLO", body)
	}
	same := func([]byte) {}
	for _, c := range []struct {
		name string
		sent []byte
	}{
		{"noise", bytes.Repeat([]byte("noise"), 100)},
		{"NULL", join(greeting(), ready("DEALER"))},
		{"NULL's READY after the greeting of CURVE", join(curveGreeting(), ready("DEALER"))},
		{"a message at once", join(curveGreeting(), frame(0, []byte("hello")))},
		{"a MESSAGE at once", join(curveGreeting(), frame(0, make([]byte, 100)))},
		{"HELLO of zeros", join(curveGreeting(), command("HELLO", make([]byte, 194)))},
		{"HELLO cut", join(curveGreeting(), command("HELLO", make([]byte, 20)))},
		{"HELLO of 2^62 bytes", join(curveGreeting(), claim(flagCommand, 1<<62))},
		{"HELLO of 8 kB", join(curveGreeting(), command("HELLO", make([]byte, 8000)))},
		{"HELLO changed", join(curveGreeting(), hello(func(b []byte) { b[len(b)-1]++ }))},
		{"HELLO of another version", join(curveGreeting(), hello(func(b []byte) { b[0] = 2 }))},
		{"HELLO twice", join(curveGreeting(), hello(same), hello(same))},
		{"INITIATE first", join(curveGreeting(), replayed)},
		{"a replayed INITIATE", join(curveGreeting(), hello(same), replayed)},
		{"ERROR", join(curveGreeting(), command("ERROR", []byte("\x02no")))},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := connect(t, address)
			_, _ = raw.Write(c.sent) // the peer may have closed by then
			hasEnded(t, raw, "it")
			alive(t, address)
		})
	}
}

// TestHostileBoxes: who has made the handshake, and so has the key, is bound by the same limits.
func TestHostileBoxes(t *testing.T) {
	withKeys(t)
	r, address := newRouter(t, quick())
	echo(t, r)
	box := func(s *sealedRaw, flags byte, body []byte) []byte { return frame(0, s.session.Seal(nil, flags, body)) }
	for _, c := range []struct {
		name string
		sent func(s *sealedRaw) []byte
	}{
		{"a frame without a box", func(*sealedRaw) []byte { return frame(0, []byte("hello")) }},
		{"a command without a box", func(*sealedRaw) []byte { return command("PING", []byte("\x00\x00")) }},
		{"a box of zeros", func(*sealedRaw) []byte { return frame(0, append([]byte("\x07MESSAGE"), make([]byte, 100)...)) }},
		{"a box changed", func(s *sealedRaw) []byte { b := box(s, 0, []byte("x")); b[len(b)-1]++; return b }},
		{"a box twice", func(s *sealedRaw) []byte { return bytes.Repeat(box(s, 0, []byte("x")), 2) }},
		{"two boxes in the wrong order", func(s *sealedRaw) []byte { a := box(s, 0, nil); return append(box(s, 0, nil), a...) }},
		{"a box with MORE outside", func(s *sealedRaw) []byte { b := box(s, 0, nil); b[0] |= flagMore; return b }},
		{"unknown flags", func(s *sealedRaw) []byte { return box(s, 4, nil) }},
		{"a command with MORE", func(s *sealedRaw) []byte { return box(s, curve.Command|curve.More, []byte("\x04PING\x00\x00")) }},
		{"a command without a name", func(s *sealedRaw) []byte { return box(s, curve.Command, nil) }},
		{"a command of 9 kB", func(s *sealedRaw) []byte {
			return box(s, curve.Command, append([]byte("\x04PING"), make([]byte, 9000)...))
		}},
		{"a frame of 2^49 bytes", func(*sealedRaw) []byte { return claim(0, 1<<49) }},
		{"a frame of 2^63 bytes", func(*sealedRaw) []byte { return claim(0, 1<<63) }},
		{"a frame shorter than a box", func(*sealedRaw) []byte { return frame(0, []byte("\x07MESSAGE")) }},
		{"too many frames", func(s *sealedRaw) (b []byte) {
			for range 2000 {
				b = append(b, box(s, curve.More, nil)...)
			}
			return b
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSealedRaw(t, connect(t, address), "DEALER")
			_, _ = s.raw.Write(c.sent(s)) // the peer may have closed by then
			_ = s.raw.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.Copy(io.Discard, s.raw); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection was not closed")
			}
			alive(t, address)
		})
	}
}

// TestCommandsAreNoFrames: heartbeats between the frames of a message leave it its whole length and number of frames, encrypted or not.
func TestCommandsAreNoFrames(t *testing.T) {
	lim := Limits{Parts: 3, Message: 100, Handshake: patience}
	ping := command("PING", []byte("\x00\x00"))
	more, last := frame(flagMore, make([]byte, 33)), frame(0, make([]byte, 34))
	for _, test := range []struct {
		name string
		sent [][]byte
		ends bool // the connection is ended instead
	}{
		{"none", [][]byte{more, more, last}, false},
		{"before each", [][]byte{ping, more, ping, more, ping, last, ping}, false},
		{"before the last", [][]byte{more, more, ping, ping, ping, ping, last}, false},
		{"behind almost all bytes", [][]byte{frame(flagMore, make([]byte, 99)), ping, frame(flagMore, nil), ping, frame(0, []byte("x"))}, false},
		{"a frame too many", [][]byte{more, frame(flagMore, nil), frame(flagMore, nil), ping, frame(0, nil)}, true},
		{"a byte too many", [][]byte{more, ping, more, ping, frame(0, make([]byte, 35))}, true},
	} {
		exchange := func(t *testing.T) {
			r, address := newRouter(t, lim)
			raw := dialRaw(t, address, "DEALER")
			sent := bytes.Join(test.sent, nil)
			if test.ends {
				_, _ = raw.Write(sent) // the peer may have closed by then
				hasEnded(t, raw, "what is over the limits")
				return
			}
			goOn(t, raw, sent)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			m, err := r.Receive(ctx)
			if err != nil || len(m) != 4 || len(m[1])+len(m[2])+len(m[3]) != 100 {
				t.Errorf("got %d frames, %v; want the sender and 3 of 100 bytes", len(m), err)
			}
		}
		t.Run(test.name+", plain", exchange)
		t.Run(test.name+", sealed", func(t *testing.T) {
			withKeys(t)
			exchange(t)
		})
	}
}

// TestHalfOpenHandshakes has thousands of strangers go half the way, by a HELLO that somebody has recorded: a client comes through, and
// nothing is left of them.
func TestHalfOpenHandshakes(t *testing.T) {
	withKeys(t)
	r, address := newRouter(t, quick())
	echo(t, r)
	hello, err := curve.NewClient(curve.NewPair(), testKeys.CurvePublic).Hello()
	if err != nil {
		t.Fatal(err)
	}
	half := append(curveGreeting(), command("HELLO", hello)...)
	for i := range 3000 {
		raw := connect(t, address)
		_, _ = raw.Write(half[:len(half)-i%2*100]) // every second one is cut
		if i%500 == 0 {
			alive(t, address)
		}
	}
	alive(t, address)
	r.listener.mu.Lock()
	defer r.listener.mu.Unlock()
	if n := len(r.handshaking); n > r.lim.Handshaking {
		t.Errorf("%d peers are in handshake, want at most %d", n, r.lim.Handshaking)
	}
}

// TestHalfHandshakesAreCutOff: a HELLO that is answered gives nobody more time than there is for a handshake.
func TestHalfHandshakesAreCutOff(t *testing.T) {
	withKeys(t)
	lim := quick()
	lim.Handshake = 500 * time.Millisecond
	_, address := newRouter(t, lim)
	raw := connect(t, address)
	hello, err := curve.NewClient(curve.NewPair(), testKeys.CurvePublic).Hello()
	if err != nil {
		t.Fatal(err)
	}
	goOn(t, raw, append(curveGreeting(), command("HELLO", hello)...))
	hasEnded(t, raw, "who says HELLO and no more")
}

// TestSealedPieces: the length of a box is not believed either before it has come.
func TestSealedPieces(t *testing.T) {
	l := newLink(bytesConn{bytes.NewReader(append(claim(0, 200<<20), make([]byte, 100<<10)...))}, io.Discard, Limits{}.withDefaults())
	l.greeting, l.live, l.session = 0, true, new(curve.Session)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := l.Read(make([]byte, 9)); err == nil {
		t.Fatal("half a box is opened")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 512<<10 {
		t.Errorf("100 kB of a box of 200 MB took %d bytes", took)
	}
}

// FuzzSealed has a client that has the key send arbitrary frames, each in a box, and what is no box: what passes is within the limits.
func FuzzSealed(f *testing.F) {
	f.Add([]byte{0, 0, 'x'}, false)
	f.Add([]byte{1, 0, 'x', 0, 1, 'y', 'z', 2, 6, 4, 'P', 'I', 'N', 'G', 0, 0}, false)
	f.Add(bytes.Repeat([]byte{1, 0}, 6), false)
	f.Add([]byte{0, 0, 'x'}, true)
	from, to := sessions(f)
	f.Fuzz(func(t *testing.T, frames []byte, raw bool) {
		mine, theirs := *from, *to // new ones
		sent := frames
		if !raw {
			sent = sealAll(&mine, frames)
		}
		l := newLink(bytesConn{bytes.NewReader(sent)}, io.Discard, Limits{Message: 64, Parts: 4}.withDefaults())
		l.greeting, l.live, l.session = 0, true, &theirs
		l.onCommand = func(name string, body []byte) error {
			if len(name)+len(body) > maxCommand {
				t.Errorf("a command of %d bytes", len(name)+len(body))
			}
			return nil
		}
		passed, _ := io.ReadAll(l) // ends with what is wrong in sent, if not with its end
		if raw && len(passed) > 0 {
			t.Errorf("%q passed without a box", passed)
		}
		size, parts := uint64(0), 0
		for len(passed) > 0 {
			flags, n, body := cutFrame(passed)
			if size, parts = size+n, parts+1; flags&flagCommand != 0 || size > 64 || parts > 4 {
				t.Fatalf("frame %d of a message, flags %#x, of %d bytes in all so far", parts, flags, size)
			}
			if flags&flagMore == 0 {
				size, parts = 0, 0
			}
			passed = body[n:]
		}
	})
}

// sessions returns both ends of a connection.
func sessions(f *testing.F) (client, server *curve.Session) {
	keys := curve.NewPair()
	s, c := curve.NewServer(keys), curve.NewClient(keys, keys.Public)
	hello, err := c.Hello()
	if err != nil {
		f.Fatal(err)
	}
	welcome, err := s.Welcome(hello)
	if err != nil {
		f.Fatal(err)
	}
	initiate, err := c.Initiate(welcome, nil)
	if err != nil {
		f.Fatal(err)
	}
	ready, _, server, err := s.Ready(initiate, nil)
	if err != nil {
		f.Fatal(err)
	}
	if _, client, err = c.Ready(ready); err != nil {
		f.Fatal(err)
	}
	return client, server
}

// sealAll seals frames that are written as flags, size and body.
func sealAll(s *curve.Session, frames []byte) (sent []byte) {
	for len(frames) > 2 {
		flags, size, body := frames[0], min(int(frames[1]), len(frames)-2), frames[2:]
		sent = append(sent, frame(0, s.Seal(nil, flags, body[:size]))...)
		frames = body[size:]
	}
	return sent
}

// bytesConn is a connection from which bytes come and then nothing.
type bytesConn struct{ *bytes.Reader }

func (bytesConn) Write(b []byte) (int, error)      { return len(b), nil }
func (bytesConn) Close() error                     { return nil }
func (bytesConn) LocalAddr() net.Addr              { return nil }
func (bytesConn) RemoteAddr() net.Addr             { return nil }
func (bytesConn) SetDeadline(time.Time) error      { return nil }
func (bytesConn) SetReadDeadline(time.Time) error  { return nil }
func (bytesConn) SetWriteDeadline(time.Time) error { return nil }
