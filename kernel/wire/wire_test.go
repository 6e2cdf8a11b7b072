package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func newSession(t testing.TB, key, scheme string) *Session {
	t.Helper()
	s, err := NewSession(key, scheme, "tester")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signed returns frames with the given parts, rightly signed by key.
func signed(t testing.TB, key string, parts ...string) [][]byte {
	t.Helper()
	s := newSession(t, key, "")
	raw := make([][]byte, len(parts))
	for i, p := range parts {
		raw[i] = []byte(p)
	}
	n := min(4, len(raw))
	return append([][]byte{[]byte("client"), delimiter, s.sign(raw[:n])}, raw...)
}

const header = `{"msg_id":"1","session":"s","msg_type":"execute_request","version":"5.3","extra":[1, 2]}`

func TestRoundTrip(t *testing.T) {
	for _, scheme := range []string{"hmac-sha256", "hmac-sha512"} {
		a, b := newSession(t, "secret", scheme), newSession(t, "secret", scheme)
		parent := json.RawMessage(`{"msg_id": "p",  "unknown": {"kept": true}}`)
		m, err := a.New("display_data", parent, map[string]int{"n": 1})
		if err != nil {
			t.Fatal(err)
		}
		m.Identities = [][]byte{[]byte("one"), []byte("two")}
		m.Buffers = [][]byte{{0, 1}, {}, []byte("<IDS|MSG>")}
		got, err := b.Decode(a.Encode(m))
		if err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		if !bytes.Equal(got.Parent, parent) {
			t.Errorf("%s: parent %s, want %s byte for byte", scheme, got.Parent, parent)
		}
		if len(got.Identities) != 2 || string(got.Identities[1]) != "two" {
			t.Errorf("%s: identities %q, want one and two", scheme, got.Identities)
		}
		if len(got.Buffers) != 3 || !bytes.Equal(got.Buffers[0], []byte{0, 1}) || string(got.Buffers[2]) != "<IDS|MSG>" {
			t.Errorf("%s: buffers %q", scheme, got.Buffers)
		}
		if got.Header != m.Header || got.ParentID() != "p" {
			t.Errorf("%s: header %+v, parent id %q", scheme, got.Header, got.ParentID())
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := signed(t, "k", header, "{}", "{}", "{}")
	tampered := append([][]byte{}, good...)
	tampered[6] = []byte(`{"code":"evil"}`)
	unsigned := append([][]byte{}, good...)
	unsigned[2] = nil
	for _, c := range []struct {
		name   string
		frames [][]byte
		want   error
	}{
		{"nothing", nil, ErrMalformed},
		{"no delimiter", [][]byte{[]byte("a"), []byte("b")}, ErrMalformed},
		{"two frames after the delimiter", good[:4], ErrMalformed},
		{"changed content", tampered, ErrSignature},
		{"no signature", unsigned, ErrSignature},
		{"another key", signed(t, "other", header, "{}", "{}", "{}"), ErrSignature},
		{"content cut off", signed(t, "k", header, "{}", "{}", `{"code":`), ErrMalformed},
		{"content is a list", signed(t, "k", header, "{}", "{}", `[]`), ErrMalformed},
		{"parent is null", signed(t, "k", header, "null", "{}", "{}"), ErrMalformed},
		{"header without a type", signed(t, "k", `{"msg_id":"1"}`, "{}", "{}", "{}"), ErrMalformed},
		{"header with a number as id", signed(t, "k", `{"msg_id":1,"msg_type":"x"}`, "{}", "{}", "{}"), ErrMalformed},
		{"empty header", signed(t, "k", "", "{}", "{}", "{}"), ErrMalformed},
	} {
		if _, err := newSession(t, "k", "").Decode(c.frames); !errors.Is(err, c.want) {
			t.Errorf("%s: got error %v, want %v", c.name, err, c.want)
		}
	}
}

func TestReplayIsRefused(t *testing.T) {
	s := newSession(t, "k", "")
	frames := signed(t, "k", header, "{}", "{}", "{}")
	if _, err := s.Decode(frames); err != nil {
		t.Fatalf("first: %v", err)
	}
	if _, err := s.Decode(frames); !errors.Is(err, ErrReplayed) {
		t.Errorf("second: got %v, want ErrReplayed", err)
	}
}

// TestOwnMessageIsRefused sends a kernel what it has published: a stranger needs no key for that.
func TestOwnMessageIsRefused(t *testing.T) {
	s := newSession(t, "k", "")
	m, err := s.New("comm_msg", nil, map[string]string{"comm_id": "c"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decode(s.Encode(m)); !errors.Is(err, ErrReplayed) {
		t.Errorf("got %v, want ErrReplayed", err)
	}
	if _, err := newSession(t, "k", "").Decode(s.Encode(m)); err != nil {
		t.Errorf("another session with the key: %v", err)
	}
}

func TestSigned(t *testing.T) {
	s := newSession(t, "k", "")
	published, err := s.New("comm_msg", nil, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	good, again := signed(t, "k", header, "{}", "{}", "{}"), signed(t, "k", header, "{}", "{}", "{ }")
	if _, err := s.Decode(again); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		frames [][]byte
		want   bool
	}{
		{"a client's message", good, true},
		{"looked at once more", good, true},
		{"no message", [][]byte{[]byte("a")}, false},
		{"another key", signed(t, "other", header, "{}", "{}", "{}"), false},
		{"a message that came before", again, false},
		{"what the session itself has signed", s.Encode(published), false},
	} {
		if got := s.Signed(c.frames); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if _, err := s.Decode(good); err != nil {
		t.Errorf("decode what was only looked at: %v", err)
	}
	if open := newSession(t, "", ""); !open.Signed(signed(t, "other", header, "{}", "{}", "{}")) {
		t.Error("without a key nobody's message is signed, want any")
	}
}

func TestReplayMemoryIsBounded(t *testing.T) {
	var g replayGuard
	for i := range 3 * replayMemory {
		if !g.add(fmt.Sprint(i)) {
			t.Fatalf("signature %d counted as seen", i)
		}
	}
	if n := len(g.young) + len(g.old); n > 2*replayMemory {
		t.Errorf("%d signatures kept, want at most %d", n, 2*replayMemory)
	}
	if g.add(fmt.Sprint(3*replayMemory - replayMemory)) {
		t.Errorf("a signature among the last %d was forgotten", replayMemory)
	}
}

func TestWithoutKey(t *testing.T) {
	s := newSession(t, "", "")
	frames := [][]byte{delimiter, []byte("anything"), []byte(header), []byte("{}"), []byte("{}"), []byte("{}")}
	for range 2 { // and no replay guard: identical messages are what an unsigned client may send
		if _, err := s.Decode(frames); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.New("status", nil, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	out := s.Encode(m)
	if len(out[1]) != 0 || string(out[3]) != "{}" {
		t.Errorf("signature %q and parent %q, want empty and {}", out[1], out[3])
	}
}

func TestHeadersAreUnique(t *testing.T) {
	s := newSession(t, "k", "")
	seen := map[string]bool{}
	for range 10_000 {
		m, err := s.New("status", nil, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		if seen[m.Header.ID] || m.Header.Session != s.ID() {
			t.Fatalf("header %+v repeats an id or changes the session", m.Header)
		}
		seen[m.Header.ID] = true
	}
	if newSession(t, "k", "").ID() == s.ID() {
		t.Error("two sessions share an id")
	}
}

func TestParseConnection(t *testing.T) {
	const ports = `"shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":5`
	for _, c := range []struct{ name, file, want string }{
		{"defaults", `{` + ports + `}`, ""},
		{"empty", " ", "it is empty"},
		{"cut off", `{"shell_port":1,`, "no JSON"},
		{"a list", `[]`, "a JSON array, not an object"},
		{"a port in quotes", `{"shell_port":"1"}`, "shell_port is a JSON string, want a whole number"},
		{"a key that is a number", `{"key":1}`, "key is a JSON number, want a string"},
		{"two channels on a port", `{"hb_port":4,` + strings.Replace(ports, `"hb_port":5`, `"x":5`, 1) + `}`, "control_port and hb_port are both 4"},
		{"a long path", `{"transport":"ipc","ip":"/` + strings.Repeat("x", 110) + `",` + ports + `}`, "has 113 bytes"},
		{"ipc", `{"transport":"ipc","ip":"/run/k",` + ports + `}`, ""},
		{"sha512", `{"signature_scheme":"hmac-sha512","key":"k",` + ports + `}`, ""},
		{"not JSON", `{`, "unexpected end"},
		{"transport", `{"transport":"pgm",` + ports + `}`, `"pgm"`},
		{"scheme", `{"signature_scheme":"hmac-md5",` + ports + `}`, "hmac-md5"},
		{"a port is missing", `{"shell_port":1}`, "iopub_port is 0"},
	} {
		_, err := ParseConnection([]byte(c.file))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.Is(err, ErrConnection) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestReadConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kernel.json")
	if _, err := ReadConnection(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"shell_port":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConnection(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("bad file: got %v, want its path named", err)
	}
}

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		c       Connection
		network string
		address string
	}{
		{Connection{Transport: "tcp", IP: "127.0.0.1"}, "tcp", "127.0.0.1:9"},
		{Connection{Transport: "tcp", IP: "*"}, "tcp", ":9"},
		{Connection{Transport: "tcp", IP: "::1"}, "tcp", "[::1]:9"},
		{Connection{Transport: "ipc", IP: "/run/k"}, "unix", "/run/k-9"},
	} {
		if network, address := c.c.Address(9); network != c.network || address != c.address {
			t.Errorf("%+v: got %s %s, want %s %s", c.c, network, address, c.network, c.address)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("client"), []byte(header), []byte("{}"), []byte("{}"), 4)
	f.Add([]byte("<IDS|MSG>"), []byte("{"), []byte("null"), []byte("[]"), 1)
	f.Fuzz(func(t *testing.T, id, head, parent, content []byte, cut int) {
		s := newSession(t, "k", "")
		parts := [][]byte{head, parent, []byte("{}"), content}
		frames := append([][]byte{id, delimiter, s.sign(parts)}, parts...)
		if cut >= 0 && cut < len(frames) {
			frames = frames[:cut]
		}
		m, err := s.Decode(frames)
		if err != nil {
			return
		}
		again, err := newSession(t, "k", "").Decode(s.Encode(m))
		if err != nil || again.Header != m.Header || !bytes.Equal(again.Content, m.Content) {
			t.Errorf("accepted but not the same the second time: %+v, %v", again, err)
		}
	})
}
