package widget

import (
	"fmt"
	"math"
)

// FloatProgressConfig says what a FloatProgress is at first. The zero value is a bar from 0 to 100 at 0.
type FloatProgressConfig struct {
	Description string  // its label
	Value       float64 // clamped to the range
	Min, Max    float64 // the range; 0 and 0 is 0 to 100, and the lower one is Min
	BarStyle    string  // "success", "info", "warning", "danger" or "", as in ipywidgets
}

// FloatProgress is a bar that fills. Make one with NewFloatProgress. A bar with rate and time to go, for a loop, is live.Progress,
// which needs no widgets.
type FloatProgress struct{ Control }

// NewFloatProgress returns a bar. What is no finite number in c counts as 0.
func NewFloatProgress(c FloatProgressConfig) *FloatProgress {
	low, high := order(finite(c.Min), finite(c.Max))
	state := map[string]any{
		"description": c.Description, "description_allow_html": false, "orientation": "horizontal", "bar_style": barStyle(c.BarStyle),
		"min": low, "max": high, "value": min(max(finite(c.Value), low), high),
	}
	return &FloatProgress{newControl(controlKind("FloatProgress", "ProgressView"), "ProgressStyle", state, drawProgress, refineFloat)}
}

func drawProgress(s map[string]any) picture {
	low, high, value := s["min"].(float64), s["max"].(float64), s["value"].(float64)
	percent := 100.0
	if high > low {
		percent = 100 * (value - low) / (high - low)
	}
	text := fmt.Sprintf("%s of %s (%.0f %%)", number(value), number(high), math.Floor(percent))
	bar := fmt.Sprintf(`<progress value="%s" max="%s"></progress> `, number(value-low), number(high-low))
	return labelled(s, picture{text, bar + text})
}

// barStyle is a style that the front end knows.
func barStyle(style string) string {
	switch style {
	case "success", "info", "warning", "danger":
		return style
	}
	return ""
}

// Value is how far the bar is.
func (p *FloatProgress) Value() float64 { return p.m.get("value").(float64) }

// SetValue moves the bar; a value outside the range is clamped, one that is no number ignored. Call it as often as you like: it is
// sent 20 times a second at most, and the last always.
func (p *FloatProgress) SetValue(value float64) { setFloat(p.m, value) }

// SetRange changes the range and clamps the value to it. What is no finite number counts as 0.
func (p *FloatProgress) SetRange(low, high float64) { setFloatRange(p.m, low, high) }

// SetBarStyle changes the colour: "success", "info", "warning", "danger", anything else is the default.
func (p *FloatProgress) SetBarStyle(style string) { p.m.set("bar_style", barStyle(style)) }

// OnChange sets what is called when the value has changed; nil for nothing. It takes the place of what was set before.
func (p *FloatProgress) OnChange(f func(old, new float64)) { observe(p.m, "value", f) }
