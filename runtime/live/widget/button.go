package widget

import (
	"encoding/json"
	"sync/atomic"
)

// ButtonConfig says what a Button is at first.
type ButtonConfig struct {
	Description string // the text on it
	ButtonStyle string // "primary", "success", "info", "warning", "danger" or ""
	Icon        string // a name of Font Awesome without "fa-", such as "check"; "" is none
	Tooltip     string
	Disabled    bool
}

// Button is something to click. Make one with NewButton.
type Button struct {
	Control
	click *atomic.Pointer[func()]
}

// NewButton returns a button.
func NewButton(c ButtonConfig) *Button {
	b := &Button{click: &atomic.Pointer[func()]{}}
	state := map[string]any{"description": c.Description, "disabled": c.Disabled, "icon": c.Icon, "button_style": buttonStyle(c.ButtonStyle)}
	draw := func(s map[string]any) picture { return plainly("[ " + s["description"].(string) + " ]") }
	b.Control = newControl(controlKind("Button", "ButtonView"), "ButtonStyle", state, draw, func(m *model) {
		if c.Tooltip != "" {
			m.state["tooltip"] = c.Tooltip
		}
		m.custom = func(content json.RawMessage) { on("click", content, b.Click) }
	})
	return b
}

// buttonStyle is a style that the front end knows.
func buttonStyle(style string) string {
	if style == "primary" {
		return style
	}
	return barStyle(style)
}

// on calls f if a message tells of an event.
func on(event string, content json.RawMessage, f func()) {
	var msg struct {
		Event string `json:"event"`
	}
	if json.Unmarshal(content, &msg) == nil && msg.Event == event {
		f()
	}
}

// Click does what a click does.
func (b *Button) Click() {
	if f := b.click.Load(); f != nil && *f != nil {
		(*f)()
	}
}

// OnClick sets what is called at a click; nil for nothing. It takes the place of what was set before, so that a cell can be run
// again.
func (b *Button) OnClick(f func()) { b.click.Store(&f) }
