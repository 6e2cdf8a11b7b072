package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// mark is a text at a point of the data, moved by dx and dy points. gonum/plot's own labels take their font from a package variable.
type mark struct {
	x, y   float64
	text   string
	dx, dy vg.Length
	xAlign draw.XAlignment
	yAlign draw.YAlignment
	color  color.Color // nil is ink
}

// marks draws texts of one size.
type marks struct {
	all  []mark
	size vg.Length
	bold bool
}

// Plot implements plot.Plotter.
func (ms marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, m := range ms.all {
		st := style(sans(ms.size), ink())
		if ms.bold {
			st.Font = bold(ms.size)
		}
		if m.color != nil {
			st.Color = m.color
		}
		st.XAlign, st.YAlign = m.xAlign, m.yAlign
		c.FillText(st, vg.Point{X: x(m.x) + m.dx, Y: y(m.y) + m.dy}, m.text)
	}
}
