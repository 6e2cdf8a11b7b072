package widget

import (
	"fmt"
	"math"
)

// IntSliderConfig says what an IntSlider is at first. The zero value is a slider from 0 to 100.
type IntSliderConfig struct {
	Description string // its label
	Value       int    // clamped to the range
	Min, Max    int    // the range, both included; 0 and 0 is 0 to 100, and the lower one is Min
	Step        int    // of the arrow keys; 0 is 1
	Disabled    bool
	Lazy        bool   // tell Go of a value only when the user lets go
	Format      string // of the number shown, in d3's words; "" is "d"
}

// IntSlider is a whole number within a range, which a user moves. Make one with NewIntSlider.
type IntSlider struct{ Control }

// NewIntSlider returns a slider.
func NewIntSlider(c IntSliderConfig) *IntSlider {
	low, high := order(c.Min, c.Max)
	state := with(described(c.Description, c.Disabled), sliderState(c.Lazy, or(c.Format, "d")))
	state["min"], state["max"], state["step"], state["value"] = low, high, max(c.Step, 1), min(max(c.Value, low), high)
	draw := func(s map[string]any) picture {
		return labelled(s, valued(fmt.Sprint(s["value"]), fmt.Sprintf("slider from %v to %v", s["min"], s["max"])))
	}
	return &IntSlider{newControl(controlKind("IntSlider", "IntSliderView"), "SliderStyle", state, draw, func(m *model) {
		m.refine["value"] = func(s map[string]any, v any) (any, bool) {
			x, ok := v.(float64)
			return whole(x, s["min"].(int), s["max"].(int)), ok
		}
	})}
}

// whole is the whole number nearest to x within a range.
func whole(x float64, low, high int) int {
	switch x = math.Round(x); {
	case x <= float64(low):
		return low
	case x >= float64(high):
		return high
	}
	return int(x)
}

// Value is where the slider stands.
func (s *IntSlider) Value() int { return s.m.get("value").(int) }

// SetValue moves the slider; a value outside the range is clamped.
func (s *IntSlider) SetValue(value int) {
	s.m.change(func(state map[string]any) map[string]any {
		return map[string]any{"value": min(max(value, state["min"].(int)), state["max"].(int))}
	})
}

// SetRange changes the range, both ends included, and clamps the value to it.
func (s *IntSlider) SetRange(low, high int) {
	low, high = min(low, high), max(low, high)
	s.m.change(func(state map[string]any) map[string]any {
		return map[string]any{"min": low, "max": high, "value": min(max(state["value"].(int), low), high)}
	})
}

// OnChange sets what is called when the value has changed, by a user or by Go; nil for nothing. It takes the place of what was set
// before, so that a cell can be run again.
func (s *IntSlider) OnChange(f func(old, new int)) { observe(s.m, "value", f) }

// FloatSliderConfig says what a FloatSlider is at first. The zero value is a slider from 0 to 100.
type FloatSliderConfig struct {
	Description string  // its label
	Value       float64 // clamped to the range
	Min, Max    float64 // the range, both included; 0 and 0 is 0 to 100, and the lower one is Min
	Step        float64 // of the arrow keys; 0 is 0.1
	Disabled    bool
	Lazy        bool   // tell Go of a value only when the user lets go
	Format      string // of the number shown, in d3's words; "" is ".2f"
}

// FloatSlider is a number within a range, which a user moves. Make one with NewFloatSlider.
type FloatSlider struct{ Control }

// NewFloatSlider returns a slider. What is no finite number in c counts as 0.
func NewFloatSlider(c FloatSliderConfig) *FloatSlider {
	low, high := order(finite(c.Min), finite(c.Max))
	step := finite(c.Step)
	if step <= 0 {
		step = 0.1
	}
	state := with(described(c.Description, c.Disabled), sliderState(c.Lazy, or(c.Format, ".2f")))
	state["min"], state["max"], state["step"], state["value"] = low, high, step, min(max(finite(c.Value), low), high)
	draw := func(s map[string]any) picture {
		about := fmt.Sprintf("slider from %s to %s", number(s["min"].(float64)), number(s["max"].(float64)))
		return labelled(s, valued(number(s["value"].(float64)), about))
	}
	return &FloatSlider{newControl(controlKind("FloatSlider", "FloatSliderView"), "SliderStyle", state, draw, refineFloat)}
}

// refineFloat lets a front end set a value within min and max.
func refineFloat(m *model) {
	m.refine["value"] = func(s map[string]any, v any) (any, bool) {
		x, ok := v.(float64)
		return min(max(x, s["min"].(float64)), s["max"].(float64)), ok
	}
}

// Value is where the slider stands.
func (s *FloatSlider) Value() float64 { return s.m.get("value").(float64) }

// SetValue moves the slider; a value outside the range is clamped, one that is no number ignored.
func (s *FloatSlider) SetValue(value float64) { setFloat(s.m, value) }

// SetRange changes the range, both ends included, and clamps the value to it. What is no finite number counts as 0.
func (s *FloatSlider) SetRange(low, high float64) { setFloatRange(s.m, low, high) }

// OnChange sets what is called when the value has changed, by a user or by Go; nil for nothing. It takes the place of what was set
// before, so that a cell can be run again.
func (s *FloatSlider) OnChange(f func(old, new float64)) { observe(s.m, "value", f) }

func setFloat(m *model, value float64) {
	if math.IsNaN(value) {
		return
	}
	m.change(func(state map[string]any) map[string]any {
		return map[string]any{"value": min(max(value, state["min"].(float64)), state["max"].(float64))}
	})
}

func setFloatRange(m *model, low, high float64) {
	low, high = finite(low), finite(high)
	low, high = min(low, high), max(low, high)
	m.change(func(state map[string]any) map[string]any {
		return map[string]any{"min": low, "max": high, "value": min(max(state["value"].(float64), low), high)}
	})
}

func sliderState(lazy bool, format string) map[string]any {
	return map[string]any{
		"behavior": "drag-tap", "continuous_update": !lazy, "orientation": "horizontal", "readout": true, "readout_format": format,
	}
}

// order returns the ends of a range, lower first; two zeros are the default.
func order[T int | float64](a, b T) (low, high T) {
	if a == 0 && b == 0 {
		return 0, 100
	}
	return min(a, b), max(a, b)
}

// finite is x, or 0 where that is no finite number: JSON has no other.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// observe has f called with a key's old and new value.
func observe[T any](m *model, key string, f func(old, new T)) {
	if f == nil {
		m.observe(key, nil)
		return
	}
	m.observe(key, func(old, new any) { f(old.(T), new.(T)) })
}
