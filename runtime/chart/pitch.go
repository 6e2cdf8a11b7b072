package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Shot is an attempt on goal in StatsBomb's coordinates: 120 × 80, y downwards, each side attacking towards x = 120.
type Shot struct {
	X, Y float64
	XG   float64 // expected goals, 0 to 1
	Goal bool
	Away bool
}

// Pass goes from one place to another in the same coordinates.
type Pass struct {
	X, Y, EndX, EndY float64
	Incomplete       bool
	Away             bool
}

// The pitch in StatsBomb's yards, and the strip around it that the goals stand in.
const (
	pitchLength, pitchWidth = 120.0, 80.0
	pitchBorder             = 3.0
)

// Pitch draws shots and passes on a pitch. The home side attacks to the right and the away side, turned round, to the left;
// a shot's area is in proportion to its xG, a filled one is a goal; an incomplete pass is faint.
//
// What is added to the chart's Plot has the same coordinates: x from 0 to 120 to the right, y from 0 to 80 downwards, as the home side
// sees the pitch. Nothing turns the away side's there. What lies off the pitch makes the pitch smaller, as on any plot.
func Pitch(shots []Shot, passes []Pass, o Options) (*Chart, error) {
	const where = "chart.Pitch"
	if err := checkPitch(shots, passes); err != nil {
		return nil, refuse(where, err)
	}
	names := o.names("Home", "Away")
	keys := pitchKeys(shots, passes, names)
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	if o.Height == 0 {
		w := points(o.Width)
		inner := (w - 2*margin) * (pitchWidth + 2*pitchBorder) / (pitchLength + 2*pitchBorder)
		o.Height = math.Ceil(float64(inner+frameHeight(o, keys, w)) * 96 / 72)
	}
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	c.keys = keys
	hideAxis(&c.Plot.X)
	hideAxis(&c.Plot.Y)
	c.Plot.X.Min, c.Plot.X.Max = -pitchBorder, pitchLength+pitchBorder
	c.Plot.Y.Min, c.Plot.Y.Max = -pitchBorder, pitchWidth+pitchBorder
	c.Plot.Y.Scale = downwards()
	c.Plot.Add(pitch{shots: shots, passes: passes})
	c.alt = describePitch(shots, passes, names)
	return c, nil
}

func checkPitch(shots []Shot, passes []Pass) error {
	for i, s := range shots {
		if err := finite(fmt.Sprintf("shots[%d] (x, y, xG)", i), []float64{s.X, s.Y, s.XG}); err != nil {
			return err
		}
		if s.XG < 0 || s.XG > 1 {
			return fmt.Errorf("shots[%d] has an xG of %g: it goes from 0 to 1", i, s.XG)
		}
		if !onPitch(s.X, s.Y) {
			return fmt.Errorf("shots[%d] is at (%g, %g), off a pitch of 120 × 80", i, s.X, s.Y)
		}
	}
	for i, p := range passes {
		if err := finite(fmt.Sprintf("passes[%d] (x, y, end x, end y)", i), []float64{p.X, p.Y, p.EndX, p.EndY}); err != nil {
			return err
		}
		if !onPitch(p.X, p.Y) || !onPitch(p.EndX, p.EndY) {
			return fmt.Errorf("passes[%d] goes from (%g, %g) to (%g, %g), off a pitch of 120 × 80", i, p.X, p.Y, p.EndX, p.EndY)
		}
	}
	return nil
}

// onPitch allows what is recorded just over the line.
func onPitch(x, y float64) bool {
	return x >= -pitchBorder && x <= pitchLength+pitchBorder && y >= -pitchBorder && y <= pitchWidth+pitchBorder
}

func sideColor(away bool) color.NRGBA {
	if away {
		return vermillion()
	}
	return blue()
}

func pitchKeys(shots []Shot, passes []Pass, names []string) []key {
	var keys []key
	for side, away := range []bool{false, true} {
		for _, s := range shots {
			if s.Away == away {
				keys = append(keys, key{names[side] + " shot", sideColor(away), draw.RingGlyph{}}, key{names[side] + " goal", sideColor(away), draw.CircleGlyph{}})
				break
			}
		}
		for _, p := range passes {
			if p.Away == away {
				keys = append(keys, key{names[side] + " pass", sideColor(away), arrowGlyph{}})
				break
			}
		}
	}
	return keys
}

// arrowGlyph is a pass in the key.
type arrowGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (arrowGlyph) DrawGlyph(c *draw.Canvas, st draw.GlyphStyle, at vg.Point) {
	r := st.Radius
	arrow(*c, st.Color, vg.Point{X: at.X - r, Y: at.Y}, vg.Point{X: at.X + r, Y: at.Y})
}

// pitch draws the pitch and what is on it.
type pitch struct {
	shots  []Shot
	passes []Pass
}

// ground turns pitch coordinates into points.
type ground struct {
	x, y  func(float64) vg.Length
	scale vg.Length // points a yard
}

// newGround widens one axis of a plot until a yard is as long on both, and centres it: gonum/plot has no equal aspect. The pitch is the
// plot's first plotter, so whatever is drawn after it finds the axes so.
func newGround(c draw.Canvas, p *plot.Plot) ground {
	size := c.Size()
	scale := min(size.X/vg.Length(p.X.Max-p.X.Min), size.Y/vg.Length(p.Y.Max-p.Y.Min))
	widen := func(a *plot.Axis, length vg.Length) {
		middle, half := (a.Min+a.Max)/2, float64(length/scale)/2
		a.Min, a.Max = middle-half, middle+half
	}
	widen(&p.X, size.X)
	widen(&p.Y, size.Y)
	g := ground{scale: scale}
	g.x, g.y = p.Transforms(&c)
	return g
}

func (g ground) at(x, y float64, away bool) vg.Point {
	if away {
		x, y = pitchLength-x, pitchWidth-y
	}
	return vg.Point{X: g.x(x), Y: g.y(y)}
}

// Plot implements plot.Plotter.
func (pt pitch) Plot(c draw.Canvas, p *plot.Plot) {
	g := newGround(c, p)
	markings(c, g)
	for _, p := range pt.passes {
		line := fade(sideColor(p.Away), 0.75)
		if p.Incomplete {
			line.A /= 3
		}
		arrow(c, line, g.at(p.X, p.Y, p.Away), g.at(p.EndX, p.EndY, p.Away))
	}
	for _, s := range pt.shots {
		s.plot(c, g)
	}
}

// plot draws a shot. Its radius is 3.5 yards at an xG of one and never less than can be seen.
func (s Shot) plot(c draw.Canvas, g ground) {
	at, side := g.at(s.X, s.Y, s.Away), sideColor(s.Away)
	r := max(3.5*g.scale*vg.Length(math.Sqrt(s.XG)), 1.2)
	fill := fade(side, 0.12)
	if s.Goal {
		fill = fade(side, 0.85)
	}
	c.DrawGlyph(draw.GlyphStyle{Color: fill, Radius: r, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyph(draw.GlyphStyle{Color: side, Radius: r, Shape: draw.RingGlyph{}}, at)
}

// markings draws the lines of the pitch, both halves alike.
func markings(c draw.Canvas, g ground) {
	line := draw.LineStyle{Color: axisGrey(), Width: 1}
	stroke := func(xy ...float64) {
		for _, away := range []bool{false, true} {
			var pts []vg.Point
			for i := 0; i < len(xy); i += 2 {
				pts = append(pts, g.at(xy[i], xy[i+1], away))
			}
			c.StrokeLines(line, pts)
		}
	}
	stroke(60, 0, 0, 0, 0, 80, 60, 80)   // touchlines and goal line
	stroke(60, 0, 60, 40)                // halfway line, each half its own
	stroke(0, 18, 18, 18, 18, 62, 0, 62) // penalty area
	stroke(0, 30, 6, 30, 6, 50, 0, 50)   // goal area
	stroke(0, 36, -2, 36, -2, 44, 0, 44) // goal, 8 yards wide
	stroke(arc(60, 40, -math.Pi/2, math.Pi/2)...)
	edge := math.Acos(0.6) // where ten yards from the spot reach the penalty area
	stroke(arc(12, 40, -edge, edge)...)
	c.SetColor(axisGrey())
	for _, x := range []float64{12, 60, 108} {
		c.DrawGlyph(draw.GlyphStyle{Color: axisGrey(), Radius: 1.3, Shape: draw.CircleGlyph{}}, g.at(x, 40, false))
	}
}

// arc is points on a circle of ten yards, as x, y, x, y …
func arc(x, y, from, to float64) []float64 {
	const steps = 48
	var xy []float64
	for i := 0.0; i <= steps; i++ {
		sin, cos := math.Sincos(from + (to-from)*i/steps)
		xy = append(xy, x+10*cos, y+10*sin)
	}
	return xy
}

func arrow(c draw.Canvas, line color.Color, from, to vg.Point) {
	st := draw.LineStyle{Color: line, Width: 1}
	c.StrokeLine2(st, from.X, from.Y, to.X, to.Y)
	d := to.Sub(from)
	length := math.Hypot(float64(d.X), float64(d.Y))
	if length < 1 {
		return
	}
	u := d.Scale(vg.Length(1 / length))
	back := to.Sub(u.Scale(4))
	side := vg.Point{X: -u.Y * 2, Y: u.X * 2}
	c.FillPolygon(line, []vg.Point{to, back.Add(side), back.Sub(side)})
}

func describePitch(shots []Shot, passes []Pass, names []string) string {
	text := "Pitch; home attacks to the right."
	for side, away := range []bool{false, true} {
		n, goals, total, passed := 0, 0, 0.0, 0
		for _, s := range shots {
			if s.Away == away {
				n, total = n+1, total+s.XG
				if s.Goal {
					goals++
				}
			}
		}
		for _, p := range passes {
			if p.Away == away {
				passed++
			}
		}
		if n > 0 {
			text += fmt.Sprintf(" %s: shots %d, goals %d, xG %.2f.", names[side], n, goals, total)
		}
		if passed > 0 {
			text += fmt.Sprintf(" %s: passes %d.", names[side], passed)
		}
	}
	return text
}
