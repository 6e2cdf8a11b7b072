package widget

import (
	"html"
	"maps"
	"math"
	"strconv"
)

// viewType is the MIME type of a widget's view.
const viewType = "application/vnd.jupyter.widget-view+json"

// Widget is anything that a box can hold: all types of this package, and those that embed one.
type Widget interface {
	ID() string
	Close()
	MIMEBundle() map[string]any
	Base() *Control // what all widgets have in common
}

// Control is what all widgets have in common. It is a part of each of them and of no use alone.
type Control struct {
	m       *model
	style   *model // nil where there is none
	layout  *model
	picture func(state map[string]any, depth int) picture

	children *[]Widget // of a box; guarded by m's lock
}

// picture is a widget as a reader sees it who has no widgets: text in plain and in HTML.
type picture struct{ text, html string }

// plainly is a picture of text only.
func plainly(text string) picture { return picture{text, html.EscapeString(text)} }

// newControl opens a widget with a layout and, unless style is empty, a style. finish, if not nil, sets what the model needs before
// it is opened.
func newControl(k kind, style string, state map[string]any, draw func(map[string]any) picture, finish func(*model)) Control {
	layout := newModel(kind{"LayoutModel", "LayoutView", base, baseVersion, base, baseVersion}, layoutState(Layout{}))
	maps.Copy(state, map[string]any{"_dom_classes": []string{}, "layout": layout.reference(), "tabbable": nil, "tooltip": nil})
	c := Control{m: newModel(k, state), layout: layout, picture: func(s map[string]any, _ int) picture { return draw(s) }}
	c.m.parts = []*model{layout}
	if style != "" {
		c.style = newModel(styleKind(style), styleState(style))
		state["style"] = c.style.reference()
		c.m.parts = append(c.m.parts, c.style)
	}
	if finish != nil {
		finish(c.m)
	}
	c.m.open()
	return c
}

// described are the keys of a widget that has a label.
func described(description string, disabled bool) map[string]any {
	return map[string]any{"description": description, "description_allow_html": false, "disabled": disabled}
}

// with adds keys to a state.
func with(state, more map[string]any) map[string]any {
	maps.Copy(state, more)
	return state
}

// Base returns c, which a box asks of the widgets in it.
func (c *Control) Base() *Control { return c }

// ID is the name by which front ends know the widget.
func (c *Control) ID() string { return c.m.comm.ID() }

// SetDescription changes the label; boxes and outputs have none.
func (c *Control) SetDescription(text string) { c.m.set("description", text) }

// SetDisabled sets whether a user can use the widget; boxes, outputs and progress bars cannot be used anyway.
func (c *Control) SetDisabled(disabled bool) { c.m.set("disabled", disabled) }

// SetTooltip changes the text that is shown while the mouse rests on the widget; "" is none.
func (c *Control) SetTooltip(text string) {
	if text == "" {
		c.m.set("tooltip", nil)
		return
	}
	c.m.set("tooltip", text)
}

// SetLayout changes where and how large the widget is: all of it, fields that are "" go back to the default.
func (c *Control) SetLayout(l Layout) { c.layout.setAll(layoutState(l)) }

// SetStyle changes the colours and the like: all of it, fields that are "" go back to the default.
func (c *Control) SetStyle(s Style) {
	if c.style != nil {
		c.style.setAll(s.state())
	}
}

// Close takes the widget from all front ends; its views go. Its value can still be read. Widgets in a box are not closed with it.
func (c *Control) Close() { c.m.close() }

// String is the widget as plain text: what it is for and its value.
func (c *Control) String() string { return c.draw(0).text }

// MIMEBundle is how the widget is displayed: its view, and its value in HTML and in plain text for who has no widgets.
func (c *Control) MIMEBundle() map[string]any {
	p := c.draw(0)
	bundle := map[string]any{"text/plain": p.text, "text/html": p.html}
	if c.m.isAttached() {
		bundle[viewType] = map[string]any{"version_major": 2, "version_minor": 0, "model_id": c.ID()}
	}
	return bundle
}

// maxDepth is how deep pictures of boxes go.
const maxDepth = 20

func (c *Control) draw(depth int) picture {
	if depth > maxDepth {
		return plainly("…")
	}
	c.m.mu.Lock()
	state := maps.Clone(c.m.state)
	c.m.mu.Unlock()
	return c.picture(state, depth)
}

// labelled puts a label before a picture.
func labelled(state map[string]any, p picture) picture {
	label, _ := state["description"].(string)
	if label == "" {
		return p
	}
	return picture{label + ": " + p.text, html.EscapeString(label) + ": " + p.html}
}

// valued is a value that stands out, and what there is to know of it.
func valued(value, about string) picture {
	p := picture{value, "<b>" + html.EscapeString(value) + "</b>"}
	if about != "" {
		p.text += " (" + about + ")"
		p.html += ` <span style="opacity:0.7">(` + html.EscapeString(about) + ")</span>"
	}
	return p
}

// number writes a number as short as it is exact.
func number(x float64) string {
	if math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
