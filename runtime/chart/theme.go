package chart

import (
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The palette is Okabe and Ito's, "Color Universal Design", 2008, in an order that keeps neighbours apart. They are
// functions because a package's variables could be changed under a running chart.
func blue() color.NRGBA       { return rgb(0x0072B2) }
func vermillion() color.NRGBA { return rgb(0xD55E00) }
func green() color.NRGBA      { return rgb(0x009E73) }
func orange() color.NRGBA     { return rgb(0xE69F00) }
func purple() color.NRGBA     { return rgb(0xCC79A7) }
func sky() color.NRGBA        { return rgb(0x56B4E9) }
func grey() color.NRGBA       { return rgb(0x7F7F7F) }

// What is no data: text, lesser text, axes and grid, and the draw between blue and vermillion.
func ink() color.NRGBA      { return rgb(0x1F2933) }
func muted() color.NRGBA    { return rgb(0x52606D) }
func axisGrey() color.NRGBA { return rgb(0x9AA5B1) }
func gridGrey() color.NRGBA { return rgb(0xD9DEE3) }
func drawGrey() color.NRGBA { return rgb(0xB4BDC6) }
func cardRed() color.NRGBA  { return rgb(0xC8102E) }

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
}

// fade returns c with the given opacity from 0 to 1.
func fade(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(255 * opacity)
	return c
}

// seriesColor is the colour of the i-th series; after seven they come round again.
func seriesColor(i int) color.NRGBA {
	cycle := [...]color.NRGBA{blue(), vermillion(), green(), orange(), purple(), sky(), grey()}
	return cycle[i%len(cycle)]
}

// ramp is a single-hue scale: 0 is nearly white, 1 dark blue (ColorBrewer's Blues, abridged).
func ramp(share float64) color.NRGBA {
	stops := [...]color.NRGBA{rgb(0xF7FBFF), rgb(0x9ECAE1), rgb(0x2171B5), rgb(0x08306B)}
	at := min(max(share, 0), 1) * float64(len(stops)-1)
	k := min(int(at), len(stops)-2)
	t := at - float64(k)
	mix := func(a, b uint8) uint8 { return uint8(float64(a)*(1-t) + float64(b)*t + 0.5) }
	a, b := stops[k], stops[k+1]
	return color.NRGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}
}

// sans is Liberation Sans, metrically Arial; gonum/plot carries it.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func bold(size vg.Length) font.Font {
	f := sans(size)
	f.Weight = xfont.WeightBold
	return f
}

// style is a text style that stands left of and below its point, as gonum/plot's zero alignment does.
func style(f font.Font, c color.Color) text.Style {
	return text.Style{Font: f, Color: c, Handler: handler()}
}

// measure gives a plot's own words our handler, where they have gonum/plot's.
func measure(p *plot.Plot) {
	for _, st := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		if plain, ok := st.Handler.(text.Plain); ok {
			st.Handler = measured{plain}
		}
	}
}

// theme sets fonts, colours and lines of a new plot: no y axis but a grid, tick marks only below.
func theme(p *plot.Plot) {
	measure(p)
	p.Title.TextStyle.Font = bold(13)
	p.Title.TextStyle.Color = ink()
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(10)
		a.Label.TextStyle.Color = muted()
		a.Label.Padding = 4
		a.Tick.Label.Font = sans(9)
		a.Tick.Label.Color = muted()
		a.Tick.LineStyle.Color = axisGrey()
		a.Tick.Length = 3
		a.Tick.Marker = numberTicks{}
		a.LineStyle.Color = axisGrey()
		a.LineStyle.Width = 0.75
		a.Padding = 0
	}
	p.Y.LineStyle.Width = 0
	p.Y.Tick.Length = 0
	p.Y.Label.Padding = 6
	p.Legend.TextStyle.Font = sans(9)
	p.Legend.TextStyle.Color = ink()
}

// grid is the horizontal hair-lines; vertical makes them vertical, for horizontal bars.
func grid(vertical bool) *plotter.Grid {
	line := draw.LineStyle{Color: gridGrey(), Width: 0.6}
	g := &plotter.Grid{Horizontal: line}
	if vertical {
		g = &plotter.Grid{Vertical: line}
	}
	return g
}

// downwards is the scale of a y axis whose first value is on top, so that what is added to the plot counts from there too.
func downwards() plot.Normalizer { return plot.InvertedScale{Normalizer: plot.LinearScale{}} }

// hideAxis removes line, ticks and labels of one axis.
func hideAxis(a *plot.Axis) {
	a.Tick.Marker = plot.ConstantTicks{}
	a.Tick.Length = 0
	a.LineStyle.Width = 0
}
