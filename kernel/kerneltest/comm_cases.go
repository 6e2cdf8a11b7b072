package kerneltest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// Comms are cells that use comms.
type Comms struct {
	// Target registers the target "echo". A comm of it prints "echo" for each message and sends data and buffers back; where the
	// data are the text "fail" it fails, where they are "loop" it goes on until it is interrupted.
	Target string
	Open   string // opens a comm of target "front" that echoes, with the data {"made":"in a cell"} and the metadata {"version":"1"}
}

// commCases are the properties of comms, of widgets' too.
func commCases() []namedCase {
	return []namedCase{
		{"11 buffers reach a comm's handler and come back", commBuffers},
		{"58 a comm from its open to its close", commLife},
		{"58 a comm that a cell opens", commOfACell},
		{"58 messages of no comm", commOdd},
		{"comms: a handler that fails ends nothing", commFails},
		{"comms: an interrupt ends a handler", commInterrupt},
		{"comms: handled while a cell runs, on a subshell", commBeside},
		{"comms: closed when what holds them ends", commDies},
	}
}

// commClient sends messages of comms.
type commClient struct {
	*raw
	s        *subject
	subshell string
}

func (s *subject) comms(t *testing.T) *commClient {
	need(t, s.Comms.Target)
	r, _ := s.run(t, s.Comms.Target)
	want(t, "register a target", r.Status, "ok")
	c := &commClient{raw: s.dial(t, s.kernel.Connection().ShellPort, ""), s: s}
	s.seen.take()
	return c
}

// post sends a message and returns its id.
func (c *commClient) post(t *testing.T, msgType string, body any, buffers ...[]byte) (id string) {
	t.Helper()
	m, err := c.session.New(msgType, nil, body)
	if err != nil {
		t.Fatal(err)
	}
	if c.subshell != "" {
		header := content(m.RawHeader)
		header["subshell_id"] = c.subshell
		m.RawHeader, _ = json.Marshal(header)
	}
	m.Buffers = buffers
	c.send(t, c.session.Encode(m))
	return m.Header.ID
}

// tell sends a message and returns what was published for it.
func (c *commClient) tell(t *testing.T, msgType string, body any, buffers ...[]byte) []wire.Message {
	t.Helper()
	id := c.post(t, msgType, body, buffers...)
	return slices.DeleteFunc(c.s.until(t, id, "idle"), isLog)
}

// open opens a comm of the target "echo".
func (c *commClient) open(t *testing.T, id string) {
	t.Helper()
	ms := c.tell(t, "comm_open", map[string]any{"comm_id": id, "target_name": "echo", "data": map[string]any{}})
	if closed := of(ms, "comm_close"); len(closed) > 0 {
		t.Fatalf("a comm of a target that is registered was closed: %s", kinds(ms))
	}
}

func message(id string, data any) map[string]any { return map[string]any{"comm_id": id, "data": data} }

// info lists the open comms of a target, of all where it is "".
func (s *subject) info(t *testing.T, target string) []string {
	t.Helper()
	body := map[string]any{}
	if target != "" {
		body["target_name"] = target
	}
	open, _ := s.ask(t, client.Shell, "comm_info_request", body)["comms"].(map[string]any)
	ids := []string{}
	for id, c := range open {
		name, _ := c.(map[string]any)["target_name"].(string)
		if target != "" && name != target {
			t.Errorf("comm_info of %s lists a comm of %q", target, name)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func commBuffers(t *testing.T, s *subject) {
	c := s.comms(t)
	c.open(t, "buffers")
	sent := [][]byte{{0, 1, 255, '\n'}, {}, bytes.Repeat([]byte{0xfe, '<', 0}, 1<<19)}
	ms := of(c.tell(t, "comm_msg", message("buffers", map[string]any{"x": []any{1, "é"}}), sent...), "comm_msg")
	if len(ms) != 1 {
		t.Fatalf("%d messages came back", len(ms))
	}
	want(t, "data", content(ms[0].Content)["data"], map[string]any{"x": []any{1, "é"}})
	if len(ms[0].Buffers) != len(sent) {
		t.Fatalf("%d buffers came back of %d", len(ms[0].Buffers), len(sent))
	}
	for i := range sent {
		if !bytes.Equal(ms[0].Buffers[i], sent[i]) {
			t.Errorf("buffer %d is not as it was sent", i)
		}
	}
	c.tell(t, "comm_close", message("buffers", nil))
}

func commLife(t *testing.T, s *subject) {
	c := s.comms(t)
	before := s.info(t, "")
	count := s.ask(t, client.Shell, "execute_request", map[string]any{"code": ""})["execution_count"]
	c.open(t, "life")
	want(t, "comms of the target", s.info(t, "echo"), []string{"life"})
	want(t, "comms of another", s.info(t, "another"), []string{})
	ms := c.tell(t, "comm_msg", message("life", 5))
	want(t, "messages", kinds(ms), "busy stream comm_msg idle")
	if text := printed(ms, "stdout"); !strings.HasPrefix(text, "echo") {
		t.Errorf("the handler printed %q", text)
	}
	for _, m := range of(ms, "comm_msg") {
		want(t, "answer", content(m.Content), map[string]any{"comm_id": "life", "data": 5})
	}
	want(t, "messages of the close", kinds(c.tell(t, "comm_close", message("life", map[string]any{}))), "busy idle")
	want(t, "comms after the close", s.info(t, ""), before)
	want(t, "messages after the close", kinds(c.tell(t, "comm_msg", message("life", 5))), "busy idle")
	after := s.ask(t, client.Shell, "execute_request", map[string]any{"code": ""})["execution_count"]
	want(t, "execution count", after, count)
}

func commOfACell(t *testing.T, s *subject) {
	need(t, s.Comms.Open)
	c := s.comms(t)
	_, ms := s.run(t, s.Comms.Open)
	opened := of(ms, "comm_open")
	if len(opened) != 1 {
		t.Fatalf("messages of the cell: %s", kinds(ms))
	}
	body := content(opened[0].Content)
	want(t, "target", body["target_name"], "front")
	want(t, "data", body["data"], map[string]any{"made": "in a cell"})
	want(t, "metadata", content(opened[0].Metadata), map[string]any{"version": "1"})
	id, _ := body["comm_id"].(string)
	want(t, "comms", s.info(t, "front"), []string{id})
	if answers := of(c.tell(t, "comm_msg", message(id, 7)), "comm_msg"); len(answers) != 1 || content(answers[0].Content)["data"] != 7.0 {
		t.Errorf("%d answers to a message", len(answers))
	}
	c.tell(t, "comm_close", message(id, nil))
	want(t, "comms after the close", s.info(t, "front"), []string{})
}

// commOdd sends what belongs to no comm, and what is no comm's: busy and idle, and nothing else that matters.
func commOdd(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	s.seen.take()
	for _, msgType := range []string{"comm_open", "comm_msg", "comm_close"} {
		for _, body := range []string{`{}`, `{"comm_id":5}`, `{"comm_id":null,"data":[]}`, `{"comm_id":"nobody's","data":"x"}`, `{"comm_id":"","target_name":""}`} {
			frames, id := r.message(t, msgType, json.RawMessage(body))
			r.send(t, append(frames, []byte{0}))
			s.until(t, id, "idle")
		}
	}
	s.alive(t)
	want(t, "comms", s.info(t, "nobody"), []string{})
}

func commFails(t *testing.T, s *subject) {
	c := s.comms(t)
	c.open(t, "fails")
	ms := c.tell(t, "comm_msg", message("fails", "fail"))
	if text := printed(ms, "stderr"); len(of(ms, "error")) != 1 && text == "" {
		t.Errorf("nothing tells of the failure: %s", kinds(ms))
	}
	if answers := of(c.tell(t, "comm_msg", message("fails", 1)), "comm_msg"); len(answers) != 1 {
		t.Errorf("%d answers after a failure", len(answers))
	}
	c.tell(t, "comm_close", message("fails", nil))
	s.alive(t)
}

func commInterrupt(t *testing.T, s *subject) {
	c := s.comms(t)
	c.open(t, "loops")
	id := c.post(t, "comm_msg", message("loops", "loop"))
	ms := s.until(t, id, "stream") // it runs
	want(t, "interrupt", s.ask(t, client.Control, "interrupt_request", struct{}{})["status"], "ok")
	ms = append(ms, s.until(t, id, "idle")...)
	if text := printed(ms, "stderr"); len(of(ms, "error")) != 1 && text == "" {
		t.Errorf("nothing tells of the interrupt: %s", kinds(ms))
	}
	if answers := of(c.tell(t, "comm_msg", message("loops", 1)), "comm_msg"); len(answers) != 1 {
		t.Errorf("%d answers after an interrupt", len(answers))
	}
	c.tell(t, "comm_close", message("loops", nil))
}

func commBeside(t *testing.T, s *subject) {
	c := s.comms(t)
	id, _ := s.ask(t, client.Control, "create_subshell_request", struct{}{})["subshell_id"].(string)
	if id == "" {
		t.Skip("no subshells")
	}
	defer s.ask(t, client.Control, "delete_subshell_request", map[string]any{"subshell_id": id})
	c.subshell = id
	c.open(t, "beside")
	s.endless(t, func() {
		ms := c.tell(t, "comm_msg", message("beside", 3))
		want(t, "messages while a cell runs", kinds(ms), "busy stream comm_msg idle")
	})
	c.tell(t, "comm_close", message("beside", nil))
}

// commDies: front ends are told which comms are no more when an engine process ends that lives apart from its kernel.
func commDies(t *testing.T, s *subject) {
	need(t, s.Deadly["os.Exit"])
	c := s.comms(t)
	c.open(t, "dies")
	_, ms := s.run(t, s.Deadly["os.Exit"])
	closed := slices.DeleteFunc(of(ms, "comm_close"), func(m wire.Message) bool { return content(m.Content)["comm_id"] != "dies" })
	want(t, "messages that close the comm", len(closed), 1)
	want(t, "comms", s.info(t, ""), []string{})
	if words := strings.Fields(kinds(ms)); len(words) == 0 || words[len(words)-1] != "idle" {
		t.Errorf("messages of the cell: %s", kinds(ms))
	}
}
