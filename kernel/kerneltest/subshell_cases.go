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

// subshellCases are the properties of subshells: Jupyter enhancement proposal 91.
func subshellCases() []namedCase {
	return []namedCase{
		{"subshells: announced", subshellsAnnounced},
		{"subshells: created, listed, deleted", subshellLife},
		{"55 subshells: questions are answered while a cell runs", subshellQuestions},
		{"subshells: a cell on one", subshellCell},
		{"subshells: a cell on one while another runs", subshellCellBeside},
		{"subshells: one that is not there", subshellUnknown},
		{"subshells: an interrupt reaches all shells", subshellInterrupt},
		{"29 subshells: an error aborts the cells of its own shell", subshellAbort},
		{"subshells: deleting one waits for what runs there", subshellDeleted},
	}
}

// subshell creates a subshell, deletes it with the test, and returns its id; it skips the test where the kernel announces none.
func (s *subject) subshell(t *testing.T) string {
	t.Helper()
	info := s.ask(t, client.Control, "kernel_info_request", struct{}{})
	if features, _ := info["supported_features"].([]any); !slices.Contains(features, any("kernel subshells")) {
		t.Skip("no subshells")
	}
	got := s.ask(t, client.Control, "create_subshell_request", struct{}{})
	id, _ := got["subshell_id"].(string)
	if got["status"] != "ok" || id == "" {
		t.Fatalf("create_subshell_reply: %v", got)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
		defer cancel()
		if _, err := s.client.Request(ctx, client.Control, "delete_subshell_request", map[string]any{"subshell_id": id}, nil); err != nil {
			t.Error(err)
		}
	})
	return id
}

// on sends a request for a subshell ("": the main shell) and returns its id.
func (r *raw) on(t *testing.T, subshell, msgType string, body any) (id string) {
	t.Helper()
	m, err := r.session.New(msgType, nil, body)
	if err != nil {
		t.Fatal(err)
	}
	if subshell != "" {
		m.RawHeader = fmt.Appendf(nil, `{"subshell_id":%q,%s`, subshell, m.RawHeader[1:])
	}
	r.send(t, r.session.Encode(m))
	return m.Header.ID
}

// heard sorts what is published by the request that it is for.
type heard struct {
	s  *subject
	by map[string][]wire.Message
}

func (s *subject) listen() *heard {
	s.seen.take()
	return &heard{s, map[string][]wire.Message{}}
}

// await returns what was published for a request once a type or state is among it.
func (h *heard) await(t *testing.T, id, word string) []wire.Message {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // polls; the order is the messages' own
		for _, m := range h.s.seen.take() {
			h.by[m.ParentID()] = append(h.by[m.ParentID()], m)
		}
		if slices.Contains(strings.Fields(kinds(h.by[id])), word) {
			return h.by[id]
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s came after %s", word, kinds(h.by[id]))
		}
	}
}

// running has a cell run on a shell until it is interrupted, and returns its id once it runs.
func (h *heard) running(t *testing.T, r *raw, subshell string) (id string) {
	t.Helper()
	need(t, h.s.Endless)
	id = r.on(t, subshell, "execute_request", map[string]any{"code": h.s.Endless})
	h.await(t, id, "stream")
	return id
}

// answers waits for replies to all of ids, in any order.
func (r *raw) answers(t *testing.T, ids ...string) map[string]map[string]any {
	t.Helper()
	got := map[string]map[string]any{}
	for range ids {
		m := r.reply(t)
		if !slices.Contains(ids, m.ParentID()) {
			t.Errorf("a %s to %s", m.Header.Type, m.ParentID())
		}
		got[m.ParentID()] = content(m.Content)
	}
	return got
}

func subshellsAnnounced(t *testing.T, s *subject) {
	s.subshell(t)
	for _, on := range []client.Channel{client.Shell, client.Control} {
		info := s.ask(t, on, "kernel_info_request", struct{}{})
		if features, _ := info["supported_features"].([]any); !slices.Contains(features, any("kernel subshells")) {
			t.Errorf("supported_features: %v", features)
		}
	}
}

func subshellLife(t *testing.T, s *subject) {
	one, two := s.subshell(t), s.subshell(t)
	list := func() []any {
		got := s.ask(t, client.Control, "list_subshell_request", struct{}{})
		want(t, "list", got["status"], "ok")
		ids, _ := got["subshell_id"].([]any)
		return ids
	}
	want(t, "subshells", list(), []any{one, two})
	got := s.ask(t, client.Control, "delete_subshell_request", map[string]any{"subshell_id": one})
	want(t, "deleted", got, map[string]any{"status": "ok"})
	want(t, "subshells", list(), []any{two})
	got = s.ask(t, client.Control, "delete_subshell_request", map[string]any{"subshell_id": one})
	want(t, "deleted again", got["status"], "error")
	want(t, "deleted again", got["evalue"], "Unknown subshell_id '"+one+"'")
}

// subshellQuestions asks what needs no cell, while one runs.
func subshellQuestions(t *testing.T, s *subject) {
	h := s.listen()
	id := s.subshell(t)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	asker := s.dial(t, s.kernel.Connection().ShellPort, "")
	cell := h.running(t, r, "")
	for _, c := range []struct {
		request string
		body    map[string]any
	}{
		{"complete_request", map[string]any{"code": s.Complete.Code, "cursor_pos": s.Complete.Cursor}},
		{"inspect_request", map[string]any{"code": s.Known, "cursor_pos": len(s.Known), "detail_level": 0}},
		{"is_complete_request", map[string]any{"code": s.Hello}},
		{"history_request", map[string]any{"hist_access_type": "tail", "n": 1, "output": false, "raw": true}},
		{"comm_info_request", map[string]any{}},
		{"kernel_info_request", map[string]any{}},
	} {
		began := time.Now()
		request := asker.on(t, id, c.request, c.body)
		m := asker.reply(t)
		want(t, c.request+": parent", m.ParentID(), request)
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("%s was answered after %v", c.request, took)
		}
		want(t, c.request, kinds(h.await(t, request, "idle")), "busy idle")
		if c.request == "complete_request" {
			matches, _ := content(m.Content)["matches"].([]any)
			if !slices.Contains(matches, any(s.Complete.Match)) {
				t.Errorf("matches %v, want %q among them", matches, s.Complete.Match)
			}
		}
	}
	s.ask(t, client.Control, "interrupt_request", struct{}{})
	want(t, "the cell", r.answers(t, cell)[cell]["status"], "error")
}

// subshellCell runs cells there while nothing else does: with the same variables and the same count.
func subshellCell(t *testing.T, s *subject) {
	h := s.listen()
	id := s.subshell(t)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	before, _ := s.run(t, s.Keep)
	request := r.on(t, id, "execute_request", map[string]any{"code": s.Kept})
	got := r.answers(t, request)[request]
	want(t, "status", got["status"], "ok")
	want(t, "count", got["execution_count"], before.Count+1)
	ms := h.await(t, request, "idle")
	want(t, "output", printed(ms, "stdout"), "kept\n")
	request = r.on(t, id, "execute_request", map[string]any{"code": s.Fail})
	got = r.answers(t, request)[request]
	want(t, "a cell that fails", got["status"], "error")
	want(t, "its messages", kinds(h.await(t, request, "idle")), "busy execute_input error idle")
}

// subshellCellBeside: a cell on a subshell runs beside another or waits and says so, and ends with an interrupt or when it has run.
func subshellCellBeside(t *testing.T, s *subject) {
	h := s.listen()
	id := s.subshell(t)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	cell := h.running(t, r, "")
	beside := r.on(t, id, "execute_request", map[string]any{"code": s.Hello})
	ms := h.await(t, beside, "stream")
	text := printed(ms, "stdout") + printed(ms, "stderr")
	if text != "hello\n" && !strings.HasPrefix(text, "waits for cell") {
		t.Errorf("it wrote %q, want its output or for whom it waits", text)
	}
	s.ask(t, client.Control, "interrupt_request", struct{}{})
	got := r.answers(t, cell, beside)
	want(t, "the cell that was there first", got[cell]["status"], "error")
	wanted := "ok"
	if text != "hello\n" {
		wanted = "error"
	}
	want(t, "the other", got[beside]["status"], wanted)
	after, _ := s.run(t, s.Hello)
	want(t, "the next cell", after.Status, "ok")
}

func subshellUnknown(t *testing.T, s *subject) {
	h := s.listen()
	s.subshell(t)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	for _, c := range []string{"execute_request", "complete_request", "kernel_info_request"} {
		request := r.on(t, "nobody", c, map[string]any{"code": s.Hello, "cursor_pos": 0})
		got := r.answers(t, request)[request]
		want(t, c+": status", got["status"], "error")
		want(t, c+": ename", got["ename"], "UnknownSubshellError")
		want(t, c+": evalue", got["evalue"], "Unknown subshell_id 'nobody'")
		want(t, c+": messages", kinds(h.await(t, request, "idle")), "busy idle")
	}
	request := r.on(t, "nobody", "comm_msg", map[string]any{"comm_id": "c", "data": map[string]any{}})
	want(t, "comm_msg", kinds(h.await(t, request, "idle")), "busy idle")
}

// subshellInterrupt has a cell run, or wait, on each of three shells.
func subshellInterrupt(t *testing.T, s *subject) {
	h := s.listen()
	need(t, s.Endless)
	one, two := s.subshell(t), s.subshell(t)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	ids := []string{h.running(t, r, "")}
	for _, id := range []string{one, two} {
		request := r.on(t, id, "execute_request", map[string]any{"code": s.Endless})
		h.await(t, request, "stream") // its own, or for whom it waits
		ids = append(ids, request)
	}
	began := time.Now()
	s.ask(t, client.Control, "interrupt_request", struct{}{})
	for id, got := range r.answers(t, ids...) {
		want(t, "cell "+id, got["status"], "error")
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, id := range ids {
		if n := len(of(h.await(t, id, "idle"), "error")); n != 1 {
			t.Errorf("%d errors of a cell that was interrupted", n)
		}
	}
}

func subshellAbort(t *testing.T, s *subject) {
	need(t, s.SlowFail)
	id := s.subshell(t)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	failing := r.on(t, id, "execute_request", map[string]any{"code": s.SlowFail})
	aborted := r.on(t, id, "execute_request", map[string]any{"code": s.Hello})
	other := r.on(t, "", "execute_request", map[string]any{"code": s.Hello})
	another := r.on(t, "", "execute_request", map[string]any{"code": s.Hello})
	got := r.answers(t, failing, aborted, other, another)
	for request, status := range map[string]string{failing: "error", aborted: "aborted", other: "ok", another: "ok"} {
		want(t, "status", got[request]["status"], status)
	}
}

// subshellDeleted deletes a subshell while a cell runs there: control goes on, and the reply comes after the cell's end.
func subshellDeleted(t *testing.T, s *subject) {
	h := s.listen()
	id := s.subshell(t)
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	control := s.dial(t, s.kernel.Connection().ControlPort, "")
	cell := h.running(t, r, id)
	waiting := r.on(t, id, "execute_request", map[string]any{"code": s.Hello})
	time.Sleep(50 * time.Millisecond) // so that it has arrived; if not, it is refused all the same
	deletion := control.on(t, "", "delete_subshell_request", map[string]any{"subshell_id": id})
	want(t, "what waited", r.answers(t, waiting)[waiting]["status"], "error")
	s.ask(t, client.Control, "interrupt_request", struct{}{})
	want(t, "the cell", r.answers(t, cell)[cell]["status"], "error")
	m := control.reply(t)
	want(t, "the deletion's parent", m.ParentID(), deletion)
	want(t, "the deletion", content(m.Content), map[string]any{"status": "ok"})
}
