package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Forecast is one kind of outcome: the probability that was predicted for it each time, and whether it happened.
type Forecast struct {
	Name      string
	Predicted []float64 // 0 to 1
	Happened  []bool
}

// The band below zero in which a reliability diagram counts its forecasts.
const (
	bandTop, bandBottom = -0.06, -0.26
	defaultBins         = 10
)

// Calibration draws a reliability diagram of one forecast in bins of equal width (0: ten): how often it happened over what
// was predicted, with Wilson's 95 % interval, the diagonal of a perfect forecast, and the number of forecasts a bin below.
func Calibration(predicted []float64, happened []bool, bins int, o Options) (*Chart, error) {
	return reliability("chart.Calibration", []Forecast{{Predicted: predicted, Happened: happened}}, bins, o)
}

// Calibrations draws several forecasts in one reliability diagram. Three of them are taken as home, draw and away and have
// those colours.
func Calibrations(forecasts []Forecast, bins int, o Options) (*Chart, error) {
	return reliability("chart.Calibrations", forecasts, bins, o)
}

// ClassCalibration is Calibrations of a classifier: p[i] are the probabilities of the classes for row i, labels[i] is the class
// that happened, classes names them in order.
func ClassCalibration(p [][]float64, labels []int, classes []string, bins int, o Options) (*Chart, error) {
	const where = "chart.ClassCalibration"
	if err := refuse(where, sameLength("p", len(p), "labels", len(labels))); err != nil {
		return nil, err
	}
	forecasts := make([]Forecast, len(classes))
	for k, name := range classes {
		f := Forecast{Name: name, Predicted: make([]float64, len(p)), Happened: make([]bool, len(p))}
		for i, row := range p {
			if len(row) != len(classes) {
				return nil, refuse(where, fmt.Errorf("p[%d] has %d probabilities and there are %d classes", i, len(row), len(classes)))
			}
			f.Predicted[i], f.Happened[i] = row[k], labels[i] == k
		}
		forecasts[k] = f
	}
	return reliability(where, forecasts, bins, o)
}

func reliability(where string, forecasts []Forecast, bins int, o Options) (*Chart, error) {
	if len(forecasts) == 0 {
		return nil, refuse(where, errNoSeries)
	}
	if bins == 0 {
		bins = defaultBins
	}
	if bins < 2 || bins > 50 {
		return nil, fmt.Errorf("%s: %d bins: ask for 2 to 50, or 0 for %d", where, bins, defaultBins)
	}
	c, err := newChart(where, calibrationWords(o))
	if err != nil {
		return nil, err
	}
	r := reliabilityDiagram{}
	for i, f := range forecasts {
		name := f.label()
		if err := refuse(where, shares("predicted "+name, f.Predicted), sameLength("predicted "+name, len(f.Predicted), "happened", len(f.Happened))); err != nil {
			return nil, err
		}
		r.curves = append(r.curves, curve{bins: f.bin(bins), color: forecastColor(i, len(forecasts))})
		if len(forecasts) > 1 {
			c.keys = append(c.keys, key{name: name, color: forecastColor(i, len(forecasts))})
		}
	}
	c.Plot.Add(grid(false), r)
	x, y := &c.Plot.X, &c.Plot.Y
	x.Min, x.Max, y.Min, y.Max = 0, 1, bandBottom, 1.02
	x.Tick.Marker, y.Tick.Marker = shareTicks{0.2}, shareTicks{0.2}
	c.alt = describeReliability(forecasts, r)
	return c, nil
}

func calibrationWords(o Options) Options {
	if o.Width == 0 && o.Height == 0 {
		o.Width, o.Height = 520, 500
	}
	if o.XLabel == "" {
		o.XLabel = "Predicted probability"
	}
	if o.YLabel == "" {
		o.YLabel = "Observed share"
	}
	return o
}

func forecastColor(i, n int) color.NRGBA {
	if n == 3 {
		return [...]color.NRGBA{blue(), grey(), vermillion()}[i]
	}
	return seriesColor(i)
}

func (f Forecast) label() string {
	if f.Name == "" {
		return "forecast"
	}
	return f.Name
}

// reliabilityBin is one point of the diagram.
type reliabilityBin struct {
	n         int
	predicted float64 // mean
	observed  float64 // share
	low, high float64 // Wilson's 95 % interval of observed
}

func (f Forecast) bin(n int) []reliabilityBin {
	bins := make([]reliabilityBin, n)
	for i, p := range f.Predicted {
		b := &bins[min(int(p*float64(n)), n-1)]
		b.n++
		b.predicted += p
		if f.Happened[i] {
			b.observed++
		}
	}
	for i := range bins {
		if b := &bins[i]; b.n > 0 {
			b.predicted /= float64(b.n)
			b.observed /= float64(b.n)
			b.low, b.high = wilson(b.observed, float64(b.n))
		}
	}
	return bins
}

// wilson is the 95 % score interval of a share (Wilson, 1927).
func wilson(share, n float64) (low, high float64) {
	const z = 1.959964
	centre := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return max(centre-half, 0), min(centre+half, 1)
}

type curve struct {
	bins  []reliabilityBin
	color color.NRGBA
}

type reliabilityDiagram struct{ curves []curve }

// Plot implements plot.Plotter.
func (r reliabilityDiagram) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	diagonal := draw.LineStyle{Color: axisGrey(), Width: 1, Dashes: []vg.Length{4, 3}}
	c.StrokeLine2(diagonal, x(0), y(0), x(1), y(1))
	c.StrokeLine2(draw.LineStyle{Color: axisGrey(), Width: 0.75}, x(0), y(0), x(1), y(0))
	most := r.most()
	for i, cv := range r.curves {
		r.counts(c, p, i, most)
		cv.plot(c, p)
	}
	note := style(sans(7.5), muted())
	note.YAlign = draw.YTop
	c.FillText(note, vg.Point{X: x(0) + 2, Y: y(bandTop) + 8}, "Forecasts per bin, at most "+number(float64(most), 0))
}

func (r reliabilityDiagram) most() int {
	most := 0
	for _, cv := range r.curves {
		for _, b := range cv.bins {
			most = max(most, b.n)
		}
	}
	return most
}

// counts draws the bars of curve i in the band.
func (r reliabilityDiagram) counts(c draw.Canvas, p *plot.Plot, i, most int) {
	x, y := p.Transforms(&c)
	bins := r.curves[i].bins
	slot := 0.8 / float64(len(bins)*len(r.curves))
	for b, bin := range bins {
		left := (float64(b)+0.1)/float64(len(bins)) + slot*float64(i)
		top := bandBottom + (bandTop-0.03-bandBottom)*float64(bin.n)/float64(max(most, 1))
		c.SetColor(fade(r.curves[i].color, 0.75))
		c.Fill(vg.Rectangle{Min: vg.Point{X: x(left), Y: y(bandBottom)}, Max: vg.Point{X: x(left + slot), Y: y(top)}}.Path())
	}
}

func (cv curve) plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var line []vg.Point
	for _, b := range cv.bins {
		if b.n == 0 {
			continue
		}
		at := vg.Point{X: x(b.predicted), Y: y(b.observed)}
		line = append(line, at)
		c.StrokeLine2(draw.LineStyle{Color: fade(cv.color, 0.5), Width: 1.2}, at.X, y(b.low), at.X, y(b.high))
	}
	c.StrokeLines(draw.LineStyle{Color: cv.color, Width: 1.5}, line)
	for _, at := range line {
		c.DrawGlyph(draw.GlyphStyle{Color: cv.color, Radius: 3, Shape: draw.CircleGlyph{}}, at)
	}
}

func describeReliability(forecasts []Forecast, r reliabilityDiagram) string {
	text := "Reliability diagram: observed share over predicted probability."
	for i, cv := range r.curves {
		worst, n := 0.0, 0
		for _, b := range cv.bins {
			if b.n > 0 {
				worst = max(worst, math.Abs(b.observed-b.predicted))
			}
			n += b.n
		}
		text += fmt.Sprintf(" %s: %s forecasts, at most %.1f points off in a bin.", forecasts[i].label(), number(float64(n), 0), 100*worst)
	}
	return text
}
