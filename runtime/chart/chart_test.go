package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

func picture(t *testing.T, c *Chart) *image.NRGBA {
	t.Helper()
	raw, err := c.PNG()
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, raw)
}

func decode(t *testing.T, raw []byte) *image.NRGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	flat := image.NewNRGBA(img.Bounds())
	draw.Draw(flat, flat.Bounds(), img, image.Point{}, draw.Src)
	return flat
}

// share counts the pixels of a colour.
func share(img *image.NRGBA, want color.NRGBA) float64 {
	n, b := 0, img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if img.NRGBAAt(x, y) == want {
				n++
			}
		}
	}
	return float64(n) / float64(b.Dx()*b.Dy())
}

// inkOnBorder finds something drawn within a few pixels of the edge: a label that is cut off.
func inkOnBorder(img *image.NRGBA) (x, y int, found bool) {
	const strip = 6
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			inside := x >= strip && x < b.Max.X-strip && y >= strip && y < b.Max.Y-strip
			if !inside && img.NRGBAAt(x, y) != rgb(0xFFFFFF) {
				return x, y, true
			}
		}
	}
	return 0, 0, false
}

func TestGallery(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, s := range gallery() {
		t.Run(s.name, func(t *testing.T) {
			c := s.chart(t)
			img := picture(t, c)
			if got := img.Bounds().Dx(); got != 2*s.width {
				t.Errorf("width: got %d pixels, want %d", got, 2*s.width)
			}
			if got := img.Bounds().Dy(); s.height != 0 && got != 2*s.height {
				t.Errorf("height: got %d pixels, want %d", got, 2*s.height)
			}
			for _, want := range s.colors {
				if got := share(img, want); got < 2e-5 {
					t.Errorf("colour %v covers %g of the picture", want, got)
				}
			}
			if x, y, found := inkOnBorder(img); found {
				t.Errorf("something is cut off at (%d, %d)", x, y)
			}
			if got := c.MIMEMetadata()["image/png"].(map[string]any)["width"]; got != s.width {
				t.Errorf("width metadata: got %v, want %d", got, s.width)
			}
			if s := c.String(); strings.Contains(s, "NaN") || !strings.Contains(s, c.alt) || c.alt == "" {
				t.Errorf("words: %q", s)
			}
		})
	}
}

func TestWinProbabilityAreas(t *testing.T) {
	half := []float64{0.5, 0.5}
	c, err := WinProbability([]float64{0, 90}, half, []float64{0.2, 0.2}, []float64{0.3, 0.3}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	img := picture(t, c)
	h, d, a := share(img, blue()), share(img, drawGrey()), share(img, vermillion())
	if math.Abs(h/(h+d+a)-0.5) > 0.01 || math.Abs(d/(h+d+a)-0.2) > 0.01 {
		t.Errorf("areas of home, draw, away: got %.3f %.3f %.3f, want 5:2:3", h, d, a)
	}
	x := img.Bounds().Dx() / 2
	order := ""
	for y := range img.Bounds().Dy() {
		name, ok := map[color.NRGBA]string{blue(): "home", drawGrey(): "draw", vermillion(): "away"}[img.NRGBAAt(x, y)]
		if ok && !strings.HasSuffix(order, name) {
			order += " " + name
		}
	}
	if order != " away draw home" {
		t.Errorf("from the top: got%s, want away draw home", order)
	}
}

func TestShotAreaIsProportionalToXG(t *testing.T) {
	area := func(xg float64) float64 {
		c, err := Pitch([]Shot{{X: 90, Y: 40, XG: xg, Goal: true}}, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.keys = nil // the key shows the colour too
		img := picture(t, c)
		n := 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				if p := img.NRGBAAt(x, y); p.B > 140 && p.R < 80 {
					n++
				}
			}
		}
		return float64(n)
	}
	if ratio := area(0.8) / area(0.2); math.Abs(ratio-4) > 0.4 {
		t.Errorf("xG 0.8 has %.2f times the area of xG 0.2, want 4", ratio)
	}
}

func TestReliabilityBins(t *testing.T) {
	f := Forecast{Predicted: []float64{0.1, 0.2, 0.9, 1}, Happened: []bool{false, true, true, true}}
	bins := f.bin(2)
	if bins[0].n != 2 || bins[1].n != 2 || math.Abs(bins[0].predicted-0.15) > 1e-12 || bins[0].observed != 0.5 || bins[1].observed != 1 {
		t.Errorf("got %+v", bins)
	}
	// Wilson, 1927, by hand for 5 of 10: 0.2366 to 0.7634.
	if low, high := wilson(0.5, 10); math.Abs(low-0.2366) > 1e-4 || math.Abs(high-0.7634) > 1e-4 {
		t.Errorf("interval of 5 in 10: got %.4f to %.4f, want 0.2366 to 0.7634", low, high)
	}
}

func TestClassCalibration(t *testing.T) {
	p := [][]float64{{0.7, 0.3}, {0.2, 0.8}}
	c, err := ClassCalibration(p, []int{0, 0}, []string{"home", "away"}, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "Reliability diagram: observed share over predicted probability. home: 2 forecasts, at most 80.0 points off in a bin. away: 2 forecasts, at most 80.0 points off in a bin."
	if got := c.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := ClassCalibration(p, []int{0, 0}, []string{"home"}, 0, Options{}); err == nil || !strings.Contains(err.Error(), "p[0] has 2 probabilities and there are 1 classes") {
		t.Errorf("one class: got %v", err)
	}
}

func TestBinning(t *testing.T) {
	for _, c := range []struct {
		name       string
		values     []float64
		bins, want int
	}{
		{"whole numbers", []float64{0, 1, 1, 4}, 0, 5},
		{"asked for", []float64{0, 1, 1, 4}, 2, 2},
		{"constant", []float64{2.5, 2.5}, 0, 1},
		{"no spread in the middle", []float64{0, 1.5, 1.5, 1.5, 1.5, 9}, 0, maxBins},
	} {
		low, width, n := binning(c.values, c.bins)
		total := 0.0
		for _, b := range count(c.values, low, width, n) {
			total += b.Weight
		}
		if n != c.want || total != float64(len(c.values)) {
			t.Errorf("%s: got %d bins of %g values, want %d of %d", c.name, n, total, c.want, len(c.values))
		}
	}
}

func TestThinKeepsPeaks(t *testing.T) {
	y := make([]float64, 100_000)
	y[54_321], y[77] = 9, -9
	pts := Series{Y: y}.points()
	low, high := 0.0, 0.0
	for _, p := range pts {
		low, high = min(low, p.Y), max(high, p.Y)
	}
	if len(pts) > maxLinePoints+4 || low != -9 || high != 9 {
		t.Errorf("got %d points from %g to %g", len(pts), low, high)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		name     string
		ticker   plot.Ticker
		min, max float64
		want     string
	}{
		{"hundreds", numberTicks{}, 0, 1200, "0 200 400 600 800 1,000 1,200"},
		{"quarters", numberTicks{}, 0, 1.4, "0.00 0.25 0.50 0.75 1.00 1.25"},
		{"around zero", numberTicks{}, -0.01, 0.01, "-0.010 -0.005 0.000 0.005 0.010"},
		{"halves", numberTicks{}, 0, 15, "0.0 2.5 5.0 7.5 10.0 12.5 15.0"},
		{"counts", numberTicks{whole: true}, 0, 2, "0 1 2"},
		{"more counts", numberTicks{whole: true}, 0, 14, "0 3 6 9 12"},
		{"powers of ten", powerTicks{}, 0.1, 1e6, "0.1 1 10 100 1,000 10,000 100,000 1 million"},
		{"nothing", numberTicks{}, 3, 3, "3"},
		{"per cent", shareTicks{0.25}, 0, 1.2, "0 % 25 % 50 % 75 % 100 %"},
		{"match", minuteTicks{}, 0, 95, "0' 15' 30' HT 60' 75' FT"},
		{"seconds", secondTicks{}, 0, 60, "0 s 10 s 20 s 30 s 40 s 50 s 60 s"},
		{"minutes", secondTicks{}, 0, 1800, "0 min 5 min 10 min 15 min 20 min 25 min 30 min"},
	} {
		var labels []string
		for _, tick := range c.ticker.Ticks(c.min, c.max) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	nan := math.NaN()
	one := []float64{1}
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"NaN", "chart.Line: y[1] is NaN", second(Line(nil, []float64{1, nan}, Options{}))},
		{"empty", "chart.Line: y is empty", second(Line(nil, nil, Options{}))},
		{"no series", "chart.Lines: there is no series", second(Lines(nil, Options{}))},
		{"lengths", "chart.Lines: x of a has 1 values and y has 2", second(Lines([]Series{{Name: "a", X: one, Y: []float64{1, 2}}}, Options{}))},
		{"time goes back", "chart.Rates: x of a[1] is 0 after 1", second(Rates([]Series{{Name: "a", X: []float64{1, 0}, Y: []float64{1, 2}}}, Options{}))},
		{"labels", "chart.Bar: labels has 2 values and values has 1", second(Bar([]string{"a", "b"}, one, Options{}))},
		{"bins", "chart.Histogram: -1 bins", second(Histogram(one, -1, Options{}))},
		{"ragged matrix", "chart.Matrix: the names of columns has 1 values and row 1 has 0", second(Matrix([][]float64{one, {}}, []string{"a", "b"}, []string{"x"}, Options{}))},
		{"no matrix", "chart.Matrix: a string is no matrix", second(Matrix("x", nil, nil, Options{}))},
		{"negative count", "chart.Confusion: counts[0][0] is -1", second(Confusion([][]int{{-1}}, []string{"a"}, Options{}))},
		{"probability", "chart.Calibration: predicted forecast[0] is 2", second(Calibration([]float64{2}, []bool{true}, 0, Options{}))},
		{"sum", "chart.WinProbability: the probabilities at minutes[0] = 1 sum to 0.9", second(WinProbability(one, []float64{0.5}, []float64{0.2}, []float64{0.2}, nil, Options{}))},
		{"mark", "chart.WinProbability: marks[0] is at minute 9", second(WinProbability(one, one, []float64{0}, []float64{0}, []Mark{{Minute: 9}}, Options{}))},
		{"off the pitch", "chart.Pitch: shots[0] is at (300, 0)", second(Pitch([]Shot{{X: 300}}, nil, Options{}))},
		{"xG", "chart.Pitch: shots[0] has an xG of 2", second(Pitch([]Shot{{XG: 2}}, nil, Options{}))},
		{"logarithm", "chart.Rates: y of a has the value 0", second(Rates([]Series{{Name: "a", X: []float64{1, 2}, Y: []float64{1, 0}}}, Options{LogY: true}))},
		{"agreement", "chart.Agreement: y of a has the value 0", second(Agreement([]Series{{Name: "a", X: []float64{1, 2}, Y: []float64{1, 0}}}, Options{}))},
		{"no prediction", "chart.Agreement: x of a is missing", second(Agreement([]Series{{Name: "a", Y: one}}, Options{}))},
		{"size", "chart.Line: a size of 10 × 380", second(Line(nil, one, Options{Width: 10}))},
		{"importance", "chart.Importance: values[0] is NaN", second(Importance([]string{"a"}, []float64{nan}, Options{}))},
	} {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s…", c.name, c.err, c.want)
		}
	}
}

func second(_ *Chart, err error) error { return err }

// Half of what was predicted came twice as late, or earlier than half of it.
func ExampleAgreement() {
	c, err := Agreement([]Series{{Name: "CPU", X: []float64{0.1, 1, 10, 20}, Y: []float64{0.12, 0.9, 25, 9}}}, Options{Title: "Seconds"})
	fmt.Println(c, err)
	// Output:
	// Seconds
	// Scatter chart of 1 series. CPU: 50 % of 4 within a factor of two. <nil>
}

// A chart says in words what it shows; in a notebook its picture is seen.
func ExampleLine() {
	c, err := Line(nil, []float64{0.42, 0.55, 0.31}, Options{Title: "Home is losing it", Caption: "Simulated matches"})
	fmt.Println(c, err)
	// Output:
	// Home is losing it
	// Line chart of 3 points. From 0.31 to 0.55, last 0.31.
	// Simulated matches <nil>
}

func TestNoRoom(t *testing.T) {
	c, err := Line(nil, []float64{1, 2}, Options{Title: strings.Repeat("word ", 200), Width: 200, Height: 120})
	if err != nil {
		t.Fatal(err)
	}
	if text := c.MIMEBundle()["text/plain"].(string); !strings.Contains(text, "no room is left") || c.MIMEBundle()["image/png"] != nil {
		t.Errorf("got %q", text)
	}
}

func TestSave(t *testing.T) {
	c, err := Bar([]string{"a", "b"}, []float64{1, 2}, Options{Title: "Two bars"})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "figures")
	if err := c.Save(filepath.Join(folder, "two.png")); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(filepath.Join(folder, "two.svg")); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(folder, "two.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(svg, []byte("Two bars")) || !bytes.Contains(svg, []byte("Liberation Sans,Arial")) || len(svg) > 50_000 {
		t.Errorf("SVG of %d bytes lacks its title or a font to fall back on", len(svg))
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Save(filepath.Join(folder, "two.gif")); err == nil || !strings.Contains(err.Error(), ".png or .svg") {
		t.Errorf("gif: got %v", err)
	}
}

// serif is gonum/plot's default: the theme must not change it for others.
func TestThemeLeavesGonumAlone(t *testing.T) {
	if _, err := Line(nil, []float64{1, 2}, Options{}); err != nil {
		t.Fatal(err)
	}
	if plot.DefaultFont.Variant != "Serif" || plotter.DefaultFont.Variant != "Serif" {
		t.Errorf("gonum/plot's fonts were changed: %v, %v", plot.DefaultFont, plotter.DefaultFont)
	}
}

func TestConcurrentDrawing(t *testing.T) {
	c, err := Line(nil, []float64{1, 2}, Options{Width: 200, Height: 150})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := c.PNG(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestRenderPlot(t *testing.T) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "Own plot", "x", "y"
	line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		t.Fatal(err)
	}
	p.Add(line)
	d, ok := Render(p)
	if !ok {
		t.Fatal("a *plot.Plot is not known")
	}
	img := decode(t, d.Data["image/png"].([]byte))
	if img.Bounds().Dx() != 1280 || d.Metadata["image/png"].(map[string]any)["width"] != 640 {
		t.Errorf("got %v, metadata %v, want 1280 pixels shown as 640", img.Bounds(), d.Metadata)
	}
	if x, y, found := inkOnBorder(img); found {
		t.Errorf("something is cut off at (%d, %d)", x, y)
	}
	if got, want := d.Data["text/plain"], "plot Own plot (y over x)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.Title.TextStyle.Font.Variant != "Serif" {
		t.Error("the caller's plot was changed")
	}
}

func TestRenderOthers(t *testing.T) {
	d, ok := Render(mat.NewDense(2, 2, []float64{1, 2, 3, 4}))
	if got, want := d.Data["text/plain"], "⎡1  2⎤\n⎣3  4⎦"; !ok || got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d, _ = Render(mat.NewDense(100, 50, nil))
	if text := d.Data["text/plain"].(string); !strings.HasPrefix(text, "Dims(100, 50)") || len(text) > 2000 {
		t.Errorf("large matrix: %d bytes, %q …", len(text), text[:40])
	}
	if _, ok := Render(42); ok {
		t.Error("an int was taken for a plot")
	}
}
