package curve

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// commands are the bodies of one handshake's commands.
type commands struct{ hello, welcome, initiate, ready []byte }

// hands is both sides of a handshake that has been made.
type hands struct {
	commands
	clientHeard, serverHeard []byte // metadata
	client, server           *Session
}

// shake makes a handshake; change may alter what is sent at each of four steps.
func shake(keys Pair, known Key, change func(step int, body []byte) []byte) (h hands, err error) {
	server, client := NewServer(keys), NewClient(NewPair(), known)
	if h.hello, err = client.Hello(); err != nil {
		return h, err
	}
	if h.welcome, err = server.Welcome(change(0, h.hello)); err != nil {
		return h, err
	}
	if h.initiate, err = client.Initiate(change(1, h.welcome), []byte("of the client")); err != nil {
		return h, err
	}
	if h.ready, h.serverHeard, h.server, err = server.Ready(change(2, h.initiate), []byte("of the server")); err != nil {
		return h, err
	}
	h.clientHeard, h.client, err = client.Ready(change(3, h.ready))
	return h, err
}

func same(_ int, body []byte) []byte { return body }

func made(t *testing.T) hands {
	t.Helper()
	keys := NewPair()
	h, err := shake(keys, keys.Public, same)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHandshake(t *testing.T) {
	h := made(t)
	if got := string(h.serverHeard); got != "of the client" {
		t.Errorf("the server heard %q", got)
	}
	if got := string(h.clientHeard); got != "of the server" {
		t.Errorf("the client heard %q", got)
	}
	names := map[string]int{"HELLO": 6, "WELCOME": 8, "INITIATE": 9, "READY": 6}
	for _, c := range []struct {
		name string
		body []byte
		want int // the specification's size, with the name
	}{
		{"HELLO", h.hello, 200}, {"WELCOME", h.welcome, 168}, {"INITIATE", h.initiate, 257 + len("of the client")}, {"READY", h.ready, 30 + len("of the server")},
	} {
		if got := names[c.name] + len(c.body); got != c.want {
			t.Errorf("%s has %d bytes, want %d", c.name, got, c.want)
		}
	}
	for name, body := range map[string][]byte{"INITIATE": h.initiate, "READY": h.ready} {
		if bytes.Contains(body, []byte("of the")) {
			t.Errorf("%s shows its metadata", name)
		}
	}
}

func TestSession(t *testing.T) {
	h := made(t)
	for _, way := range []struct {
		name     string
		from, to *Session
	}{{"to the server", h.client, h.server}, {"to the client", h.server, h.client}} {
		for i, frame := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("0123456789"), 1<<15), []byte("y")} {
			for _, flags := range []byte{0, More, Command} {
				sealed := way.from.Seal([]byte("before"), flags, frame)
				if want := len("before") + Overhead + len(frame); len(sealed) != want {
					t.Errorf("%s: frame %d has %d bytes, want %d", way.name, i, len(sealed), want)
				}
				got, opened, err := way.to.Open(sealed[len("before"):])
				if err != nil || got != flags || !bytes.Equal(opened, frame) {
					t.Errorf("%s: frame %d with flags %d: got %d bytes with flags %d, %v", way.name, i, flags, len(opened), got, err)
				}
			}
		}
	}
}

// TestEveryByteCounts changes each byte of each command: the step that reads it refuses it.
func TestEveryByteCounts(t *testing.T) {
	keys := NewPair()
	h := made(t)
	for step, body := range [][]byte{h.hello, h.welcome, h.initiate, h.ready} {
		for at := range body {
			changed := func(s int, body []byte) []byte {
				if s != step {
					return body
				}
				body = slices.Clone(body)
				body[at] ^= 0x40 // the uppermost bit of a public key does not count
				return body
			}
			if _, err := shake(keys, keys.Public, changed); !errors.Is(err, ErrBox) && !errors.Is(err, ErrMalformed) {
				t.Errorf("step %d, byte %d changed: got %v", step, at, err)
			}
		}
		for _, size := range []int{0, 1, len(body) - 1, len(body) + 1} {
			cut := func(s int, body []byte) []byte {
				if s != step {
					return body
				}
				return append(slices.Clone(body), 0)[:size]
			}
			if _, err := shake(keys, keys.Public, cut); err == nil {
				t.Errorf("step %d of %d bytes: want an error", step, size)
			}
		}
	}
}

func TestAnotherServersKey(t *testing.T) {
	if h, err := shake(NewPair(), NewPair().Public, same); !errors.Is(err, ErrBox) || h.welcome != nil {
		t.Errorf("got %v and %d bytes of WELCOME, want none for who does not know the key", err, len(h.welcome))
	}
}

// lowOrder are points whose product with any secret is zero, in two of their forms.
func lowOrder() []Key { return []Key{{}, {1}} }

// TestKeysOfLowOrder: a box for such a key opens without a secret, so who sends one proves nothing.
func TestKeysOfLowOrder(t *testing.T) {
	keys := NewPair()
	for _, low := range lowOrder() {
		forged := &Client{keys: NewPair(), transient: Pair{Public: low}, server: low}
		forged.key = &degenerate
		hello := make([]byte, versionSize+paddingSize)
		hello[0] = 1
		hello = append(hello, low[:]...)
		hello = forged.sent.seal(hello, helloPrefix, make([]byte, proofSize), &degenerate)
		if welcome, err := NewServer(keys).Welcome(hello); !errors.Is(err, ErrBox) {
			t.Errorf("%v: got a WELCOME of %d bytes, %v", low[:2], len(welcome), err)
		}
		if _, err := NewClient(NewPair(), low).Hello(); !errors.Is(err, ErrBox) {
			t.Errorf("a server's key %v: got %v", low[:2], err)
		}
	}
}

// TestVouch: an INITIATE that is whole, but whose vouch is for another transient key or another server, or of another client.
func TestVouch(t *testing.T) {
	keys := NewPair()
	for _, c := range []struct {
		name  string
		vouch func(c *Client, server Key) []byte
	}{
		{"for another transient key", func(c *Client, server Key) []byte { return vouchFor(c.keys, NewPair().Public, keys.Public, server) }},
		{"for another server", func(c *Client, server Key) []byte {
			return vouchFor(c.keys, c.transient.Public, NewPair().Public, server)
		}},
		{"of another client", func(c *Client, server Key) []byte {
			return vouchFor(NewPair(), c.transient.Public, keys.Public, server)
		}},
	} {
		server, client := NewServer(keys), NewClient(NewPair(), keys.Public)
		hello, _ := client.Hello()
		welcome, err := server.Welcome(hello)
		if err != nil {
			t.Fatal(err)
		}
		transient, cookie, err := client.readWelcome(welcome)
		if err != nil {
			t.Fatal(err)
		}
		key, _ := shared(&transient, &client.transient.Secret)
		content := slices.Concat(client.keys.Public[:], c.vouch(client, transient))
		initiate := client.sent.seal(slices.Clone(cookie), initiatePrefix, content, key)
		if _, _, _, err := server.Ready(initiate, nil); !errors.Is(err, ErrBox) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func vouchFor(permanent Pair, transient, server, to Key) []byte {
	key, _ := shared(&to, &permanent.Secret)
	return sealLong(nil, vouchPrefix, slices.Concat(transient[:], server[:]), key)
}

// TestCookieIsGoodOnce: neither on the same connection nor on another is an INITIATE taken again.
func TestCookieIsGoodOnce(t *testing.T) {
	keys := NewPair()
	server, client := NewServer(keys), NewClient(NewPair(), keys.Public)
	hello, _ := client.Hello()
	welcome, err := server.Welcome(hello)
	if err != nil {
		t.Fatal(err)
	}
	initiate, err := client.Initiate(welcome, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := server.Ready(initiate, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := server.Ready(initiate, nil); err == nil {
		t.Error("it is taken twice")
	}
	other := NewServer(keys)
	if _, err := other.Welcome(hello); err != nil {
		t.Fatalf("a HELLO that was recorded gets a WELCOME: %v", err)
	}
	if _, _, _, err := other.Ready(initiate, nil); !errors.Is(err, ErrBox) {
		t.Errorf("on another connection: got %v", err)
	}
	if _, _, _, err := NewServer(keys).Ready(initiate, nil); err == nil {
		t.Error("it is taken before any HELLO")
	}
}

// TestBoxesComeOnceInOrder: what was sent before, or earlier, or to the other side, is refused.
func TestBoxesComeOnceInOrder(t *testing.T) {
	h := made(t)
	first, second := h.client.Seal(nil, 0, []byte("1")), h.client.Seal(nil, 0, []byte("2"))
	if _, _, err := h.client.Open(first); !errors.Is(err, ErrBox) {
		t.Errorf("one's own: got %v", err)
	}
	if _, _, err := made(t).server.Open(first); !errors.Is(err, ErrBox) {
		t.Errorf("another connection's: got %v", err)
	}
	if _, _, err := h.server.Open(second); err != nil {
		t.Fatal(err)
	}
	for _, again := range [][]byte{second, first} {
		if _, _, err := h.server.Open(again); !errors.Is(err, ErrBox) {
			t.Errorf("again: got %v", err)
		}
	}
	forged := h.client.Seal(nil, 0, []byte("3"))
	forged[len(messageName)+shortNonce-1] += 100 // a later nonce, which the box is not for
	if _, _, err := h.server.Open(forged); !errors.Is(err, ErrBox) {
		t.Errorf("another nonce: got %v", err)
	}
	if _, _, err := h.server.Open(h.client.Seal(nil, 0, nil)); err != nil {
		t.Errorf("after what was refused: %v", err)
	}
}

func TestNothingShowsKeys(t *testing.T) {
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got, want := fmt.Sprintf(format, NewPair()), "curve.Pair{hidden}"; got != want {
			t.Errorf("%s prints %s, want %s", format, got, want)
		}
	}
}

// FuzzCommands has both sides read arbitrary bodies, and arbitrary contents in boxes that open: nothing panics, and nothing gets a session
// that was not vouched for.
func FuzzCommands(f *testing.F) {
	f.Add(byte(0), []byte{1, 0})
	f.Add(byte(1), make([]byte, welcomeSize))
	f.Add(byte(2), make([]byte, initiateSize))
	f.Add(byte(3), make([]byte, readySize))
	f.Add(byte(4), []byte("\x07MESSAGE"))
	f.Add(byte(5), make([]byte, keySize+vouchSize))
	f.Add(byte(6), []byte{2, 4, 'P', 'I', 'N', 'G'})
	keys := NewPair()
	welcoming, initiating := NewServer(keys), NewClient(NewPair(), keys.Public)
	hello, _ := initiating.Hello()
	welcome, err := welcoming.Welcome(hello)
	if err != nil {
		f.Fatal(err)
	}
	greeted := *initiating
	initiate, err := initiating.Initiate(welcome, nil)
	if err != nil {
		f.Fatal(err)
	}
	done := *welcoming
	ready, _, theirs, err := done.Ready(initiate, nil)
	if err != nil {
		f.Fatal(err)
	}
	finished := *initiating
	_, mine, err := finished.Ready(ready)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, step byte, body []byte) {
		server, half, client, from, to := *welcoming, greeted, *initiating, *mine, *theirs // of each a new one
		var err error
		switch step % 7 {
		case 0:
			_, err = NewServer(keys).Welcome(body)
		case 1:
			_, err = half.Initiate(body, nil)
		case 2:
			_, _, _, err = server.Ready(body, nil)
		case 3:
			_, _, err = client.Ready(body)
		case 4:
			_, _, err = to.Open(body)
		case 5: // in a box that opens, which a client seals that has no vouch
			body = append(body, make([]byte, max(0, keySize+vouchSize-len(body)))...)
			_, _, _, err = server.Ready(client.sent.seal(slices.Clone(initiate[:cookieSize]), initiatePrefix, body, client.key), nil)
		case 6:
			fuzzFrame(t, &from, &to, body)
			return
		}
		if err == nil {
			t.Errorf("step %d: what nobody has sealed is taken", step%7)
		}
	})
}

// fuzzFrame seals a frame, the flags first, and opens it: unknown flags are refused, and all else comes as it was.
func fuzzFrame(t *testing.T, from, to *Session, body []byte) {
	flags, frame := byte(0), body
	if len(body) > 0 {
		flags, frame = body[0], body[1:]
	}
	got, opened, err := to.Open(from.Seal(nil, flags, frame))
	known := flags == 0 || flags == More || flags == Command
	if known != (err == nil) || known && (got != flags || !bytes.Equal(opened, frame)) {
		t.Errorf("flags %#x and %d bytes: got %#x and %d, %v", flags, len(frame), got, len(opened), err)
	}
}

func BenchmarkHandshake(b *testing.B) {
	keys := NewPair()
	for b.Loop() {
		if _, err := shake(keys, keys.Public, same); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	keys := NewPair()
	h, err := shake(keys, keys.Public, same)
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{32, 300, 10_000, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			frame, out := make([]byte, size), []byte(nil)
			b.SetBytes(int64(size))
			for b.Loop() {
				out = h.client.Seal(out[:0], 0, frame)
				if _, _, err := h.server.Open(out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
