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

// outputCases are the properties of streams and displays.
func outputCases() []namedCase {
	return []namedCase{
		{"35 100,000 lines", manyLines},
		{"36 output without a newline is seen at once", partialLine},
		{"slow output comes together", coalesced},
		{"37 order across kinds", mixed},
		{"output after the cell's end", late},
		{"39 displays are updated from a later cell", updated},
		{"40 an animation", animated},
		{"a display of 20 MB", large},
		{"43 a value in two kinds", rich},
		{"42 JSON stays JSON", jsonStays},
		{"the pager", paged},
	}
}

func manyLines(t *testing.T, s *subject) {
	need(t, s.Lines)
	began := time.Now()
	_, ms := s.run(t, s.Lines)
	took := time.Since(began)
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintln(&b, i)
	}
	if got := printed(ms, "stdout"); got != b.String() {
		t.Errorf("%d bytes came, want %d in order", len(got), b.Len())
	}
	if n := len(of(ms, "stream")); n > 500 {
		t.Errorf("%d stream messages, want at most 500", n)
	}
	if took > 3*time.Second {
		t.Errorf("it took %v, want at most 3s", took)
	}
	t.Logf("%v in %d stream messages", took, len(of(ms, "stream")))
	want(t, "last message", client.State(ms[len(ms)-1]), "idle")
}

// partialLine: the text is at the client soon after the cell has begun, a second before its end.
func partialLine(t *testing.T, s *subject) {
	need(t, s.Partial)
	var began, seen, ended time.Time
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	text := ""
	if _, err := s.client.Execute(ctx, s.Partial, func(m wire.Message) {
		switch {
		case m.Header.Type == "execute_input":
			began = time.Now()
		case m.Header.Type == "stream":
			if seen.IsZero() {
				seen = time.Now()
			}
			text += printed([]wire.Message{m}, "stdout")
		case client.State(m) == "idle":
			ended = time.Now()
		}
	}); err != nil {
		t.Fatal(err)
	}
	want(t, "text", text, "partial")
	if wait := seen.Sub(began); wait > 300*time.Millisecond {
		t.Errorf("the text came after %v, want at most 300ms", wait)
	}
	if lead := ended.Sub(seen); lead < 700*time.Millisecond {
		t.Errorf("the text came %v before the end of a cell that runs a second after it", lead)
	}
}

// coalesced: two hundred lines over a second are a message every 50 ms, and not one each.
func coalesced(t *testing.T, s *subject) {
	need(t, s.Slow)
	_, ms := s.run(t, s.Slow)
	want(t, "text", printed(ms, "stdout"), strings.Repeat("tick\n", 200))
	first, last := ms[0].Header.Date, ms[len(ms)-1].Header.Date
	from, err := time.Parse(time.RFC3339Nano, first)
	to, err2 := time.Parse(time.RFC3339Nano, last)
	if err != nil || err2 != nil {
		t.Fatalf("dates %q and %q", first, last)
	}
	if n, most := len(of(ms, "stream")), 5+2*int(to.Sub(from)/(50*time.Millisecond)); n < 5 || n > most {
		t.Errorf("%d stream messages in %v, want from 5 to %d", n, to.Sub(from), most)
	}
}

func mixed(t *testing.T, s *subject) {
	need(t, s.Mixed)
	_, ms := s.run(t, s.Mixed)
	want(t, "messages", kinds(ms), "busy execute_input stream display_data stream stream idle")
	want(t, "stderr", strings.TrimSpace(printed(ms, "stderr")), "3")
}

func late(t *testing.T, s *subject) {
	need(t, s.Late)
	r, ms := s.run(t, s.Late)
	want(t, "output while it ran", printed(ms, "stdout"), "")
	s.run(t, s.Hello) // a later cell, whose output it is not
	id := content(r.Message.Parent)["msg_id"].(string)
	got := s.until(t, id, "stream")
	want(t, "late output", strings.TrimSpace(printed(got, "stdout")), "late")
}

func displayID(raw []byte) any {
	transient, _ := content(raw)["transient"].(map[string]any)
	return transient["display_id"]
}

func updated(t *testing.T, s *subject) {
	need(t, s.Show, s.Update)
	_, ms := s.run(t, s.Show)
	shown := of(ms, "display_data")
	if len(shown) != 1 || displayID(shown[0].Content) == nil {
		t.Fatalf("%s, want one display with an id", kinds(ms))
	}
	_, ms = s.run(t, s.Update)
	want(t, "messages", kinds(ms), "busy execute_input update_display_data update_display_data update_display_data idle")
	for _, m := range of(ms, "update_display_data") {
		want(t, "display_id", displayID(m.Content), displayID(shown[0].Content))
	}
}

func animated(t *testing.T, s *subject) {
	need(t, s.Animate)
	_, ms := s.run(t, s.Animate)
	want(t, "messages", kinds(ms), "busy execute_input "+strings.Repeat("clear_output display_data ", 100)+"idle")
	want(t, "wait", content(of(ms, "clear_output")[0].Content)["wait"], true)
}

func large(t *testing.T, s *subject) {
	need(t, s.Large)
	_, ms := s.run(t, s.Large)
	shown := of(ms, "display_data")
	if len(shown) != 1 || len(shown[0].Content) < 20<<20 {
		t.Errorf("%s, want one display of 20 MB", kinds(ms))
	}
}

func rich(t *testing.T, s *subject) {
	need(t, s.Rich)
	_, ms := s.run(t, s.Rich)
	shown := of(ms, "execute_result")
	if len(shown) != 1 {
		t.Fatalf("%s, want one value", kinds(ms))
	}
	data, _ := content(shown[0].Content)["data"].(map[string]any)
	if data["text/html"] == nil || data["text/plain"] == nil {
		t.Errorf("data %v, want text/html and text/plain", data)
	}
	for _, code := range []string{s.Value, s.Rich, s.JSON, s.Show, s.Mixed} {
		_, ms := s.run(t, code)
		for _, m := range append(of(ms, "execute_result"), of(ms, "display_data")...) {
			shown := content(m.Content)
			if data, _ := shown["data"].(map[string]any); data["text/plain"] == nil {
				t.Errorf("%q shows %v without text/plain", code, data)
			}
			if _, ok := shown["metadata"].(map[string]any); !ok {
				t.Errorf("%q: metadata %v, want an object", code, shown["metadata"])
			}
		}
	}
}

func jsonStays(t *testing.T, s *subject) {
	need(t, s.JSON)
	_, ms := s.run(t, s.JSON)
	shown := of(ms, "display_data")
	if len(shown) != 1 {
		t.Fatalf("%s, want one display", kinds(ms))
	}
	data, _ := content(shown[0].Content)["data"].(map[string]any)
	if _, isObject := data["application/json"].(map[string]any); !isObject {
		t.Errorf("application/json is %T, want an object", data["application/json"])
	}
}

func paged(t *testing.T, s *subject) {
	need(t, s.Page)
	r, _ := s.run(t, s.Page)
	if len(r.Payload) != 1 {
		t.Fatalf("%d payloads, want 1", len(r.Payload))
	}
	p := content(r.Payload[0])
	want(t, "source", p["source"], "page")
	if text, _ := p["data"].(map[string]any)["text/plain"].(string); text == "" {
		t.Errorf("payload %v has no text", p)
	}
}
