package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Mark is a moment of a match on a win-probability chart: a goal, with the score after it as its label, or a red card.
type Mark struct {
	Minute float64
	Label  string // "1:0"
	Away   bool   // of the away side
	Red    bool   // a red card, not a goal
}

// sumTolerance is how far three probabilities may be from one: they come from files with few decimals too.
const sumTolerance = 1e-3

// WinProbability draws how the probabilities of the three outcomes go through a match, as areas from 0 to 100 %: home at the
// bottom, draw in the middle, away on top, after Robberechts, Van Haaren and Davis (KDD 2021). minutes ascend; the three
// probabilities of a minute sum to one. Goals are marked with the score, red cards with a card.
func WinProbability(minutes, home, drawn, away []float64, marks []Mark, o Options) (*Chart, error) {
	const where = "chart.WinProbability"
	if err := checkProbabilities(minutes, home, drawn, away, marks); err != nil {
		return nil, refuse(where, err)
	}
	names := o.names("Home", "Draw", "Away")
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	w := winPlot{minutes: minutes, home: home, drawn: drawn}
	w.levels(marks, c)
	for i, fill := range []color.NRGBA{blue(), drawGrey(), vermillion()} {
		c.keys = append(c.keys, key{name: names[i], color: fill})
	}
	p := c.Plot
	p.X.Min, p.X.Max = minutes[0], math.Max(minutes[len(minutes)-1], minutes[0]+1)
	p.Y.Min, p.Y.Max = 0, 1+w.room()
	p.X.Tick.Marker, p.Y.Tick.Marker = minuteTicks{}, shareTicks{0.25}
	if err := w.areas(p); err != nil {
		return nil, refuse(where, err)
	}
	p.Add(w)
	c.alt = describeWin(minutes, home, drawn, away, marks, names)
	return c, nil
}

func checkProbabilities(minutes, home, drawn, away []float64, marks []Mark) error {
	n := len(minutes)
	for _, err := range []error{
		finite("minutes", minutes), ascending("minutes", minutes),
		sameLength("minutes", n, "home", len(home)), sameLength("minutes", n, "drawn", len(drawn)), sameLength("minutes", n, "away", len(away)),
		shares("home", home), shares("drawn", drawn), shares("away", away),
	} {
		if err != nil {
			return err
		}
	}
	for i := range minutes {
		if sum := home[i] + drawn[i] + away[i]; math.Abs(sum-1) > sumTolerance {
			return fmt.Errorf("the probabilities at minutes[%d] = %g sum to %.4g, not 1", i, minutes[i], sum)
		}
	}
	for i, m := range marks {
		if math.IsNaN(m.Minute) || m.Minute < minutes[0] || m.Minute > minutes[n-1] {
			return fmt.Errorf("marks[%d] is at minute %g, outside the chart's %g to %g", i, m.Minute, minutes[0], minutes[n-1])
		}
	}
	return nil
}

// winPlot draws the marks; the areas below it are polygons.
type winPlot struct {
	minutes, home, drawn []float64
	marks                []placedMark
	rows                 int // of labels above the areas
	rowShare             float64
}

type placedMark struct {
	Mark
	row  int  // 0 is next to the areas
	left bool // of its line, where the right edge is near
}

// levels gives each label a row above the areas in which it overlaps no other.
func (w *winPlot) levels(all []Mark, c *Chart) {
	width, height := c.size()
	perMinute := float64(width-2*margin-40) / math.Max(w.minutes[len(w.minutes)-1]-w.minutes[0], 1)
	w.rowShare = 12 / math.Max(float64(height-frameHeight(c.options, []key{{name: "x"}}, width))-22, 40)
	marks := slices.SortedStableFunc(slices.Values(all), func(a, b Mark) int { return cmp.Compare(a.Minute, b.Minute) })
	var ends []float64 // of the last label of each row, in points from the left
	for i, m := range marks {
		at := (m.Minute - w.minutes[0]) * perMinute
		size := m.width()
		edge := perMinute*(w.minutes[len(w.minutes)-1]-w.minutes[0]) + 12
		if i+1 < len(marks) {
			edge = min(edge, (marks[i+1].Minute-w.minutes[0])*perMinute) // the next one's line would run through the label
		}
		placed := placedMark{Mark: m}
		from, to := at, at+size
		if to > edge && at-size > 0 && (len(ends) == 0 || at-size >= ends[0]) {
			placed.left = true
			from, to = at-size, at
		}
		for placed.row < len(ends) && from < ends[placed.row] {
			placed.row++
		}
		if placed.row == len(ends) {
			ends = append(ends, 0)
		}
		ends[placed.row] = to
		w.marks = append(w.marks, placed)
	}
	w.rows = len(ends)
}

// width is what a label takes, its distance from the line included.
func (m Mark) width() float64 {
	w := float64(markStyle(m).Width(m.Label)) + 6
	if m.Red {
		w += 8
	}
	return w
}

// room is the height of the labels' rows as a share of the areas' height.
func (w *winPlot) room() float64 { return w.rowShare * float64(w.rows) }

func (w *winPlot) areas(p *plot.Plot) error {
	n := len(w.minutes)
	zero, one, low := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range one {
		one[i] = 1
		low[i] = math.Min(w.home[i]+w.drawn[i], 1)
	}
	for _, a := range []struct {
		from, to []float64
		fill     color.NRGBA
	}{{zero, w.home, blue()}, {w.home, low, drawGrey()}, {low, one, vermillion()}} {
		outline := make(plotter.XYs, 0, 2*n)
		for i, m := range w.minutes {
			outline = append(outline, plotter.XY{X: m, Y: a.to[i]})
		}
		for i := n - 1; i >= 0; i-- {
			outline = append(outline, plotter.XY{X: w.minutes[i], Y: a.from[i]})
		}
		polygon, err := plotter.NewPolygon(outline)
		if err != nil {
			return err
		}
		polygon.Color, polygon.LineStyle.Width = a.fill, 0
		p.Add(polygon)
	}
	return nil
}

func markStyle(m Mark) draw.TextStyle {
	if m.Away {
		return style(bold(8.5), rgb(0xA84900)) // darker than the area: small text needs the contrast
	}
	return style(bold(8.5), blue())
}

// Plot implements plot.Plotter.
func (w winPlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, m := range w.marks {
		at, base := x(m.Minute), y(1+w.rowShare*float64(m.row))
		c.StrokeLine2(draw.LineStyle{Color: color.White, Width: 1.2, Dashes: []vg.Length{3, 2}}, at, y(0), at, y(1))
		c.StrokeLine2(draw.LineStyle{Color: muted(), Width: 0.75}, at, y(1), at, base+10)
		m.write(c, vg.Point{X: at, Y: base + 2.5})
	}
	if w.minutes[0] <= 45 && w.minutes[len(w.minutes)-1] > 60 {
		c.StrokeLine2(draw.LineStyle{Color: fade(rgb(0xFFFFFF), 0.5), Width: 0.75}, x(45), y(0), x(45), y(1))
	}
}

// write puts the label beside its line, the card of a red one between them.
func (m placedMark) write(c draw.Canvas, at vg.Point) {
	st, step := markStyle(m.Mark), vg.Length(3)
	if m.left {
		st.XAlign, step = draw.XRight, -3
	}
	at.X += step
	if m.Red {
		card := vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - 1}, Max: vg.Point{X: at.X + 5, Y: at.Y + 6.5}}
		if m.left {
			card.Min.X, card.Max.X = at.X-5, at.X
		}
		c.SetColor(cardRed())
		c.Fill(card.Path())
		at.X += step/3*2 + step/vg.Length(math.Abs(float64(step)))*5
	}
	c.FillText(st, at, m.Label)
}

func describeWin(minutes, home, drawn, away []float64, marks []Mark, names []string) string {
	at := func(i int) string {
		return fmt.Sprintf("%s %.0f %%, %s %.0f %%, %s %.0f %%", names[0], 100*home[i], names[1], 100*drawn[i], names[2], 100*away[i])
	}
	last := len(minutes) - 1
	text := fmt.Sprintf("Stacked areas of the three outcomes' probabilities. Minute %.0f: %s. Minute %.0f: %s.", minutes[0], at(0), minutes[last], at(last))
	for _, m := range marks {
		side, what := names[0], "goal"
		if m.Away {
			side = names[2]
		}
		if m.Red {
			what = "red card"
		}
		text += fmt.Sprintf(" Minute %.0f: %s, %s", m.Minute, what, side)
		if m.Label != "" {
			text += ", " + m.Label
		}
		text += "."
	}
	return text
}
