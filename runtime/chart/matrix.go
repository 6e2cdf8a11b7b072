package chart

import (
	"fmt"
	"image/color"
	"math"
	"reflect"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// maxCells is how many rows or columns a matrix chart may have: more cells have no room for their numbers.
const maxCells = 40

// Confusion draws a confusion matrix: counts[i][j] matches of class i that were predicted as class j, as [][]int, [][]float64 or
// mat.Matrix. A cell shows its count and its share of the row; the share is the shade. The chart's Plot has the coordinates of [Matrix].
func Confusion(counts any, classes []string, o Options) (*Chart, error) {
	const where = "chart.Confusion"
	values, err := cellsOf(counts, classes, classes)
	if err != nil {
		return nil, refuse(where, err)
	}
	if o.XLabel == "" {
		o.XLabel = "Predicted"
	}
	if o.YLabel == "" {
		o.YLabel = "Actual"
	}
	g := cells{values: values}
	for i, row := range values {
		sum := 0.0
		for j, v := range row {
			if v < 0 {
				return nil, fmt.Errorf("%s: counts[%d][%d] is %v: a count is not negative", where, i, j, v)
			}
			sum += v
		}
		g.add(row, 0, sum, func(v, share float64) string {
			if sum == 0 {
				return short(v)
			}
			return fmt.Sprintf("%s\n%.0f %%", short(v), 100*share)
		})
	}
	return g.chart(where, classes, classes, o)
}

// Matrix draws values as shaded cells with their numbers: [][]float64, [][]int or mat.Matrix, first row on top. rows and columns
// name them.
//
// What is added to the chart's Plot has the same coordinates: the middle of the cell values[i][j] is at x = j, to the right, and y = i, downwards.
func Matrix(values any, rows, columns []string, o Options) (*Chart, error) {
	const where = "chart.Matrix"
	v, err := cellsOf(values, rows, columns)
	if err != nil {
		return nil, refuse(where, err)
	}
	low, high := v[0][0], v[0][0]
	for _, row := range v {
		l, h := extremes(row)
		low, high = min(low, l), max(high, h)
	}
	g := cells{values: v}
	for _, row := range v {
		g.add(row, low, high, func(v, _ float64) string { return short(v) })
	}
	return g.chart(where, rows, columns, o)
}

// cellsOf copies values into rows and checks them against the names.
func cellsOf(values any, rows, columns []string) ([][]float64, error) {
	table, err := toRows(values)
	if err != nil {
		return nil, err
	}
	if len(table) == 0 || len(table) > maxCells || len(columns) > maxCells {
		return nil, fmt.Errorf("a matrix of %d rows and %d columns: 1 to %d can be drawn", len(table), len(columns), maxCells)
	}
	if err := sameLength("the names of rows", len(rows), "the matrix", len(table)); err != nil {
		return nil, err
	}
	for i, row := range table {
		name := fmt.Sprintf("row %d", i)
		if err := sameLength("the names of columns", len(columns), name, len(row)); err != nil {
			return nil, err
		}
		if err := finite(name, row); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// toRows takes a matrix or any slice of slices of numbers.
func toRows(values any) ([][]float64, error) {
	if m, ok := values.(mat.Matrix); ok {
		rows, _ := m.Dims()
		table := make([][]float64, rows)
		for i := range table {
			table[i] = mat.Row(nil, i, m)
		}
		return table, nil
	}
	v := reflect.ValueOf(values)
	if k := v.Kind(); k != reflect.Slice && k != reflect.Array {
		return nil, fmt.Errorf("a %T is no matrix: give [][]float64, [][]int or a mat.Matrix", values)
	}
	table := make([][]float64, v.Len())
	for i := range table {
		row := v.Index(i)
		if k := row.Kind(); k != reflect.Slice && k != reflect.Array {
			return nil, fmt.Errorf("a %T is no matrix: give [][]float64, [][]int or a mat.Matrix", values)
		}
		table[i] = make([]float64, row.Len())
		for j := range table[i] {
			switch cell := row.Index(j); {
			case cell.CanFloat():
				table[i][j] = cell.Float()
			case cell.CanInt():
				table[i][j] = float64(cell.Int())
			case cell.CanUint():
				table[i][j] = float64(cell.Uint())
			default:
				return nil, fmt.Errorf("a %T is no matrix: give [][]float64, [][]int or a mat.Matrix", values)
			}
		}
	}
	return table, nil
}

// cells draws the matrix; row 0 is on top.
type cells struct {
	values [][]float64
	shade  [][]float64
	text   [][]string
}

// add appends the shades and texts of one row; low and high are the ends of the shade.
func (g *cells) add(row []float64, low, high float64, text func(v, shade float64) string) {
	shades, texts := make([]float64, len(row)), make([]string, len(row))
	for j, v := range row {
		if high > low {
			shades[j] = (v - low) / (high - low)
		}
		texts[j] = text(v, shades[j])
	}
	g.shade, g.text = append(g.shade, shades), append(g.text, texts)
}

func (g cells) chart(where string, rows, columns []string, o Options) (*Chart, error) {
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	p := c.Plot
	p.Add(g)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(columns))-0.5, -0.5, float64(len(rows))-0.5
	p.Y.Tick.Marker = nameTicks(rows, anyWidth)
	p.X.Tick.Marker = nameTicks(columns, c.slot(rows, len(columns)))
	p.Y.Scale = downwards()
	p.X.LineStyle.Width, p.X.Tick.LineStyle.Color = 0, color.Transparent
	p.X.Tick.Label.Color, p.Y.Tick.Label.Color = ink(), ink()
	c.alt = g.describe(rows, columns)
	return c, nil
}

// slot is the width of one of n columns beside the names of rows.
func (c *Chart) slot(rows []string, n int) vg.Length {
	beside := vg.Length(0)
	for _, tick := range nameTicks(rows, anyWidth) {
		beside = max(beside, nameStyle().Width(tick.Label))
	}
	if c.options.YLabel != "" {
		beside += 20
	}
	w, _ := c.size()
	return (w-2*margin-beside)/vg.Length(n) - 4
}

// anyWidth cuts nothing.
var anyWidth = vg.Length(math.Inf(1))

func nameStyle() draw.TextStyle { return style(sans(9), ink()) }

// nameTicks names rows or columns, each cut to the width.
func nameTicks(names []string, width vg.Length) plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(names))
	for i, name := range names {
		ticks[i] = plot.Tick{Value: float64(i), Label: fit(shorten(name, 24), nameStyle(), width)}
	}
	return ticks
}

// Plot implements plot.Plotter.
func (g cells) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	size := vg.Point{X: x(1) - x(0), Y: y(0) - y(1)}
	font := sans(max(min(size.X/4.5, size.Y/3.2, 11), 5))
	for i, row := range g.values {
		for j := range row {
			centre := vg.Point{X: x(float64(j)), Y: y(float64(i))}
			half := vg.Point{X: size.X/2 - 0.75, Y: size.Y/2 - 0.75}
			c.SetColor(ramp(g.shade[i][j]))
			c.Fill(vg.Rectangle{Min: centre.Sub(half), Max: centre.Add(half)}.Path())
			st := style(font, ink())
			if g.shade[i][j] > 0.5 {
				st.Color = rgb(0xFFFFFF)
			}
			g.write(c, st, centre, g.text[i][j])
		}
	}
}

// write centres up to two lines: gonum/plot's own multi-line alignment is off by a line's descent.
func (g cells) write(c draw.Canvas, st draw.TextStyle, centre vg.Point, text string) {
	lines := strings.Split(text, "\n")
	st.XAlign = draw.XCenter
	step := st.Font.Size * lineHeight
	at := centre.Y + step*vg.Length(len(lines)-1)/2 - st.Font.Size*0.35
	for _, line := range lines {
		c.FillText(st, vg.Point{X: centre.X, Y: at}, line)
		at -= step
	}
}

func (g cells) describe(rows, columns []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Matrix of %d rows and %d columns.", len(rows), len(columns))
	for i, row := range rows {
		fmt.Fprintf(&b, " %s:", row)
		for j, column := range columns {
			fmt.Fprintf(&b, " %s %s,", column, strings.ReplaceAll(g.text[i][j], "\n", " = "))
		}
	}
	return strings.TrimSuffix(b.String(), ",") + "."
}
