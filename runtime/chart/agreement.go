package chart

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Agreement draws what was measured (Y) over what was predicted (X), a dot each, on two axes of one range, with the diagonal where both are the same. LogY makes both
// axes logarithmic. Of a series of more than 4,000 some are drawn. Series have colours in their order: name the GPU's first and the CPU's second, and they have theirs.
func Agreement(series []Series, o Options) (*Chart, error) {
	const where = "chart.Agreement"
	if len(series) == 0 {
		return nil, refuse(where, errNoSeries)
	}
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	c.Plot.Add(grid(false), grid(true), diagonal{})
	for i, s := range series {
		if err := o.checkAgreement(s); err != nil {
			return nil, refuse(where, err)
		}
		if err := addDots(c.Plot, s, i); err != nil {
			return nil, refuse(where, err)
		}
		if len(series) > 1 || s.Name != "" {
			c.keys = append(c.keys, key{name: s.label(), color: seriesColor(i), shape: draw.CircleGlyph{}})
		}
	}
	alike(c.Plot, o.LogY)
	c.alt = describeAgreement(series)
	return c, nil
}

func (o Options) checkAgreement(s Series) error {
	if s.X == nil {
		return errors.New(s.of("x") + " is missing: it is what was predicted")
	}
	if err := s.check(); err != nil {
		return err
	}
	return errors.Join(o.checkLog(s.of("x"), s.X), o.checkLog(s.of("y"), s.Y))
}

func addDots(p *plot.Plot, s Series, i int) error {
	dots, err := plotter.NewScatter(s.points())
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: fade(seriesColor(i), 0.7), Radius: 2.5, Shape: draw.CircleGlyph{}}
	p.Add(dots)
	return nil
}

// alike gives both axes one range, which has all that is drawn.
func alike(p *plot.Plot, logs bool) {
	low, high := math.Min(p.X.Min, p.Y.Min), math.Max(p.X.Max, p.Y.Max)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Min, a.Max = low, high
		if logs {
			logarithmic(a)
		} else {
			breathe(a)
		}
	}
}

// diagonal is the line on which x and y are the same.
type diagonal struct{}

// Plot implements plot.Plotter.
func (diagonal) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: muted(), Width: vg.Length(0.8), Dashes: []vg.Length{3, 3}}, x(p.X.Min), y(p.Y.Min), x(p.X.Max), y(p.Y.Max))
}

// describeAgreement tells how many are within a factor of two.
func describeAgreement(series []Series) string {
	text := "Measured over predicted, with the diagonal."
	for _, s := range series {
		within := 0
		for i, y := range s.Y {
			if x := s.X[i]; y <= 2*x && x <= 2*y {
				within++
			}
		}
		text += fmt.Sprintf(" %s: %d, of which %d are within a factor of two.", s.label(), len(s.Y), within)
	}
	return text
}
