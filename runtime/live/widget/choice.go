package widget

import (
	"fmt"
	"slices"
	"strings"
)

// DropdownConfig says what a Dropdown is at first.
type DropdownConfig struct {
	Description string   // its label
	Options     []string // what can be chosen, in this order
	Value       string   // what is chosen; one that is no option is the first
	Disabled    bool
}

// Dropdown is a choice of one among several. Make one with NewDropdown.
type Dropdown struct{ Control }

// NewDropdown returns a dropdown.
func NewDropdown(c DropdownConfig) *Dropdown {
	state := with(described(c.Description, c.Disabled), chosen(c.Options, c.Value))
	return &Dropdown{newControl(controlKind("Dropdown", "DropdownView"), "DescriptionStyle", state, drawDropdown, func(m *model) {
		m.refine["index"] = func(s map[string]any, v any) (any, bool) {
			if v == nil {
				return nil, true
			}
			x, ok := v.(float64)
			ok = ok && x == float64(int(x)) && x >= 0 && int(x) < len(s["_options_labels"].([]string))
			return int(x), ok
		}
	})}
}

// chosen is the state of options of which one is chosen: the first where it is not among them, none where there are none.
func chosen(options []string, value string) map[string]any {
	options = append([]string{}, options...)
	var index any
	if len(options) > 0 {
		index = max(slices.Index(options, value), 0)
	}
	return map[string]any{"_options_labels": options, "index": index}
}

func drawDropdown(s map[string]any) picture {
	options := s["_options_labels"].([]string)
	value, about := "nothing", "no choice"
	if i, ok := s["index"].(int); ok {
		value = options[i]
	}
	if len(options) > 0 {
		about = "one of " + strings.Join(options, ", ")
	}
	return labelled(s, valued(value, about))
}

// Index is the place of what is chosen among the options, from 0; -1 where nothing is.
func (d *Dropdown) Index() int {
	if i, ok := d.m.get("index").(int); ok {
		return i
	}
	return -1
}

// Value is what is chosen, "" where nothing is.
func (d *Dropdown) Value() string {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	return option(d.m.state["_options_labels"], d.m.state["index"])
}

func option(options, index any) string {
	if i, ok := index.(int); ok && i < len(options.([]string)) {
		return options.([]string)[i]
	}
	return ""
}

// Options are what can be chosen.
func (d *Dropdown) Options() []string { return slices.Clone(d.m.get("_options_labels").([]string)) }

// SetValue chooses an option. One that is not there is an error, and nothing changes.
func (d *Dropdown) SetValue(value string) error {
	var err error
	d.m.change(func(s map[string]any) map[string]any {
		options := s["_options_labels"].([]string)
		i := slices.Index(options, value)
		if i < 0 {
			err = fmt.Errorf("widget: dropdown: %q is no option: choose one of %q", value, options)
			return nil
		}
		return map[string]any{"index": i}
	})
	return err
}

// SetOptions changes what can be chosen. What is chosen stays so if it is among them, else it is the first.
func (d *Dropdown) SetOptions(options ...string) {
	d.m.change(func(s map[string]any) map[string]any {
		return chosen(options, option(s["_options_labels"], s["index"]))
	})
}

// OnChange sets what is called when another option is chosen, by a user, by Go or because the options are others; nil for nothing.
// It takes the place of what was set before, so that a cell can be run again.
func (d *Dropdown) OnChange(f func(old, new string)) {
	var tell func(old, new any)
	if f != nil {
		tell = func(old, new any) { f(old.(string), new.(string)) }
	}
	d.m.observeOf("value", func(s map[string]any) any { return option(s["_options_labels"], s["index"]) }, tell)
}

// CheckboxConfig says what a Checkbox is at first.
type CheckboxConfig struct {
	Description string // what is true or not
	Value       bool
	Disabled    bool
}

// Checkbox is true or false. Make one with NewCheckbox.
type Checkbox struct{ Control }

// NewCheckbox returns a checkbox.
func NewCheckbox(c CheckboxConfig) *Checkbox {
	state := with(described(c.Description, c.Disabled), map[string]any{"value": c.Value, "indent": true})
	draw := func(s map[string]any) picture {
		mark := "[ ] "
		if s["value"].(bool) {
			mark = "[x] "
		}
		return plainly(mark + s["description"].(string))
	}
	return &Checkbox{newControl(controlKind("Checkbox", "CheckboxView"), "CheckboxStyle", state, draw, func(m *model) {
		m.refine["value"] = func(_ map[string]any, v any) (any, bool) { b, ok := v.(bool); return b, ok }
	})}
}

// Value tells whether the box is checked.
func (c *Checkbox) Value() bool { return c.m.get("value").(bool) }

// SetValue checks the box or not.
func (c *Checkbox) SetValue(value bool) { c.m.set("value", value) }

// OnChange sets what is called when the value has changed, by a user or by Go; nil for nothing. It takes the place of what was set
// before, so that a cell can be run again.
func (c *Checkbox) OnChange(f func(old, new bool)) { observe(c.m, "value", f) }
