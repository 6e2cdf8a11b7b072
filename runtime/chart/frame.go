package chart

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// key is one entry of the row that says which colour is what. It stands above the plot, never on the data.
type key struct {
	name  string
	color color.Color
	shape draw.GlyphDrawer // nil is a square
}

// Distances of the frame in points.
const (
	margin     = vg.Length(14)
	swatch     = vg.Length(8)
	keyGap     = vg.Length(14)
	headGap    = vg.Length(8) // between the words and the plot
	lineHeight = 1.3          // of the font's size
)

// block is lines of text in one style.
type block struct {
	style text.Style
	lines []string
}

func (b block) height() vg.Length {
	return vg.Length(len(b.lines)) * b.style.Font.Size * lineHeight
}

// drawFrame paints everything but the plot and returns the canvas that is left for it: title, subtitle and key row above,
// caption below. Text that is too wide is broken into lines.
func drawFrame(c draw.Canvas, o Options, keys []key) draw.Canvas {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	width := c.Size().X - 2*margin
	top := c.Max.Y - margin
	for _, b := range heading(o, width) {
		top = drawBlock(c, b, top)
	}
	top = drawKeys(c, keys, top, width)
	bottom := c.Min.Y + margin - 2
	if caption := captionOf(o, width); len(caption.lines) > 0 {
		bottom = c.Min.Y + 8 + caption.height()
		drawBlock(c, caption, bottom)
		bottom += 5
	}
	return draw.Crop(c, margin, -margin, bottom-c.Min.Y, top-c.Max.Y-headGap)
}

func heading(o Options, width vg.Length) []block {
	return []block{
		wrap(o.Title, style(bold(13), ink()), width),
		wrap(o.Subtitle, style(sans(10), muted()), width),
	}
}

func captionOf(o Options, width vg.Length) block {
	return wrap(o.Caption, style(sans(7.5), muted()), width)
}

// frameHeight is what drawFrame takes from a canvas of the given width.
func frameHeight(o Options, keys []key, width vg.Length) vg.Length {
	inner := width - 2*margin
	h := margin + headGap
	for _, b := range heading(o, inner) {
		h += b.height()
	}
	h += vg.Length(len(keyRows(keys, inner))) * 13
	if caption := captionOf(o, inner); len(caption.lines) > 0 {
		return h + 13 + caption.height()
	}
	return h + margin - 2
}

// drawBlock writes the lines downwards from top and returns where they end.
func drawBlock(c draw.Canvas, b block, top vg.Length) vg.Length {
	for _, line := range b.lines {
		top -= b.style.Font.Size * lineHeight
		c.FillText(b.style, vg.Point{X: c.Min.X + margin, Y: top + b.style.Font.Size*0.3}, line)
	}
	return top
}

// wrap breaks s at spaces so that each line fits the width; a word that is too long alone is cut.
func wrap(s string, st text.Style, width vg.Length) block {
	b := block{style: st}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			switch {
			case line == "":
				line = fit(word, st, width)
			case st.Width(line+" "+word) <= width:
				line += " " + word
			default:
				b.lines = append(b.lines, line)
				line = fit(word, st, width)
			}
		}
		if line != "" {
			b.lines = append(b.lines, line)
		}
	}
	return b
}

// fit cuts s to the width, with an ellipsis for what is lost.
func fit(s string, st text.Style, width vg.Length) string {
	if st.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 1 && st.Width(string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

func keyStyle() text.Style { return style(sans(9), ink()) }

// keyRows breaks the keys into rows of the width.
func keyRows(keys []key, width vg.Length) [][]key {
	var rows [][]key
	x := vg.Length(0)
	for _, k := range keys {
		w := swatch + 5 + keyStyle().Width(k.name)
		if len(rows) == 0 || x+w > width {
			rows = append(rows, nil)
			x = 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		x += w + keyGap
	}
	return rows
}

func drawKeys(c draw.Canvas, keys []key, top, width vg.Length) vg.Length {
	st := keyStyle()
	for _, row := range keyRows(keys, width) {
		top -= 13
		x := c.Min.X + margin
		for _, k := range row {
			drawSwatch(c, k, vg.Point{X: x, Y: top + 1.5})
			name := fit(k.name, st, width-swatch-5)
			c.FillText(st, vg.Point{X: x + swatch + 5, Y: top + 2.5}, name)
			x += swatch + 5 + st.Width(name) + keyGap
		}
	}
	return top
}

func drawSwatch(c draw.Canvas, k key, at vg.Point) {
	if k.shape != nil {
		centre := vg.Point{X: at.X + swatch/2, Y: at.Y + swatch/2}
		c.DrawGlyph(draw.GlyphStyle{Color: k.color, Radius: swatch / 2, Shape: k.shape}, centre)
		return
	}
	c.SetColor(k.color)
	c.Fill(vg.Rectangle{Min: at, Max: vg.Point{X: at.X + swatch, Y: at.Y + swatch}}.Path())
}
