package chart

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is one line of a chart. X may be nil: then the values are numbered from 0.
type Series struct {
	Name string
	X, Y []float64
}

// maxLinePoints is how many points of a series are drawn; a page has fewer pixels across.
const maxLinePoints = 4000

// Line draws y over x as one line. x may be nil: then the values are numbered from 0. The y axis starts at 0 where the
// values come near it.
func Line(x, y []float64, o Options) (*Chart, error) {
	return lines("chart.Line", []Series{{X: x, Y: y}}, o)
}

// Lines draws several series over the same axes, with a key above.
func Lines(series []Series, o Options) (*Chart, error) {
	return lines("chart.Lines", series, o)
}

// Rates draws what changes over time, such as records a second: X is in seconds, each series is sorted by it, Y starts at 0
// unless it is logarithmic.
func Rates(series []Series, o Options) (*Chart, error) {
	for _, s := range series {
		if err := ascending(s.of("x"), s.X); err != nil {
			return nil, refuse("chart.Rates", err)
		}
	}
	c, err := lines("chart.Rates", series, o)
	if err != nil {
		return nil, err
	}
	c.Plot.X.Tick.Marker = secondTicks{}
	if !o.LogY {
		c.Plot.Y.Min = math.Min(c.Plot.Y.Min, 0)
	}
	return c, nil
}

// Area draws y over x as a filled area above zero. x may be nil.
func Area(x, y []float64, o Options) (*Chart, error) {
	c, err := lines("chart.Area", []Series{{X: x, Y: y}}, o)
	if err != nil {
		return nil, err
	}
	pts := Series{X: x, Y: y}.points()
	outline := append(plotter.XYs{{X: pts[0].X}}, pts...)
	outline = append(outline, plotter.XY{X: pts[len(pts)-1].X})
	polygon, err := plotter.NewPolygon(outline)
	if err != nil {
		return nil, refuse("chart.Area", err)
	}
	polygon.Color = fade(blue(), 0.3)
	polygon.LineStyle.Width = 0
	c.Plot.Add(polygon)
	return c, nil
}

func lines(where string, series []Series, o Options) (*Chart, error) {
	if len(series) == 0 {
		return nil, refuse(where, errNoSeries)
	}
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	c.Plot.Add(grid(false))
	for i, s := range series {
		if err := s.check(); err != nil {
			return nil, refuse(where, err)
		}
		if err := o.checkLog(s.of("y"), s.Y); err != nil {
			return nil, refuse(where, err)
		}
		if err := addLine(c.Plot, s.points(), i); err != nil {
			return nil, refuse(where, err)
		}
		if len(series) > 1 || s.Name != "" {
			c.keys = append(c.keys, key{name: s.label(), color: seriesColor(i)})
		}
	}
	if o.LogY {
		logarithmic(&c.Plot.Y)
	} else {
		breathe(&c.Plot.Y)
	}
	c.alt = describeLines(series)
	return c, nil
}

// checkLog refuses what has no logarithm.
func (o Options) checkLog(name string, values []float64) error {
	if low, _ := extremes(values); o.LogY && low <= 0 {
		return fmt.Errorf("%s has the value %g: on a logarithmic axis all must be above 0", name, low)
	}
	return nil
}

// logarithmic makes an axis one that goes from a power of ten to a power of ten.
func logarithmic(a *plot.Axis) {
	a.Min, a.Max = math.Pow10(int(math.Floor(math.Log10(a.Min)))), math.Pow10(int(math.Ceil(math.Log10(a.Max))))
	if a.Min == a.Max {
		a.Max *= 10
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, powerTicks{}
}

func (s Series) label() string {
	if s.Name == "" {
		return "series"
	}
	return s.Name
}

// of names a series' x or y in errors.
func (s Series) of(axis string) string {
	if s.Name == "" {
		return axis
	}
	return axis + " of " + s.Name
}

func (s Series) check() error {
	if err := finite(s.of("y"), s.Y); err != nil {
		return err
	}
	if s.X == nil {
		return nil
	}
	if err := sameLength(s.of("x"), len(s.X), "y", len(s.Y)); err != nil {
		return err
	}
	return finite(s.of("x"), s.X)
}

func (s Series) points() plotter.XYs {
	pts := make(plotter.XYs, len(s.Y))
	for i, y := range s.Y {
		pts[i] = plotter.XY{X: float64(i), Y: y}
		if s.X != nil {
			pts[i].X = s.X[i]
		}
	}
	return thin(pts)
}

// thin keeps, of each run of points, the first, the lowest, the highest and the last, so that peaks stay. Long series
// take as long to draw as they have points.
func thin(pts plotter.XYs) plotter.XYs {
	if len(pts) <= maxLinePoints {
		return pts
	}
	run := (len(pts)*4 + maxLinePoints - 1) / maxLinePoints
	kept := make(plotter.XYs, 0, maxLinePoints+4)
	for from := 0; from < len(pts); from += run {
		to := min(from+run, len(pts))
		low, high := from, from
		for i := from; i < to; i++ {
			if pts[i].Y < pts[low].Y {
				low = i
			}
			if pts[i].Y > pts[high].Y {
				high = i
			}
		}
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			kept = append(kept, pts[i])
		}
	}
	return kept
}

// addLine draws the points in the colour of series i; a single point as a dot, or nothing would be seen of it.
func addLine(p *plot.Plot, pts plotter.XYs, i int) error {
	if len(pts) == 1 {
		dot, err := plotter.NewScatter(pts)
		if err != nil {
			return err
		}
		dot.GlyphStyle = draw.GlyphStyle{Color: seriesColor(i), Radius: 3, Shape: draw.CircleGlyph{}}
		p.Add(dot)
		return nil
	}
	line, err := plotter.NewLine(pts)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: seriesColor(i), Width: vg.Length(1.6)}
	p.Add(line)
	return nil
}

// breathe leaves room above the highest value and lets the axis start at zero where the lowest is near it.
func breathe(a *plot.Axis) {
	span := a.Max - a.Min
	if span == 0 {
		span = math.Max(math.Abs(a.Max), 1)
	}
	if a.Min >= 0 && a.Min < 0.5*a.Max || a.Min == 0 && a.Max == 0 {
		a.Min = 0
	} else {
		a.Min -= 0.05 * span
	}
	a.Max += 0.05 * span
}

func describeLines(series []Series) string {
	text := fmt.Sprintf("Line chart of %d points.", len(series[0].Y))
	if len(series) > 1 {
		text = fmt.Sprintf("Line chart of %d series.", len(series))
	}
	for _, s := range series {
		name := "From"
		if s.Name != "" {
			name = s.Name + ": from"
		}
		low, high := extremes(s.Y)
		text += fmt.Sprintf(" %s %s to %s, last %s.", name, short(low), short(high), short(s.Y[len(s.Y)-1]))
	}
	return text
}

func extremes(values []float64) (low, high float64) {
	low, high = values[0], values[0]
	for _, v := range values {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	return low, high
}
