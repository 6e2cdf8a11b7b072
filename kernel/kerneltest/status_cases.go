package kerneltest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// statusCases are the properties of status, counts and order.
func statusCases() []namedCase {
	return []namedCase{
		{"a new subscriber is welcomed first", welcomed},
		{"every request is wrapped in busy and idle", wrapped},
		{"a cell's messages in order", cellOrder},
		{"execution counts", counts},
		{"silent", silent},
		{"empty code", emptyCode},
		{"a failing cell", failing},
		{"an error aborts the cells that wait", aborted},
		{"without stop_on_error they run", notAborted},
		{"an error aborts only cells", othersServed},
		{"headers", headers},
	}
}

func welcomed(t *testing.T, s *subject) {
	c := s.kernel.Connection()
	network, address := c.Address(c.IOPubPort)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		sub, err := s.sockets.Subscriber(ctx, network, address, "")
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
		frames, err := sub.Receive()
		if err != nil {
			t.Fatal(err)
		}
		session, _ := wire.NewSession(c.Key, c.Scheme, "") // the scheme is the kernel's own
		m, err := session.Decode(frames)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "first message", m.Header.Type, "iopub_welcome")
		want(t, "subscription", content(m.Content)["subscription"], "")
		want(t, "parent", content(m.Parent), map[string]any{})
	}
}

func wrapped(t *testing.T, s *subject) {
	for _, c := range []struct {
		channel client.Channel
		msgType string
		body    map[string]any
		reply   bool
	}{
		{client.Shell, "kernel_info_request", nil, true},
		{client.Shell, "connect_request", nil, true},
		{client.Shell, "execute_request", map[string]any{"code": ""}, true},
		{client.Shell, "complete_request", map[string]any{"code": "x", "cursor_pos": 1}, true},
		{client.Shell, "inspect_request", map[string]any{"code": "x", "cursor_pos": 1}, true},
		{client.Shell, "is_complete_request", map[string]any{"code": "x"}, true},
		{client.Shell, "history_request", map[string]any{"hist_access_type": "tail", "n": 1, "output": false, "raw": true}, true},
		{client.Shell, "comm_info_request", nil, true},
		{client.Shell, "frobnicate_request", nil, false},
		{client.Control, "kernel_info_request", nil, true},
		{client.Control, "interrupt_request", nil, true},
		{client.Control, "frobnicate_request", nil, false},
	} {
		if c.body == nil {
			c.body = map[string]any{}
		}
		port := s.kernel.Connection().ShellPort
		if c.channel == client.Control {
			port = s.kernel.Connection().ControlPort
		}
		r := s.dial(t, port, "")
		s.seen.take()
		frames, id := r.message(t, c.msgType, c.body)
		r.send(t, frames)
		if c.reply {
			if got, want := r.reply(t).Header.Type, strings.TrimSuffix(c.msgType, "_request")+"_reply"; got != want {
				t.Errorf("%s: got a %s", c.msgType, got)
			}
		}
		ms := s.until(t, id, "idle")
		if got := kinds(ms); !strings.HasPrefix(got, "busy ") || strings.Count(got, "busy") != 1 {
			t.Errorf("%s: %s, want it between busy and idle", c.msgType, got)
		}
	}
	s.alive(t)
}

// until returns what was published under a request up to a message type or state.
func (s *subject) until(t *testing.T, id, last string) (ms []wire.Message) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		for _, m := range s.seen.take() {
			if m.ParentID() == id {
				ms = append(ms, m)
			}
		}
		if words := strings.Fields(kinds(ms)); len(words) > 0 && words[len(words)-1] == last {
			return ms
		}
		time.Sleep(time.Millisecond) // polls; the order is the messages' own
	}
	t.Fatalf("no %s came after %s", last, kinds(ms))
	return nil
}

func cellOrder(t *testing.T, s *subject) {
	_, ms := s.run(t, s.Hello)
	want(t, "messages", kinds(ms), "busy execute_input stream idle")
	_, ms = s.run(t, s.Value)
	want(t, "messages", kinds(ms), "busy execute_input execute_result idle")
	want(t, "value", content(ms[2].Content)["data"].(map[string]any)["text/plain"], s.ValueText)
	want(t, "input", content(ms[1].Content)["code"], s.Value)
	want(t, "count of the value", content(ms[2].Content)["execution_count"], content(ms[1].Content)["execution_count"])
}

func counts(t *testing.T, s *subject) {
	first, _ := s.run(t, s.Hello)
	for i := range 2 {
		r, _ := s.run(t, s.Hello)
		want(t, "count", r.Count, first.Count+i+1)
	}
	r, ms := s.runWith(t, s.Hello, client.ExecuteOptions{NoHistory: true})
	if _, there := content(r.Message.Content)["execution_count"]; !there || r.Status != "ok" {
		t.Errorf("reply without history: %s", r.Message.Content)
	}
	want(t, "messages without history", kinds(ms), "busy execute_input stream idle")
	r, _ = s.run(t, s.Hello)
	want(t, "count after a cell without history", r.Count, first.Count+3)
}

func silent(t *testing.T, s *subject) {
	before, _ := s.run(t, s.Value)
	got := s.ask(t, client.Shell, "execute_request", map[string]any{"code": s.Value, "silent": true, "store_history": true})
	want(t, "status", got["status"], "ok")
	_, ms := s.runWith(t, s.Value, client.ExecuteOptions{Silent: true})
	want(t, "messages", kinds(ms), "busy idle")
	after, _ := s.run(t, s.Value)
	want(t, "count", after.Count, before.Count+1)
}

func emptyCode(t *testing.T, s *subject) {
	r, ms := s.run(t, "")
	want(t, "status", r.Status, "ok")
	want(t, "values", len(of(ms, "execute_result")), 0)
}

func failing(t *testing.T, s *subject) {
	r, ms := s.run(t, s.Fail)
	want(t, "status", r.Status, "error")
	want(t, "messages", kinds(ms), "busy execute_input error idle")
	shown, replied := content(of(ms, "error")[0].Content), content(r.Message.Content)
	for _, field := range []string{"ename", "evalue", "traceback"} {
		want(t, field, replied[field], shown[field])
	}
	if list, ok := shown["traceback"].([]any); !ok || len(list) == 0 {
		t.Errorf("traceback %v, want a list", shown["traceback"])
	}
	if replied["execution_count"] == nil {
		t.Error("the reply has no execution_count")
	}
}

// queued sends cells without waiting and returns each one's reply.
func (s *subject) queued(t *testing.T, stop bool, codes ...string) (statuses []string, ids []string) {
	t.Helper()
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	for _, code := range codes {
		msgType, body := "execute_request", map[string]any{"code": code, "stop_on_error": stop}
		if strings.HasSuffix(code, "_request") {
			msgType, body = code, map[string]any{"code": "x", "cursor_pos": 1}
		}
		frames, id := r.message(t, msgType, body)
		r.send(t, frames)
		ids = append(ids, id)
	}
	for i := range codes {
		m := r.reply(t)
		want(t, fmt.Sprintf("order of reply %d", i), m.ParentID(), ids[i])
		statuses = append(statuses, fmt.Sprint(content(m.Content)["status"]))
	}
	return statuses, ids
}

func aborted(t *testing.T, s *subject) {
	need(t, s.SlowFail)
	s.seen.take()
	statuses, ids := s.queued(t, true, s.SlowFail, s.Hello, s.Hello, s.Hello)
	want(t, "first", statuses[0], "error")
	for _, status := range statuses[1:] {
		if status != "aborted" && status != "error" {
			t.Errorf("a waiting cell ended %s, want aborted", status)
		}
	}
	s.alive(t)
	ms := s.seen.take()
	for _, id := range ids[1:] {
		var its []wire.Message
		for _, m := range ms {
			if m.ParentID() == id {
				its = append(its, m)
			}
		}
		want(t, "messages of a cell that was aborted", kinds(its), "busy idle")
	}
	r, _ := s.run(t, s.Hello)
	want(t, "a cell sent later", r.Status, "ok")
}

func notAborted(t *testing.T, s *subject) {
	need(t, s.SlowFail)
	statuses, _ := s.queued(t, false, s.SlowFail, s.Hello, s.Hello)
	want(t, "statuses", statuses, []string{"error", "ok", "ok"})
}

func othersServed(t *testing.T, s *subject) {
	need(t, s.SlowFail)
	statuses, _ := s.queued(t, true, s.SlowFail, "kernel_info_request", "comm_info_request", "inspect_request")
	want(t, "statuses", statuses, []string{"error", "ok", "ok", "ok"})
}

func headers(t *testing.T, s *subject) {
	s.seen.take()
	for range 20 {
		s.run(t, s.Hello)
	}
	seen := map[string]bool{}
	var session string
	for _, m := range s.seen.take() {
		if seen[m.Header.ID] {
			t.Errorf("msg_id %s came twice", m.Header.ID)
		}
		seen[m.Header.ID] = true
		if session == "" {
			session = m.Header.Session
		}
		if m.Header.Session != session || session == content(m.Parent)["session"] {
			t.Errorf("session %s, want one of the kernel's own", m.Header.Session)
		}
		date, err := time.Parse(time.RFC3339Nano, m.Header.Date)
		if err != nil || time.Since(date).Abs() > time.Minute || !strings.Contains(m.Header.Date, ".") {
			t.Errorf("date %q, want now in ISO 8601 with fractions and zone", m.Header.Date)
		}
	}
}
