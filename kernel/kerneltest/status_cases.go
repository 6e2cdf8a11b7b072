package kerneltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// statusCases are the properties of status, counts and order.
func statusCases() []namedCase {
	return []namedCase{
		{"21 a new subscriber is welcomed first", welcomed},
		{"21 a subscriber to one topic is welcomed to that", welcomedToTopic},
		{"23 every request is wrapped in busy and idle", wrapped},
		{"23 messages of unknown types", unknownTypes},
		{"24 a cell's messages in order", cellOrder},
		{"24 nothing of another parent comes between", between},
		{"25 execution counts", counts},
		{"26 silent", silent},
		{"27 empty code", emptyCode},
		{"28 a failing cell", failing},
		{"28 a cell whose value is an error", failingValue},
		{"28 what is no code", noCode},
		{"29 an error aborts the cells that wait", aborted},
		{"30 without stop_on_error they run", notAborted},
		{"31 an error aborts only cells", othersServed},
		{"33 10,000 messages", uniqueIDs},
		{"34 dates", dates},
	}
}

// subscribe returns what the kernel publishes, from its first message on.
func (s *subject) subscribe(t *testing.T, topic string) func() wire.Message {
	t.Helper()
	c := s.kernel.Connection()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	sub, err := s.sockets.Subscriber(ctx, c.Endpoint(c.IOPubPort), topic)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	t.Cleanup(func() { stop(); cancel(); _ = sub.Close() })
	session, err := wire.NewSession(c.Key, c.Scheme, "subscriber")
	if err != nil {
		t.Fatal(err)
	}
	return func() wire.Message {
		t.Helper()
		frames, err := sub.Receive()
		if err != nil {
			t.Fatalf("nothing is published: %v", err)
		}
		m, err := session.Decode(frames)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func welcomed(t *testing.T, s *subject) {
	for range 3 {
		m := s.subscribe(t, "")()
		want(t, "first message", m.Header.Type, "iopub_welcome")
		want(t, "subscription", content(m.Content)["subscription"], "")
		want(t, "parent", content(m.Parent), map[string]any{})
	}
	s.seen.take()
	s.alive(t)
	for _, m := range s.seen.take() {
		if m.Header.Type == "iopub_welcome" {
			t.Error("a subscriber was welcomed once more, with another")
		}
	}
}

// welcomedToTopic: the welcome names the topic and has it as its own, so that it passes the subscriber's filter.
func welcomedToTopic(t *testing.T, s *subject) {
	m := s.subscribe(t, "some.topic")()
	want(t, "first message", m.Header.Type, "iopub_welcome")
	want(t, "subscription", content(m.Content)["subscription"], "some.topic")
	if len(m.Identities) != 1 || string(m.Identities[0]) != "some.topic" {
		t.Errorf("topic %q, want the subscription", m.Identities)
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
		{client.Shell, "execute_request", map[string]any{"code": "", "silent": true}, true},
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
		for _, m := range ms {
			want(t, c.msgType+": msg_id of the parent", m.ParentID(), id)
			if header := content(m.Parent); header["msg_type"] != c.msgType || header["session"] == nil {
				t.Errorf("%s: parent %v, want the request's header", c.msgType, header)
			}
		}
	}
	s.alive(t)
}

// unknownTypes: a kernel tolerates what it does not know, on every channel, and goes on.
func unknownTypes(t *testing.T, s *subject) {
	c := s.kernel.Connection()
	for _, port := range []int{c.ShellPort, c.ControlPort, c.StdinPort} {
		r := s.dial(t, port, "")
		for _, msgType := range []string{"frobnicate_request", "frobnicate", "execute_reply", "status", "input_reply", "stream", "comm_frob", "é", strings.Repeat("x", 10_000)} {
			frames, _ := r.message(t, msgType, map[string]any{"value": "x"})
			r.send(t, frames)
		}
	}
	s.alive(t)
	r, _ := s.run(t, s.Hello)
	want(t, "a cell afterwards", r.Status, "ok")
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

// idle reports whether the idle of a request is among messages.
func idle(ms []wire.Message, id string) bool {
	return slices.ContainsFunc(ms, func(m wire.Message) bool { return m.ParentID() == id && client.State(m) == "idle" })
}

// between: while a cell publishes, another client asks; what belongs to the one is not published under the other, and each
// subscriber sees the same messages in the same order.
func between(t *testing.T, s *subject) {
	other := connect(t, Target{Samples: s.Samples, Sockets: s.sockets}, s.kernel)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	control := s.dial(t, s.kernel.Connection().ControlPort, "")
	s.alive(t)
	s.seen.take()
	code := s.Mixed
	if code == "" {
		code = s.Hello
	}
	frames, id := r.message(t, "execute_request", map[string]any{"code": code})
	r.send(t, frames)
	frames, otherID := control.message(t, "kernel_info_request", struct{}{})
	control.send(t, frames)
	frames, lastID := r.message(t, "kernel_info_request", struct{}{})
	r.send(t, frames)
	first := s.untilAll(t, lastID, "idle")
	if !idle(first, otherID) {
		first = append(first, s.untilAll(t, otherID, "idle")...)
	}
	states, order := map[string][]string{}, []string{}
	for _, m := range first {
		if parent := m.ParentID(); parent != id && parent != otherID && parent != lastID {
			t.Errorf("%s under %q, which nobody asked for", m.Header.Type, parent)
		}
		states[m.ParentID()] = append(states[m.ParentID()], kinds([]wire.Message{m}))
		order = append(order, m.Header.ID)
	}
	if mine := states[id]; len(mine) < 4 || mine[0] != "busy" || mine[1] != "execute_input" || mine[len(mine)-1] != "idle" {
		t.Errorf("the cell's messages: %v", mine)
	}
	want(t, "the messages of control", states[otherID], []string{"busy", "idle"})
	other.alive(t) // its idle comes after all that was published before
	var theirs []string
	for _, m := range other.seen.take() {
		if slices.Contains(order, m.Header.ID) {
			theirs = append(theirs, m.Header.ID)
		}
	}
	want(t, "the order in which the second subscriber got them", theirs, order)
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
	for _, code := range []string{" ", "\n", "\n\n\t \n"} {
		r, ms := s.run(t, code)
		want(t, "blank code: status", r.Status, "ok")
		want(t, "blank code: values", len(of(ms, "execute_result")), 0)
	}
}

func failing(t *testing.T, s *subject) { s.fails(t, s.Fail) }

// failingValue fails as any other cell does, silently too, and as an expression.
func failingValue(t *testing.T, s *subject) {
	need(t, s.Fails)
	s.fails(t, s.Fails)
	r, ms := s.runWith(t, s.Fails, client.ExecuteOptions{Silent: true})
	want(t, "silent: status", r.Status, "error")
	want(t, "silent: messages", kinds(ms), "busy error idle")
	r, _ = s.runWith(t, s.Hello, client.ExecuteOptions{UserExpressions: map[string]string{"fails": s.Fails}})
	want(t, "status beside an expression that fails", r.Status, "ok")
	want(t, "expression", content(r.UserExpressions["fails"])["status"], "error")
}

func (s *subject) fails(t *testing.T, code string) {
	t.Helper()
	r, ms := s.run(t, code)
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
	for _, field := range []string{"ename", "evalue"} {
		if text, ok := shown[field].(string); !ok || field == "ename" && text == "" {
			t.Errorf("%s is %v, want a text", field, shown[field])
		}
	}
	for _, line := range shown["traceback"].([]any) {
		if _, ok := line.(string); !ok {
			t.Errorf("the traceback has %v, want text", line)
		}
	}
	again, _ := s.run(t, s.Hello)
	want(t, "count after a failing cell", again.Count, r.Count+1)
}

// noCode: what the kernel's language cannot read is an error like another.
func noCode(t *testing.T, s *subject) {
	for _, code := range []string{"}{", "\x00", "\xff\xfe", "= = =", strings.Repeat("(", 10_000)} {
		r, ms := s.run(t, code)
		want(t, fmt.Sprintf("%.20q: status", code), r.Status, "error")
		want(t, fmt.Sprintf("%.20q: errors", code), len(of(ms, "error")), 1)
	}
	s.alive(t)
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

// uniqueIDs: of 10,000 messages each has an id of its own, and all have the kernel's session, which is not the client's.
func uniqueIDs(t *testing.T, s *subject) {
	const messages, together = 10_000, 50
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	s.seen.take()
	seen := map[string]bool{}
	session := ""
	note := func(m wire.Message) {
		if seen[m.Header.ID] {
			t.Fatalf("msg_id %s came twice", m.Header.ID)
		}
		seen[m.Header.ID] = true
		if session == "" {
			session = m.Header.Session
		}
		if m.Header.Session != session || session == content(m.Parent)["session"] {
			t.Fatalf("session %q, want one of the kernel's own", m.Header.Session)
		}
	}
	for len(seen) < messages {
		var id string
		for range together {
			var frames [][]byte
			frames, id = r.message(t, "kernel_info_request", struct{}{})
			r.send(t, frames)
		}
		for range together {
			note(r.reply(t))
		}
		for _, m := range s.untilAll(t, id, "idle") {
			note(m)
		}
	}
}

func dates(t *testing.T, s *subject) {
	s.seen.take()
	r, _ := s.run(t, s.Hello)
	for _, m := range append(s.seen.take(), r.Message) {
		date, err := time.Parse(time.RFC3339Nano, m.Header.Date) // which wants a zone
		if err != nil || time.Since(date).Abs() > time.Minute || !strings.Contains(m.Header.Date, ".") {
			t.Errorf("date %q, want now in ISO 8601 with fractions and zone", m.Header.Date)
		}
	}
}
