package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Agreement draws what was measured (Y) over what was predicted of it (X), values above 0 of one unit, as dots on two logarithmic axes of one range: on the line
// they agree, outside the band they are off by more than a factor of two. Series named GPU and CPU have their own colours. Of a series with more than 4,000 points
// every second, third … is drawn.
func Agreement(series []Series, o Options) (*Chart, error) {
	const where = "chart.Agreement"
	if len(series) == 0 {
		return nil, refuse(where, errNoSeries)
	}
	if o.Width == 0 && o.Height == 0 {
		o.Width, o.Height = 520, 500
	}
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	low, high := math.Inf(1), 0.0
	for _, s := range series {
		if err := s.checkAgreement(); err != nil {
			return nil, refuse(where, err)
		}
		for _, values := range [][]float64{s.X, s.Y} {
			least, most := extremes(values)
			low, high = min(low, least), max(high, most)
		}
	}
	c.Plot.Add(band{})
	for i, s := range series {
		if err := addDots(c.Plot, s, barColor(s.Name, i)); err != nil {
			return nil, refuse(where, err)
		}
		c.keys = append(c.keys, key{name: s.label(), color: barColor(s.Name, i), shape: draw.CircleGlyph{}})
	}
	for _, a := range []*plot.Axis{&c.Plot.X, &c.Plot.Y} {
		a.Min, a.Max = low, high
		logarithmic(a)
	}
	c.alt = describeAgreement(series)
	return c, nil
}

func (s Series) checkAgreement() error {
	if s.X == nil {
		return errors.New(s.of("x") + " is missing: it is what was predicted")
	}
	if err := s.check(); err != nil {
		return err
	}
	for axis, values := range map[string][]float64{"x": s.X, "y": s.Y} {
		if low, _ := extremes(values); low <= 0 {
			return fmt.Errorf("%s has the value %g: all must be above 0", s.of(axis), low)
		}
	}
	return nil
}

func addDots(p *plot.Plot, s Series, fill color.Color) error {
	every := 1 + (len(s.Y)-1)/maxLinePoints
	var pts plotter.XYs
	for i := 0; i < len(s.Y); i += every {
		pts = append(pts, plotter.XY{X: s.X[i], Y: s.Y[i]})
	}
	dots, err := plotter.NewScatter(pts)
	if err != nil {
		return err
	}
	seen := color.NRGBAModel.Convert(fill).(color.NRGBA)
	dots.GlyphStyle = draw.GlyphStyle{Color: fade(seen, 0.6), Radius: 2.2, Shape: draw.CircleGlyph{}}
	p.Add(dots)
	return nil
}

// band is the line of agreement, and around it what is right within a factor of two.
type band struct{}

// Plot implements plot.Plotter.
func (band) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	a, b := p.X.Min, p.X.Max
	outline := []vg.Point{{X: x(a), Y: y(a)}, {X: x(a), Y: y(2 * a)}, {X: x(b / 2), Y: y(b)}, {X: x(b), Y: y(b)}, {X: x(b), Y: y(b / 2)}, {X: x(2 * a), Y: y(a)}}
	c.FillPolygon(fade(grey(), 0.18), outline)
	c.StrokeLine2(draw.LineStyle{Color: axisGrey(), Width: 0.75}, x(a), y(a), x(b), y(b))
}

func describeAgreement(series []Series) string {
	text := fmt.Sprintf("Scatter chart of %d series.", len(series))
	for _, s := range series {
		near := 0
		for i := range s.Y {
			if math.Abs(math.Log(s.Y[i]/s.X[i])) <= math.Ln2 {
				near++
			}
		}
		text += fmt.Sprintf(" %s: %.0f %% of %d within a factor of two.", s.label(), 100*float64(near)/float64(len(s.Y)), len(s.Y))
	}
	return text
}
