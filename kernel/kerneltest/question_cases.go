package kerneltest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cancha/kernel/client"
)

// questionCases are the properties of completion, inspection, history and comms.
func questionCases() []namedCase {
	return []namedCase{
		{"completion counts code points", completion},
		{"odd questions", odd},
		{"inspection", inspection},
		{"is_complete", completeness},
		{"user expressions", userExpressions},
		{"history", historyCase},
		{"a comm of an unknown target is closed", comms},
		{"kernel_info", kernelInfo},
	}
}

func completion(t *testing.T, s *subject) {
	need(t, s.Complete.Code)
	c := s.Complete
	for _, c := range append([]Completion{c}, s.Completes...) {
		got := s.ask(t, client.Shell, "complete_request", map[string]any{"code": c.Code, "cursor_pos": c.Cursor})
		matches, _ := got["matches"].([]any)
		if !slices.Contains(matches, any(c.Match)) {
			t.Errorf("%s: matches %v, want %q among them", c.Code, matches, c.Match)
		}
		want(t, c.Code+": cursor_start", got["cursor_start"], c.Start)
		want(t, c.Code+": cursor_end", got["cursor_end"], c.End)
	}
	for _, c := range s.Nothing {
		got := s.ask(t, client.Shell, "complete_request", map[string]any{"code": c.Code, "cursor_pos": c.Cursor})
		want(t, c.Code+": matches", got["matches"], []any{})
	}
}

// odd asks with cursors outside the code, and with contents that lack what they should have: a reply must come.
func odd(t *testing.T, s *subject) {
	for _, msgType := range []string{"complete_request", "inspect_request", "is_complete_request", "history_request", "execute_request", "comm_info_request"} {
		for _, body := range []string{
			`{"code":"x","cursor_pos":-1}`, `{"code":"x","cursor_pos":1000}`, `{"code":"\ud800","cursor_pos":1}`, `{}`, `{"code":5}`,
		} {
			got := s.ask(t, client.Shell, msgType, json.RawMessage(body))
			if text, _ := got["status"].(string); text == "" {
				t.Errorf("%s %s: the reply has no status: %v", msgType, body, got)
			}
		}
	}
	s.alive(t)
}

func inspection(t *testing.T, s *subject) {
	need(t, s.Known, s.Unknown)
	got := s.ask(t, client.Shell, "inspect_request", map[string]any{"code": s.Known, "cursor_pos": len(s.Known), "detail_level": 0})
	want(t, "found", got["found"], true)
	if data, _ := got["data"].(map[string]any); data["text/plain"] == nil {
		t.Errorf("data %v has no text", got["data"])
	}
	got = s.ask(t, client.Shell, "inspect_request", map[string]any{"code": s.Unknown, "cursor_pos": len(s.Unknown), "detail_level": 0})
	want(t, "unknown: status", got["status"], "ok")
	want(t, "unknown: found", got["found"], false)
	want(t, "unknown: data", got["data"], map[string]any{})
}

func completeness(t *testing.T, s *subject) {
	for status, codes := range map[string][]string{"complete": s.Whole, "incomplete": s.Unfinished, "invalid": s.Invalid} {
		for _, code := range codes {
			got := s.ask(t, client.Shell, "is_complete_request", map[string]any{"code": code})
			want(t, code, got["status"], status)
			if _, there := got["indent"]; there != (status == "incomplete") {
				t.Errorf("%s: indent is there: %v", status, there)
			}
		}
	}
}

func userExpressions(t *testing.T, s *subject) {
	need(t, s.GoodExpr, s.BadExpr)
	r, _ := s.runWith(t, s.Hello, client.ExecuteOptions{UserExpressions: map[string]string{"good": s.GoodExpr, "bad": s.BadExpr}})
	want(t, "status", r.Status, "ok")
	good, bad := content(r.UserExpressions["good"]), content(r.UserExpressions["bad"])
	want(t, "good", good["status"], "ok")
	if data, _ := good["data"].(map[string]any); data["text/plain"] == nil {
		t.Errorf("good expression: %v", good)
	}
	want(t, "bad", bad["status"], "error")
}

// inputs asks for history and returns the inputs.
func (s *subject) inputs(t *testing.T, request map[string]any) (inputs []string, entries [][]any) {
	t.Helper()
	request["output"], request["raw"] = false, true
	for _, e := range s.ask(t, client.Shell, "history_request", request)["history"].([]any) {
		entry := e.([]any)
		entries = append(entries, entry)
		inputs = append(inputs, entry[2].(string))
	}
	return inputs, entries
}

func historyCase(t *testing.T, s *subject) {
	for range 3 {
		s.run(t, s.Value)
		s.run(t, s.Hello)
	}
	got, entries := s.inputs(t, map[string]any{"hist_access_type": "tail", "n": 4})
	want(t, "tail", got, []string{s.Value, s.Hello, s.Value, s.Hello})
	session, line := entries[2][0], entries[2][1].(float64)
	got, _ = s.inputs(t, map[string]any{"hist_access_type": "range", "session": session, "start": line, "stop": line + 1})
	want(t, "range", got, []string{s.Value})
	got, _ = s.inputs(t, map[string]any{"hist_access_type": "range", "session": 0, "start": line, "stop": line + 2})
	want(t, "range of this session", got, []string{s.Value, s.Hello})
	first, _, _ := strings.Cut(s.Value, "\n")
	pattern := first[:1] + "*" // all values begin so; hellos must not
	if strings.HasPrefix(s.Hello, first[:1]) || strings.ContainsAny(first[:1], "*?[") {
		t.Skip("the samples are too much alike for a pattern")
	}
	got, _ = s.inputs(t, map[string]any{"hist_access_type": "search", "pattern": pattern, "n": 2})
	want(t, "search", got, []string{s.Value, s.Value})
	got, _ = s.inputs(t, map[string]any{"hist_access_type": "search", "pattern": s.Value, "unique": true})
	want(t, "unique search", got, []string{s.Value})
	pairs := s.ask(t, client.Shell, "history_request", map[string]any{"hist_access_type": "tail", "n": 2, "output": true, "raw": true})
	want(t, "input and output", pairs["history"].([]any)[0].([]any)[2], []any{s.Value, s.ValueText})
}

func comms(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	s.seen.take()
	frames, id := r.message(t, "comm_open", map[string]any{"comm_id": "c-1", "target_name": "nobody", "data": map[string]any{}})
	r.send(t, append(frames, []byte{0, 1}, []byte("second buffer")))
	ms := s.until(t, id, "idle")
	want(t, "messages", kinds(ms), "busy comm_close idle")
	want(t, "comm", content(ms[1].Content)["comm_id"], "c-1")
	frames, id = r.message(t, "comm_msg", map[string]any{"comm_id": "c-1", "data": map[string]any{}})
	r.send(t, frames)
	want(t, "messages", kinds(s.until(t, id, "idle")), "busy idle")
	want(t, "comms", s.ask(t, client.Shell, "comm_info_request", struct{}{})["comms"], map[string]any{})
}

func kernelInfo(t *testing.T, s *subject) {
	got := s.ask(t, client.Shell, "kernel_info_request", struct{}{})
	for _, field := range []string{"status", "protocol_version", "implementation", "implementation_version", "language_info", "banner"} {
		if got[field] == nil {
			t.Errorf("no %s", field)
		}
	}
	language := got["language_info"].(map[string]any)
	for _, field := range []string{"name", "version", "mimetype", "file_extension"} {
		if text, _ := language[field].(string); text == "" {
			t.Errorf("language_info has no %s", field)
		}
	}
}
