package widget

import (
	"encoding/json"
	"strconv"
	"sync/atomic"
)

// TextConfig says what a Text is at first.
type TextConfig struct {
	Description string // its label
	Value       string
	Placeholder string // shown while the field is empty
	Disabled    bool
	Lazy        bool // tell Go of a value only when the user presses Enter or leaves the field
}

// Text is a field for a line of text. Make one with NewText.
type Text struct {
	Control
	submit *atomic.Pointer[func(string)]
}

// NewText returns a field.
func NewText(c TextConfig) *Text {
	t := &Text{submit: &atomic.Pointer[func(string)]{}}
	state := with(described(c.Description, c.Disabled), map[string]any{
		"value": c.Value, "placeholder": or(c.Placeholder, "\u200b"), "continuous_update": !c.Lazy,
	})
	draw := func(s map[string]any) picture { return labelled(s, valued(strconv.Quote(s["value"].(string)), "")) }
	t.Control = newControl(controlKind("Text", "TextView"), "TextStyle", state, draw, func(m *model) {
		m.refine["value"] = func(_ map[string]any, v any) (any, bool) { s, ok := v.(string); return s, ok }
		m.custom = func(content json.RawMessage) { on("submit", content, t.submitted) }
	})
	return t
}

func (t *Text) submitted() {
	if f := t.submit.Load(); f != nil && *f != nil {
		(*f)(t.Value())
	}
}

// Value is the text in the field.
func (t *Text) Value() string { return t.m.get("value").(string) }

// SetValue changes the text.
func (t *Text) SetValue(value string) { t.m.set("value", value) }

// OnChange sets what is called when the text has changed, by a user or by Go; nil for nothing. It takes the place of what was set
// before, so that a cell can be run again.
func (t *Text) OnChange(f func(old, new string)) { observe(t.m, "value", f) }

// OnSubmit sets what is called with the text when a user presses Enter in the field; nil for nothing. It takes the place of what
// was set before.
func (t *Text) OnSubmit(f func(value string)) { t.submit.Store(&f) }
