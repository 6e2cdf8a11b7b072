package chart

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// maxImportance is how many features Importance draws; the rest is said in the text.
const maxImportance = 20

// Bar draws one bar a label, with its value on it.
func Bar(labels []string, values []float64, o Options) (*Chart, error) {
	return bars("chart.Bar", labels, []Series{{Name: "values", Y: values}}, o)
}

// Bars draws a group of bars a label: groups[i].Y has one value for each label; X is not used. Series named GPU and CPU have
// their own colours.
func Bars(labels []string, groups []Series, o Options) (*Chart, error) {
	c, err := bars("chart.Bars", labels, groups, o)
	if err != nil {
		return nil, err
	}
	for i, g := range groups {
		c.keys = append(c.keys, key{name: g.label(), color: barColor(g.Name, i)})
	}
	return c, nil
}

func bars(where string, labels []string, groups []Series, o Options) (*Chart, error) {
	if len(labels) == 0 || len(groups) == 0 {
		return nil, refuse(where, errNoSeries)
	}
	for _, g := range groups {
		if err := refuse(where, finite(g.label(), g.Y), sameLength("labels", len(labels), g.label(), len(g.Y))); err != nil {
			return nil, err
		}
	}
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	c.Plot.Add(grid(false))
	w, _ := c.size()
	slot := (w - 2*margin - 40) / vg.Length(len(labels))
	width := max(min(slot*0.72/vg.Length(len(groups)), 44), 1)
	for i, g := range groups {
		offset := (width + 1) * (vg.Length(i) - vg.Length(len(groups)-1)/2)
		if err := addBars(c.Plot, g.Y, barColor(g.Name, i), width, offset); err != nil {
			return nil, refuse(where, err)
		}
	}
	nameBars(c.Plot, labels, slot)
	c.alt = describeBars(labels, groups)
	return c, nil
}

// barColor keeps GPU blue, and what plays one, and CPU vermillion whichever comes first.
func barColor(name string, i int) color.Color {
	switch strings.ToUpper(name) {
	case "GPU", "CPU EMULATION":
		return blue()
	case "CPU":
		return vermillion()
	}
	return seriesColor(i)
}

func addBars(p *plot.Plot, values []float64, fill color.Color, width, offset vg.Length) error {
	b, err := plotter.NewBarChart(plotter.Values(values), width)
	if err != nil {
		return err
	}
	b.Color, b.Offset, b.LineStyle.Width = fill, offset, 0
	p.Add(b)
	marks := marks{size: 8.5}
	for i, v := range values {
		m := mark{x: float64(i), y: v, text: short(v), dx: offset, dy: 2, xAlign: draw.XCenter}
		if v < 0 {
			m.dy, m.yAlign = -2, draw.YTop
		}
		marks.all = append(marks.all, m)
	}
	if width >= 14 { // narrower ones have no room for a number
		p.Add(marks)
	}
	return nil
}

// nameBars sets the axes: a bar's label below it, cut to its slot, and the bars standing on zero.
func nameBars(p *plot.Plot, labels []string, slot vg.Length) {
	st := style(sans(9), ink())
	every := 1 + int(14/slot) // labels of very narrow slots: every second, third …
	var ticks []plot.Tick
	for i, label := range labels {
		if i%every == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: fit(label, st, slot*vg.Length(every)-3)})
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Tick.Label.Color = ink()
	p.X.Tick.LineStyle.Color = color.Transparent // its length keeps the names off the bars
	p.X.Min, p.X.Max = -0.6, float64(len(labels))-0.4
	span := math.Max(p.Y.Max, 0) - math.Min(p.Y.Min, 0)
	if span == 0 {
		span = 1
	}
	p.Y.Max = math.Max(p.Y.Max, 0) + 0.09*span
	if p.Y.Min < 0 {
		p.Y.Min -= 0.09 * span
		p.X.LineStyle.Width = 0
		p.Add(zeroLine{})
	} else {
		p.Y.Min = 0
	}
}

// zeroLine is what bars below zero hang from.
type zeroLine struct{}

// Plot implements plot.Plotter.
func (zeroLine) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: axisGrey(), Width: 0.75}, c.Min.X, y(0), c.Max.X, y(0))
}

func describeBars(labels []string, groups []Series) string {
	var b strings.Builder
	b.WriteString("Bar chart.")
	for _, g := range groups {
		if len(groups) > 1 {
			b.WriteString(" " + g.label() + ":")
		}
		for i, label := range labels {
			if i == maxImportance {
				fmt.Fprintf(&b, " and %d more", len(labels)-i)
				break
			}
			fmt.Fprintf(&b, " %s %s,", label, short(g.Y[i]))
		}
	}
	return strings.TrimSuffix(b.String(), ",") + "."
}

// Importance draws how much each feature matters as horizontal bars, the largest on top, twenty at most.
//
// What is added to the chart's Plot has the value as x, to the right, and the bar as y, downwards: the largest is at 0, the next at 1.
func Importance(names []string, values []float64, o Options) (*Chart, error) {
	const where = "chart.Importance"
	if err := refuse(where, finite("values", values), sameLength("names", len(names), "values", len(values))); err != nil {
		return nil, err
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case values[a] > values[b]:
			return -1
		case values[a] < values[b]:
			return 1
		}
		return 0
	})
	order = order[:min(len(order), maxImportance)]
	if o.Height == 0 {
		o.Height = 130 + 22*float64(len(order))
	}
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	if err := addRows(c, names, values, order); err != nil {
		return nil, refuse(where, err)
	}
	c.alt = describeImportance(names, values, order)
	return c, nil
}

// addRows draws the bars of order from the top down.
func addRows(c *Chart, names []string, values []float64, order []int) error {
	p, n := c.Plot, len(order)
	sorted, marks := make(plotter.Values, n), marks{size: 8.5}
	var ticks []plot.Tick
	for row, i := range order {
		sorted[row] = values[i]
		ticks = append(ticks, plot.Tick{Value: float64(row), Label: shorten(names[i], 36)})
		m := mark{x: values[i], y: float64(row), text: short(values[i]), dx: 3, dy: 1.2, yAlign: draw.YCenter}
		if values[i] < 0 {
			m.dx, m.xAlign = -3, draw.XRight
		}
		marks.all = append(marks.all, m)
	}
	_, h := c.size()
	b, err := plotter.NewBarChart(sorted, min(h/vg.Length(n)*0.5, 13))
	if err != nil {
		return err
	}
	b.Horizontal, b.Color, b.LineStyle.Width = true, blue(), 0
	p.Add(grid(true), b, marks)
	p.Y.Tick.Marker, p.Y.Tick.Label.Color = plot.ConstantTicks(ticks), ink()
	p.X.LineStyle.Width, p.X.Tick.Length = 0, 0
	p.Y.Scale, p.Y.Min, p.Y.Max = downwards(), -0.6, float64(n)-0.4
	low, high := extremes(append([]float64{0}, sorted...))
	room := 0.1 * math.Max(high-low, 1e-9)
	p.X.Max = high + room
	if p.X.Min = low; low < 0 {
		p.X.Min -= room
	}
	return nil
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func describeImportance(names []string, values []float64, order []int) string {
	text := "Horizontal bars, largest first:"
	for _, i := range order {
		text += fmt.Sprintf(" %s %s,", names[i], short(values[i]))
	}
	text = strings.TrimSuffix(text, ",") + "."
	if more := len(values) - len(order); more > 0 {
		text += fmt.Sprintf(" %d smaller ones are not drawn.", more)
	}
	return text
}
