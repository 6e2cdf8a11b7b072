// Package chart draws the figures of our notebooks over gonum/plot: one theme, colours that colour-blind readers can tell
// apart, and a text that says what is seen. It ends at the picture: where it is shown is the display's business, and what
// the numbers mean the caller's.
//
// Every constructor takes plain slices and [Options] and refuses, with a sentence, what cannot be drawn. A chart shows
// itself as PNG at two pixels a point with its width beside it, which all front ends and GitHub show. The home side is
// blue, a draw grey, the away side vermillion; a GPU blue, a CPU vermillion.
//
// The font of a PNG is Liberation Sans. Hebrew and Arabic go from right to left, and a line that begins with them begins at the right. A letter that it lacks, such as 東 or an emoji, is a box there, and the picture says so. The SVG has
// the letter, and is shown beside the PNG then: front ends prefer it.
//
// The theme is set on each plot; gonum/plot's package variables are left as they are.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Options are the words around a chart and its size. The zero value draws a chart of 640 × 380 without words.
type Options struct {
	Title    string   // bold; say the finding
	Subtitle string   // below the title; say what is drawn, of what, in which unit
	Caption  string   // small, below the chart: the source, such as "simulated matches"
	XLabel   string   // below the x axis
	YLabel   string   // beside the y axis
	LogY     bool     // Line, Lines and Rates: a logarithmic y axis, for values above 0 that are many powers of ten apart
	Width    float64  // CSS pixels (1/96 inch), 200 to 4,000; 0 is 640
	Height   float64  // CSS pixels, 120 to 4,000; 0 is 380, or what the chart's shape asks for
	Alt      string   // what is seen, for who cannot see it; "" is a description made from the data
	Names    []string // WinProbability and Pitch: home, draw and away, or home and away; empty are those words
}

// names are the sides' words: those of Names that are given, else the usual ones.
func (o Options) names(usual ...string) []string {
	for i := range usual {
		if i < len(o.Names) && o.Names[i] != "" {
			usual[i] = o.Names[i]
		}
	}
	return usual
}

// Bounds of a chart's size in CSS pixels, and the size where none is asked for.
const (
	defaultWidth, defaultHeight  = 640, 380
	minWidth, minHeight, maxSize = 200, 120, 4000
)

// points converts CSS pixels to points: 96 and 72 an inch.
func points(px float64) vg.Length { return vg.Length(px * 72 / 96) }

// dpi is two pixels for each CSS pixel.
const dpi = 192

// Chart is a figure. Its methods may be called from any goroutine, but Plot must not be changed while one of them runs.
type Chart struct {
	Plot *plot.Plot // themed; add to it what the constructors do not offer

	options Options
	keys    []key
	alt     string
	mu      sync.Mutex // plot.Draw settles the axes' ranges in place
}

// newChart checks the options; where names the constructor in errors.
func newChart(where string, o Options) (*Chart, error) {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	if o.Height == 0 {
		o.Height = defaultHeight
	}
	if !(o.Width >= minWidth && o.Width <= maxSize && o.Height >= minHeight && o.Height <= maxSize) {
		return nil, fmt.Errorf("%s: a size of %g × %g: width goes from %d to %d and height from %d to %d CSS pixels",
			where, o.Width, o.Height, minWidth, maxSize, minHeight, maxSize)
	}
	c := &Chart{Plot: plot.New(), options: o}
	theme(c.Plot)
	c.Plot.BackgroundColor = nil // the frame paints it
	c.Plot.X.Label.Text, c.Plot.Y.Label.Text = o.XLabel, o.YLabel
	return c, nil
}

// size is the chart's in points.
func (c *Chart) size() (w, h vg.Length) { return points(c.options.Width), points(c.options.Height) }

// PNG draws the chart at two pixels for each CSS pixel. A letter that the font lacks is a box, and a line below the chart says so where there is
// room for one.
func (c *Chart) PNG() ([]byte, error) {
	raw, _, err := c.png()
	return raw, err
}

// png draws the chart and tells which letters the font lacks. Only who has drawn it knows that, so a chart that lacks some is drawn again, with
// as much of a note as it has room for: without one it still shows itself, and its words and the SVG beside it tell.
func (c *Chart) png() (raw []byte, lacking map[rune]bool, err error) {
	canvas, lacking, err := c.picture(c.options)
	if err != nil {
		return nil, nil, err
	}
	if len(lacking) > 0 {
		if canvas, err = c.noted(lacking); err != nil {
			return nil, nil, err
		}
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, nil, fmt.Errorf("chart: encode PNG: %w", err)
	}
	return b.Bytes(), lacking, nil
}

// noted draws the chart with the longest note of what it lacks that leaves room for the plot.
func (c *Chart) noted(lacking map[rune]bool) (canvas vgimg.PngCanvas, err error) {
	for _, note := range notes(lacking) {
		o := c.options
		o.Caption = strings.TrimSpace(o.Caption + "\n" + note)
		if canvas, _, err = c.picture(o); !errors.Is(err, errNoRoom) {
			break
		}
	}
	return canvas, err
}

func (c *Chart) picture(o Options) (canvas vgimg.PngCanvas, lacking map[rune]bool, err error) {
	w, h := c.size()
	canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi))}
	lacking = map[rune]bool{}
	return canvas, lacking, c.draw(draw.New(letters{canvas, lacking}), o)
}

// SVG draws the chart as SVG. The text stays text, in Liberation Sans or the reader's own sans serif: embedded fonts
// would make it a megabyte.
func (c *Chart) SVG() ([]byte, error) {
	canvas := vgsvg.New(c.size())
	if err := c.draw(draw.New(directed{canvas}), c.options); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("chart: encode SVG: %w", err)
	}
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif")), nil
}

// Save writes the chart to a file; the name ends in .png or .svg. Folders are made as needed.
func (c *Chart) Save(path string) error {
	encode := c.PNG
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png":
	case ".svg":
		encode = c.SVG
	default:
		return fmt.Errorf("save chart to %s: the name must end in .png or .svg", path)
	}
	raw, err := encode()
	if err != nil {
		return fmt.Errorf("save chart to %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("save chart: %w", err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return fmt.Errorf("save chart: %w", err)
	}
	return nil
}

// String is the chart in words: title, subtitle, what is seen, caption.
func (c *Chart) String() string {
	alt := c.options.Alt
	if alt == "" {
		alt = c.alt
	}
	var lines []string
	for _, line := range []string{c.options.Title, c.options.Subtitle, alt, c.options.Caption} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// MIMEBundle is the chart as image/png and, in words, as text/plain; as image/svg+xml too where the PNG's font lacks letters.
func (c *Chart) MIMEBundle() map[string]any {
	raw, lacking, err := c.png()
	if err != nil {
		return map[string]any{"text/plain": c.String() + "\n" + err.Error()}
	}
	bundle := map[string]any{"image/png": raw, "text/plain": c.String()}
	if len(lacking) == 0 {
		return bundle
	}
	bundle["text/plain"] = c.String() + "\n" + lackingWords(lacking)
	if svg, err := c.SVG(); err == nil {
		bundle["image/svg+xml"] = svg
	}
	return bundle
}

// MIMEMetadata tells the width of the PNG on the page in CSS pixels, half of the pixels that it has.
func (c *Chart) MIMEMetadata() map[string]any {
	return map[string]any{"image/png": map[string]any{"width": int(c.options.Width)}}
}

var errNoRoom = errors.New("chart: no room is left beside the words: ask for more width or height, or write less")

// draw paints the whole figure. gonum/plot panics on what it cannot draw (a range of infinities that a caller's own
// plotter brings, say): that is an error here.
func (c *Chart) draw(canvas draw.Canvas, o Options) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("chart: draw: %v", p)
		}
	}()
	inner := drawFrame(canvas, o, c.keys)
	if s := inner.Size(); s.X < 40 || s.Y < 30 {
		return errNoRoom
	}
	defer keepRanges(&c.Plot.X, &c.Plot.Y)()
	c.Plot.Draw(inner)
	return nil
}

// keepRanges gives axes back the ranges that they have now: a pitch widens them for the room of one drawing, and the next may have other room.
func keepRanges(axes ...*plot.Axis) (restore func()) {
	var restores []func()
	for _, a := range axes {
		least, most := a.Min, a.Max
		restores = append(restores, func() { a.Min, a.Max = least, most })
	}
	return func() {
		for _, restore := range restores {
			restore()
		}
	}
}
