package kerneltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// wireCases are the properties of trust: what is no message of ours must change nothing.
func wireCases() []namedCase {
	return []namedCase{
		{"01 a wrong signature", wrongSignature},
		{"02 no signature", noSignature},
		{"05 no delimiter", noDelimiter},
		{"06 too few frames", tooFewFrames},
		{"07 signed, and no JSON", notJSON},
		{"a message of odd headers", oddHeaders},
		{"a replayed request runs once", replayed},
		{"a request of another client's key", otherKey},
		{"08 execute_request with only code", onlyCode},
		{"09 the parent header is the request's, unknown fields included", exactParent},
		{"09 unknown fields of the content", unknownFields},
		{"10 two identities", twoIdentities},
		{"10 identities of any bytes", oddIdentities},
		{"a large request", largeRequest},
	}
}

// drops sends frames that are no message: nothing may be replied, published or run, and the next request is answered.
func (s *subject) drops(t *testing.T, r *raw, what string, frames [][]byte) {
	t.Helper()
	s.seen.take()
	r.send(t, frames)
	next, id := r.message(t, "kernel_info_request", struct{}{})
	r.send(t, next)
	if m := r.reply(t); m.ParentID() != id {
		t.Errorf("%s: a %s came for it: %s", what, m.Header.Type, m.Content)
	}
	for _, m := range s.untilAll(t, id, "idle") {
		if m.ParentID() != id && !isLog(m) {
			t.Errorf("%s: %s %s was published for it", what, m.Header.Type, m.Content)
		}
	}
}

// isLog tells what a kernel says of itself: some do on stderr.
func isLog(m wire.Message) bool {
	return m.Header.Type == "stream" && content(m.Content)["name"] == "stderr"
}

// untilAll returns all that was published, whoever asked, up to a message type or state under one request.
func (s *subject) untilAll(t *testing.T, id, last string) (ms []wire.Message) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		batch := s.seen.take()
		for i, m := range batch {
			ms = append(ms, m)
			if m.ParentID() == id && (client.State(m) == last || m.Header.Type == last) {
				s.seen.restore(batch[i+1:])
				return ms
			}
		}
		time.Sleep(time.Millisecond) // polls; the order is the messages' own
	}
	t.Fatalf("no %s came after %s", last, kinds(ms))
	return nil
}

// asking returns a raw client on each channel that takes requests.
func (s *subject) asking(t *testing.T) map[string]*raw {
	c := s.kernel.Connection()
	return map[string]*raw{"shell": s.dial(t, c.ShellPort, ""), "control": s.dial(t, c.ControlPort, "")}
}

// changed is an execute_request after f.
func (s *subject) changed(t *testing.T, r *raw, f func(frames [][]byte) [][]byte) [][]byte {
	t.Helper()
	frames, _ := r.message(t, "execute_request", map[string]any{"code": s.Hello})
	return f(slices.Clone(frames))
}

// dropsAll sends each changed request on each channel.
func (s *subject) dropsAll(t *testing.T, changes map[string]func(frames [][]byte) [][]byte) {
	t.Helper()
	for channel, r := range s.asking(t) {
		for what, f := range changes {
			s.drops(t, r, what+" on "+channel, s.changed(t, r, f))
		}
	}
	stdin := s.dial(t, s.kernel.Connection().StdinPort, "")
	for _, f := range changes {
		stdin.send(t, s.changed(t, stdin, f))
	}
	s.alive(t)
}

func wrongSignature(t *testing.T, s *subject) {
	with := func(f func(signature []byte) []byte) func([][]byte) [][]byte {
		return func(frames [][]byte) [][]byte { frames[1] = f(slices.Clone(frames[1])); return frames }
	}
	s.dropsAll(t, map[string]func([][]byte) [][]byte{
		"another signature":   with(func([]byte) []byte { return bytes.Repeat([]byte("a"), 64) }),
		"one digit less":      with(func(sig []byte) []byte { return sig[1:] }),
		"one digit more":      with(func(sig []byte) []byte { return append(sig, '0') }),
		"one digit changed":   with(func(sig []byte) []byte { sig[63] ^= 1; return sig }),
		"bytes, not digits":   with(func([]byte) []byte { return make([]byte, 32) }),
		"no digits":           with(func([]byte) []byte { return bytes.Repeat([]byte{0xff}, 64) }),
		"a megabyte":          with(func([]byte) []byte { return make([]byte, 1<<20) }),
		"content changed":     func(f [][]byte) [][]byte { f[5] = []byte(`{"code":"1"}`); return f },
		"metadata changed":    func(f [][]byte) [][]byte { f[4] = []byte(`{"a":1}`); return f },
		"two frames swapped":  func(f [][]byte) [][]byte { f[3], f[5] = f[5], f[3]; return f },
		"delimiter in a key":  func(f [][]byte) [][]byte { f[1] = []byte("<IDS|MSG>"); return f },
		"two delimiters":      func(f [][]byte) [][]byte { return append([][]byte{f[0]}, f...) },
		"the frames, reverse": func(f [][]byte) [][]byte { slices.Reverse(f[1:]); return f },
	})
}

func noSignature(t *testing.T, s *subject) {
	s.dropsAll(t, map[string]func([][]byte) [][]byte{
		"an empty signature": func(f [][]byte) [][]byte { f[1] = nil; return f },
		"none at all":        func(f [][]byte) [][]byte { return append(f[:1:1], f[2:]...) },
	})
}

func noDelimiter(t *testing.T, s *subject) {
	s.dropsAll(t, map[string]func([][]byte) [][]byte{
		"without it":       func(f [][]byte) [][]byte { return f[1:] },
		"another one":      func(f [][]byte) [][]byte { f[0] = []byte("<IDS|MSG"); return f },
		"in lower case":    func(f [][]byte) [][]byte { f[0] = []byte("<ids|msg>"); return f },
		"one empty frame":  func([][]byte) [][]byte { return [][]byte{nil} },
		"many empty ones":  func([][]byte) [][]byte { return make([][]byte, 100) },
		"one of text":      func([][]byte) [][]byte { return [][]byte{[]byte("hello")} },
		"one of all bytes": func([][]byte) [][]byte { return [][]byte{{0, 1, 0xff, 0xfe, '\n'}} },
	})
}

func tooFewFrames(t *testing.T, s *subject) {
	changes := map[string]func([][]byte) [][]byte{}
	for n := 1; n < 6; n++ {
		changes[fmt.Sprintf("%d frames", n)] = func(f [][]byte) [][]byte { return f[:n] }
	}
	s.dropsAll(t, changes)
}

// signed replaces one part of an execute_request by other bytes and signs that.
func (r *raw) signed(t *testing.T, part int, body string, content any) [][]byte {
	t.Helper()
	m, err := r.session.New("execute_request", nil, content)
	if err != nil {
		t.Fatal(err)
	}
	switch part {
	case 2:
		m.RawHeader = json.RawMessage(body)
	case 3:
		m.Parent = json.RawMessage(body)
	case 4:
		m.Metadata = json.RawMessage(body)
	case 5:
		m.Content = json.RawMessage(body)
	}
	return r.session.Encode(m)
}

func notJSON(t *testing.T, s *subject) {
	for channel, r := range s.asking(t) {
		for _, body := range []string{`{"code": `, "", "no", "{]", "\xff\xfe", `{"code": "1"} 2`, "[[[[[[", "\x00", `{"code": "` + "\xc3" + `}`} {
			for _, part := range []int{5, 2} {
				frames := r.signed(t, part, body, map[string]any{"code": s.Hello})
				s.drops(t, r, fmt.Sprintf("%q as frame %d on %s", body, part, channel), frames)
			}
		}
	}
	s.alive(t)
}

// oddHeaders: JSON that is no header, and contents that are no objects. A reply may come or not; the kernel lives.
func oddHeaders(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	for _, header := range []string{
		"{}", "[]", "null", "5", `"x"`, `{"msg_type":"execute_request"}`, `{"msg_id":"1"}`, `{"msg_id":5,"msg_type":"execute_request"}`,
		`{"msg_id":"2","msg_type":7}`, `{"msg_id":null,"msg_type":null}`, `{"msg_id":"3","msg_type":""}`, strings.Repeat("[", 100_000),
	} {
		r.send(t, r.signed(t, 2, header, map[string]any{"code": s.Hello}))
	}
	for _, body := range []string{"[]", "null", "5", `"x"`, `{"code":null}`, `{"code":["x"]}`, `{"code":{"a":1}}`, strings.Repeat(`{"a":`, 100_000)} {
		r.send(t, r.signed(t, 5, body, nil))
	}
	for _, metadata := range []string{"[]", "null", "5", "no"} {
		r.send(t, r.signed(t, 4, metadata, map[string]any{"code": s.Hello}))
		r.send(t, r.signed(t, 3, metadata, map[string]any{"code": s.Hello}))
	}
	frames, id := r.message(t, "kernel_info_request", struct{}{})
	r.send(t, frames)
	for r.reply(t).ParentID() != id { // what comes for the others comes before
	}
	s.until(t, id, "idle")
	s.alive(t)
	reply, _ := s.run(t, s.Hello)
	want(t, "a cell afterwards", reply.Status, "ok")
}

func replayed(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	frames, id := r.message(t, "execute_request", map[string]any{"code": s.Hello})
	s.seen.take()
	r.send(t, frames)
	r.send(t, frames)
	want(t, "first reply", r.reply(t).ParentID(), id)
	s.until(t, id, "idle")
	other := s.dial(t, s.kernel.Connection().ShellPort, "") // nor may somebody else repeat it
	other.send(t, frames)
	s.drops(t, r, "a repeated request", frames)
	inputs := 0
	s.alive(t)
	for _, m := range of(s.seen.take(), "execute_input") {
		if m.ParentID() == id {
			inputs++
		}
	}
	want(t, "executions after the first", inputs, 0)
}

func otherKey(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	stranger := s.dialWith(t, s.kernel.Connection().ShellPort, "", "another key")
	frames, _ := stranger.message(t, "execute_request", map[string]any{"code": s.Hello})
	s.drops(t, r, "another key", frames)
	frames, _ = stranger.message(t, "shutdown_request", map[string]any{"restart": false})
	control := s.dial(t, s.kernel.Connection().ControlPort, "")
	s.drops(t, control, "shutdown with another key", frames)
	s.alive(t)
}

func onlyCode(t *testing.T, s *subject) {
	before, _ := s.run(t, s.Hello)
	got := s.ask(t, client.Shell, "execute_request", map[string]any{"code": s.Hello})
	want(t, "status", got["status"], "ok")
	want(t, "count", got["execution_count"], before.Count+1) // store_history is true by default
}

// oddHeader is a header with unusual fields, for one request.
func oddHeader(msgType string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"msg_id":"odd-%d", "msg_type":%q,"session":"x","username":"é",
		"version":"5.0","date":"2020-01-01T00:00:00Z","extra":{"deep":[1,2.50,null,true,{}]},"subshell_id":null}`,
		time.Now().UnixNano(), msgType))
}

func exactParent(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	for msgType, body := range map[string]any{
		"kernel_info_request": map[string]any{"unknown": 1}, "execute_request": map[string]any{"code": s.Value},
	} {
		m, err := r.session.New(msgType, nil, body)
		if err != nil {
			t.Fatal(err)
		}
		m.RawHeader = oddHeader(msgType)
		id, _ := content(m.RawHeader)["msg_id"].(string)
		s.seen.take()
		r.send(t, r.session.Encode(m))
		want(t, msgType+": parent of the reply", content(r.reply(t).Parent), content(m.RawHeader))
		for _, published := range s.until(t, id, "idle") {
			want(t, msgType+": parent of "+published.Header.Type, content(published.Parent), content(m.RawHeader))
		}
	}
}

func unknownFields(t *testing.T, s *subject) {
	got := s.ask(t, client.Shell, "execute_request", map[string]any{"code": s.Hello, "colour": "blue", "silent2": []int{1}})
	want(t, "execute: status", got["status"], "ok")
	got = s.ask(t, client.Shell, "complete_request", map[string]any{"code": "x", "cursor_pos": 1, "deep": map[string]any{"a": nil}})
	want(t, "complete: status", got["status"], "ok")
	got = s.ask(t, client.Control, "interrupt_request", map[string]any{"why": "not"})
	want(t, "interrupt: status", got["status"], "ok")
}

func twoIdentities(t *testing.T, s *subject) {
	for _, port := range []int{s.kernel.Connection().ShellPort, s.kernel.Connection().ControlPort} {
		r := s.dial(t, port, "")
		frames, id := r.message(t, "kernel_info_request", struct{}{})
		r.send(t, append([][]byte{[]byte("hop")}, frames...))
		m := r.reply(t)
		want(t, "reply", m.ParentID(), id)
		if len(m.Identities) != 1 || string(m.Identities[0]) != "hop" {
			t.Errorf("identities %q, want the hop", m.Identities)
		}
	}
}

func oddIdentities(t *testing.T, s *subject) {
	for _, identity := range []string{"\x01\x02é", strings.Repeat("i", 255), " ", "{}"} {
		r := s.dial(t, s.kernel.Connection().ShellPort, identity)
		frames, id := r.message(t, "kernel_info_request", struct{}{})
		r.send(t, frames)
		want(t, fmt.Sprintf("reply to %q", identity), r.reply(t).ParentID(), id)
	}
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	hops := [][]byte{{0, 1}, {}, []byte(strings.Repeat("h", 300)), []byte("last")}
	frames, id := r.message(t, "kernel_info_request", struct{}{})
	r.send(t, append(slices.Clone(hops), frames...))
	m := r.reply(t)
	want(t, "reply", m.ParentID(), id)
	if !slices.EqualFunc(m.Identities, hops, bytes.Equal) {
		t.Errorf("identities %q, want %q", m.Identities, hops)
	}
}

// largeRequest: eight megabytes of content are a message like another, whether or not they are code.
func largeRequest(t *testing.T, s *subject) {
	got := s.ask(t, client.Shell, "is_complete_request", map[string]any{"code": "", "padding": strings.Repeat("x", 8<<20)})
	if got["status"] == nil {
		t.Errorf("reply %v, want a status", got)
	}
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	frames, id := r.message(t, "kernel_info_request", struct{}{})
	for range 1000 { // buffers that nobody wants
		frames = append(frames, []byte("buffer"))
	}
	r.send(t, frames)
	want(t, "reply to a message with a thousand buffers", r.reply(t).ParentID(), id)
	s.alive(t)
}
