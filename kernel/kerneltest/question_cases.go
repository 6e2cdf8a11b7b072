package kerneltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cancha/kernel/client"
)

// questionCases are the properties of completion, inspection, history and comms.
func questionCases() []namedCase {
	return []namedCase{
		{"55 completion counts code points", completion},
		{"55 completion of members, of nothing in text", completions},
		{"55 completion inside a name", completionInside},
		{"odd questions", odd},
		{"56 inspection", inspection},
		{"56 inspection with source", inspectionDetail},
		{"56 is_complete", completeness},
		{"57 user expressions", userExpressions},
		{"57 history", historyCase},
		{"odd histories", oddHistory},
		{"a history with outputs", historyOutputs},
		{"58 a comm of an unknown target is closed", comms},
		{"kernel_info", kernelInfo},
	}
}

// completesTo checks one completion.
func (s *subject) completesTo(t *testing.T, c Completion) {
	t.Helper()
	got := s.ask(t, client.Shell, "complete_request", map[string]any{"code": c.Code, "cursor_pos": c.Cursor})
	matches, _ := got["matches"].([]any)
	if !slices.Contains(matches, any(c.Match)) {
		t.Errorf("%s: matches %v, want %q among them", c.Code, matches, c.Match)
	}
	for _, hidden := range c.Hidden {
		if slices.Contains(matches, any(hidden)) {
			t.Errorf("%s: %q is among the matches", c.Code, hidden)
		}
	}
	want(t, c.Code+": status", got["status"], "ok")
	want(t, c.Code+": cursor_start", got["cursor_start"], c.Start)
	want(t, c.Code+": cursor_end", got["cursor_end"], c.End)
	if _, ok := got["metadata"].(map[string]any); !ok {
		t.Errorf("%s: metadata %v, want an object", c.Code, got["metadata"])
	}
}

func completion(t *testing.T, s *subject) {
	need(t, s.Complete.Code)
	s.completesTo(t, s.Complete)
}

func completions(t *testing.T, s *subject) {
	if len(s.Completes)+len(s.Nothing) == 0 {
		t.Skip("no sample")
	}
	for _, c := range s.Completes {
		s.completesTo(t, c)
	}
	for _, c := range s.Nothing {
		got := s.ask(t, client.Shell, "complete_request", map[string]any{"code": c.Code, "cursor_pos": c.Cursor})
		want(t, c.Code+": matches", got["matches"], []any{})
	}
}

// completionInside: with the cursor two code points before the end of the name what is replaced still begins where it did.
func completionInside(t *testing.T, s *subject) {
	need(t, s.Complete.Code)
	c := s.Complete
	got := s.ask(t, client.Shell, "complete_request", map[string]any{"code": c.Code, "cursor_pos": c.End - 2})
	matches, _ := got["matches"].([]any)
	if !slices.Contains(matches, any(c.Match)) {
		t.Errorf("%s at %d: matches %v, want %q among them", c.Code, c.End-2, matches, c.Match)
	}
	want(t, "cursor_start", got["cursor_start"], c.Start)
	if end, _ := got["cursor_end"].(float64); int(end) != c.End-2 && int(end) != c.End {
		t.Errorf("cursor_end %v, want the cursor's place or the end of the name", end)
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

// inspectionDetail: level 1 tells more than level 0, and has the source.
func inspectionDetail(t *testing.T, s *subject) {
	need(t, s.Known, s.KnownSource)
	text := func(level int) string {
		got := s.ask(t, client.Shell, "inspect_request", map[string]any{"code": s.Known, "cursor_pos": len(s.Known), "detail_level": level})
		data, _ := got["data"].(map[string]any)
		text, _ := data["text/plain"].(string)
		return text
	}
	if plain := text(0); strings.Contains(plain, s.KnownSource) {
		t.Errorf("level 0 has the source: %q", plain)
	}
	if plain := text(1); !strings.Contains(plain, s.KnownSource) {
		t.Errorf("level 1 is %q, want %q in it", plain, s.KnownSource)
	}
	for _, cursor := range []int{len(s.Known) - 1, 1} {
		got := s.ask(t, client.Shell, "inspect_request", map[string]any{"code": s.Known, "cursor_pos": cursor, "detail_level": 0})
		want(t, "status inside the name", got["status"], "ok")
	}
}

func completeness(t *testing.T, s *subject) {
	for status, codes := range map[string][]string{"complete": s.Whole, "incomplete": s.Unfinished, "invalid": s.Invalid} {
		for _, code := range codes {
			got := s.ask(t, client.Shell, "is_complete_request", map[string]any{"code": code})
			want(t, code, got["status"], status)
			if _, there := got["indent"]; there != (status == "incomplete") {
				t.Errorf("%s: indent is there: %v", status, there)
			}
			if status == "incomplete" && s.Indents != nil {
				want(t, code+": indent", got["indent"], s.Indents[code])
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
	pair, _ := pairs["history"].([]any)[0].([]any)[2].([]any)
	if len(pair) != 2 || pair[0] != s.Value {
		t.Errorf("input and output: %v, want a pair", pair)
	}
}

func historyOutputs(t *testing.T, s *subject) {
	s.run(t, s.Value)
	pairs := s.ask(t, client.Shell, "history_request", map[string]any{"hist_access_type": "tail", "n": 1, "output": true, "raw": true})
	want(t, "input and output", pairs["history"].([]any)[0].([]any)[2], []any{s.Value, s.ValueText})
}

// oddHistory: what asks for nothing finds nothing, or all; a reply comes.
func oddHistory(t *testing.T, s *subject) {
	for _, body := range []string{
		`{"hist_access_type":"tail","n":0}`, `{"hist_access_type":"tail","n":-5}`, `{"hist_access_type":"tail","n":1000000}`,
		`{"hist_access_type":"range","session":-1000,"start":1,"stop":5}`, `{"hist_access_type":"range","session":0,"start":10,"stop":1}`,
		`{"hist_access_type":"range","session":0,"start":-3}`, `{"hist_access_type":"range","session":1000000,"start":0,"stop":1}`,
		`{"hist_access_type":"search","pattern":"[["}`, `{"hist_access_type":"search","pattern":"","n":-1}`, `{"hist_access_type":"frob"}`,
		`{"hist_access_type":"search","pattern":"*","n":null,"unique":null}`, `{"output":true,"raw":false,"hist_access_type":"tail","n":3}`,
	} {
		got := s.ask(t, client.Shell, "history_request", json.RawMessage(body))
		if _, ok := got["history"].([]any); !ok && got["status"] != "error" {
			t.Errorf("%s: %v, want a history or an error", body, got)
		}
	}
	s.alive(t)
}

func comms(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	s.seen.take()
	frames, id := r.message(t, "comm_open", map[string]any{"comm_id": "c-1", "target_name": "nobody", "data": map[string]any{}})
	r.send(t, append(frames, []byte{0, 1}, []byte("second buffer")))
	ms := slices.DeleteFunc(s.until(t, id, "idle"), isLog)
	want(t, "messages", kinds(ms), "busy comm_close idle")
	if closed := of(ms, "comm_close"); len(closed) == 1 {
		want(t, "comm", content(closed[0].Content)["comm_id"], "c-1")
	}
	frames, id = r.message(t, "comm_msg", map[string]any{"comm_id": "c-1", "data": map[string]any{}})
	r.send(t, frames)
	want(t, "messages", kinds(slices.DeleteFunc(s.until(t, id, "idle"), isLog)), "busy idle")
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
	var major, minor int
	version, _ := got["protocol_version"].(string)
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 || major != 5 || minor < 2 {
		t.Errorf("protocol_version %q, want 5.2 or newer, whose cursors count code points", version)
	}
	if extension, _ := language["file_extension"].(string); !strings.HasPrefix(extension, ".") {
		t.Errorf("file_extension %q, want it to begin with a dot", extension)
	}
	for _, field := range []string{"name", "version", "mimetype", "file_extension"} {
		if text, _ := language[field].(string); text == "" {
			t.Errorf("language_info has no %s", field)
		}
	}
}
