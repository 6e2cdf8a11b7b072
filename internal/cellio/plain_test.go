package cellio

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"a\tb\r\nc\n":              "a\tb\r\nc\n",
		"Müller 日本 \u200f\xff":     "Müller 日本 \u200f\xff",
		"\x1b[31mred\x1b[0m":       `\x1b[31mred\x1b[0m`,
		"\x1b]8;;http://x\x07y":    `\x1b]8;;http://x\ay`,
		"\u009b31mred \x7f":        `\u009b31mred \x7f`,
		"10\r99 \b":                `10\r99 \b`,
		"user\u202egnp.exe\u202c":  `user\u202egnp.exe\u202c`,
		"\u2066a\u2069 \u202ab":    `\u2066a\u2069 \u202ab`,
		`already \x1b stays` + "!": `already \x1b stays!`,
	} {
		if got := Plain(text); got != want {
			t.Errorf("Plain(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestDisplaysArePlain looks at the frame; what a display has in other forms, and the caller's map, stay.
func TestDisplaysArePlain(t *testing.T) {
	d := Display{Data: map[string]any{"text/plain": "\x1b[31mred", "text/html": "<b>\x1b</b>"}, Metadata: map[string]any{}}
	first, more, err := encode(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range more {
		first = append(first, piece...)
	}
	var got Display
	if err := json.Unmarshal(first, &got); err != nil {
		t.Fatal(err)
	}
	if got.Data["text/plain"] != `\x1b[31mred` || got.Data["text/html"] != "<b>\x1b</b>" || !strings.HasPrefix(d.Data["text/plain"].(string), "\x1b") {
		t.Errorf("sent %q of %q", got.Data, d.Data)
	}
}
