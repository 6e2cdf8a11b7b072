package widget

import (
	"errors"
	"slices"
	"strings"
)

// ErrCircle reports a box that would be within itself.
var ErrCircle = errors.New("widget: a box cannot hold itself, or a box that holds it")

// HBox shows widgets beside each other. Make one with NewHBox.
type HBox struct{ Control }

// VBox shows widgets below each other. Make one with NewVBox.
type VBox struct{ Control }

// NewHBox returns a box of widgets beside each other.
func NewHBox(children ...Widget) *HBox { return &HBox{newBox("HBox", "  ", children)} }

// NewVBox returns a box of widgets below each other.
func NewVBox(children ...Widget) *VBox { return &VBox{newBox("VBox", "\n", children)} }

// Children are the widgets in the box.
func (b *HBox) Children() []Widget { return b.held() }

// Children are the widgets in the box.
func (b *VBox) Children() []Widget { return b.held() }

// SetChildren changes the widgets in the box; those that were in it are not closed. It fails with ErrCircle, and changes nothing.
func (b *HBox) SetChildren(children ...Widget) error { return b.hold(children) }

// SetChildren changes the widgets in the box; those that were in it are not closed. It fails with ErrCircle, and changes nothing.
func (b *VBox) SetChildren(children ...Widget) error { return b.hold(children) }

func newBox(name, between string, children []Widget) Control {
	children = present(children)
	state := map[string]any{"children": references(children), "box_style": ""}
	c := newControl(controlKind(name, name+"View"), "", state, nil, nil)
	c.children = &children
	tag := `<div style="display:flex;flex-flow:wrap;gap:1em">`
	if between == "\n" {
		tag = "<div>"
	}
	c.picture = func(_ map[string]any, depth int) picture {
		var texts []string
		var b strings.Builder
		b.WriteString(tag)
		for _, child := range c.held() {
			p := child.Base().draw(depth + 1)
			texts = append(texts, p.text)
			b.WriteString("<div>" + p.html + "</div>")
		}
		b.WriteString("</div>")
		return picture{strings.Join(texts, between), b.String()}
	}
	return c
}

// present are those that are not nil.
func present(widgets []Widget) []Widget {
	return slices.DeleteFunc(slices.Clone(widgets), func(w Widget) bool { return w == nil })
}

func references(widgets []Widget) []string {
	names := make([]string, len(widgets))
	for i, w := range widgets {
		names[i] = w.Base().m.reference()
	}
	return names
}

// held returns the widgets in a box; others have none.
func (c *Control) held() []Widget {
	if c.children == nil {
		return nil
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return slices.Clone(*c.children)
}

// holds tells whether a box holds a model, itself or in another box.
func (c *Control) holds(m *model) bool {
	return slices.ContainsFunc(c.held(), func(w Widget) bool { return w.Base().m == m || w.Base().holds(m) })
}

func (c *Control) hold(children []Widget) error {
	children = present(children)
	for _, w := range children {
		if w.Base().m == c.m || w.Base().holds(c.m) {
			return ErrCircle
		}
	}
	c.m.change(func(map[string]any) map[string]any {
		*c.children = children
		return map[string]any{"children": references(children)}
	})
	return nil
}
