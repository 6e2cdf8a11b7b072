package widget

import "strings"

// Layout is where and how large a widget is, in the words of CSS: Width "50%", Margin "0 0 1em 0", Border "1px solid gray". An
// empty field is the front end's default.
type Layout struct {
	Width, MinWidth, MaxWidth    string
	Height, MinHeight, MaxHeight string
	Margin, Padding, Border      string
	Display, Visibility          string // "none" and "hidden" hide the widget
	Overflow                     string // of outputs: "auto" scrolls
	Flex, FlexFlow               string // in a box; of a box
	AlignItems, AlignSelf        string
	JustifyContent               string
}

// layoutKeys are the keys of a layout's model, as ipywidgets has them.
const layoutKeys = `align_content align_items align_self border_bottom border_left border_right border_top bottom display flex flex_flow
	grid_area grid_auto_columns grid_auto_flow grid_auto_rows grid_column grid_gap grid_row grid_template_areas
	grid_template_columns grid_template_rows height justify_content justify_items left margin max_height max_width min_height
	min_width object_fit object_position order overflow padding right top visibility width`

func layoutState(l Layout) map[string]any {
	state := unset(layoutKeys)
	fill(state, map[string]string{
		"width": l.Width, "min_width": l.MinWidth, "max_width": l.MaxWidth, "height": l.Height, "min_height": l.MinHeight,
		"max_height": l.MaxHeight, "margin": l.Margin, "padding": l.Padding, "border_top": l.Border, "border_right": l.Border,
		"border_bottom": l.Border, "border_left": l.Border, "display": l.Display, "visibility": l.Visibility, "overflow": l.Overflow,
		"flex": l.Flex, "flex_flow": l.FlexFlow, "align_items": l.AlignItems, "align_self": l.AlignSelf, "justify_content": l.JustifyContent,
	})
	return state
}

// Style is how a widget looks, in the words of CSS. What a widget does not have is ignored: only sliders have a handle. An empty
// field is the front end's default.
type Style struct {
	DescriptionWidth string // of the label: "initial" is as wide as its text
	BarColor         string // of a progress bar
	HandleColor      string // of a slider
	ButtonColor      string
	Background       string // of a checkbox or text
	TextColor        string // of a button or text
	FontSize         string
	FontWeight       string // of a button
}

func (s Style) state() map[string]any {
	state := unset("bar_color handle_color button_color background text_color font_size font_weight")
	fill(state, map[string]string{
		"bar_color": s.BarColor, "handle_color": s.HandleColor, "button_color": s.ButtonColor, "background": s.Background,
		"text_color": s.TextColor, "font_size": s.FontSize, "font_weight": s.FontWeight,
	})
	state["description_width"] = s.DescriptionWidth
	return state
}

// styleState is a new style of a kind, with the keys that its model has.
func styleState(kind string) map[string]any {
	described := map[string]any{"description_width": ""}
	switch kind {
	case "ProgressStyle":
		return with(described, unset("bar_color"))
	case "SliderStyle":
		return with(described, unset("handle_color"))
	case "CheckboxStyle":
		return with(described, unset("background"))
	case "TextStyle":
		return with(described, unset("background font_size text_color"))
	case "ButtonStyle":
		return unset("button_color font_family font_size font_style font_variant font_weight text_color text_decoration")
	}
	return described
}

// unset returns keys without a value.
func unset(keys string) map[string]any {
	state := map[string]any{}
	for key := range strings.FieldsSeq(keys) {
		state[key] = nil
	}
	return state
}

func fill(state map[string]any, texts map[string]string) {
	for key, text := range texts {
		if text != "" {
			state[key] = text
		}
	}
}
