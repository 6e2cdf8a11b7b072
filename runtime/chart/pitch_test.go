package chart

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// centre is the middle of the pixels of which like is true.
func centre(t *testing.T, m image.Image, like func(r, g, b int) bool) (x, y float64) {
	t.Helper()
	n := 0.0
	for py := m.Bounds().Min.Y; py < m.Bounds().Max.Y; py++ {
		for px := m.Bounds().Min.X; px < m.Bounds().Max.X; px++ {
			r, g, b, _ := m.At(px, py).RGBA()
			if like(int(r>>8), int(g>>8), int(b>>8)) {
				x, y, n = x+float64(px), y+float64(py), n+1
			}
		}
	}
	if n == 0 {
		t.Fatal("nothing of that colour was drawn")
	}
	return x / n, y / n
}

// TestPitchCoordinates: what is added to the plot lands where the pitch has the same place, at any size of the figure.
func TestPitchCoordinates(t *testing.T) {
	for _, test := range []struct {
		name string
		x, y float64
		o    Options
		far  float64 // something else that is added, off the pitch
	}{
		{"as it comes", 100, 20, Options{}, 0},
		{"lower left", 10, 70, Options{}, 0},
		{"in a corner", 0, 0, Options{Title: "Title", Caption: "caption"}, 0},
		{"too high", 60, 20, Options{Width: 300, Height: 900}, 0},
		{"too wide", 110, 60, Options{Width: 1200, Height: 300}, 0},
		{"beside something off the pitch", 100, 60, Options{}, 150},
	} {
		t.Run(test.name, func(t *testing.T) {
			shots := []Shot{{X: test.x, Y: test.y, XG: 1, Goal: true}}
			both := drawn(t, shots, test.o, func(c *Chart) {
				c.Plot.Add(dot(t, test.x, test.y, color.NRGBA{R: 255, A: 255}))
				if test.far != 0 {
					c.Plot.Add(dot(t, test.far, 40, color.Black))
				}
			})
			bx, by := centre(t, both, func(r, g, b int) bool { return isBlue(r, g, b) || isRed(r, g, b) })
			rx, ry := centre(t, both, isRed)
			if math.Hypot(bx-rx, by-ry) > 2 {
				t.Errorf("the shot is at pixel (%.1f, %.1f), what was added at its place at (%.1f, %.1f)", bx, by, rx, ry)
			}
		})
	}
}

// TestPitchStays: a pitch is the same however often it is drawn, also where a note below it leaves it less room.
func TestPitchStays(t *testing.T) {
	for _, title := range []string{"Title", "東京"} {
		t.Run(title, func(t *testing.T) {
			c, err := Pitch([]Shot{{X: 100, Y: 20, XG: 1}}, nil, Options{Title: title, Width: 900, Height: 400})
			if err != nil {
				t.Fatal(err)
			}
			svg, err := c.SVG()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := c.PNG(); err != nil {
					t.Fatal(err)
				}
			}
			again, err := c.SVG()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, svg) {
				t.Error("the pitch is another one after two PNGs")
			}
		})
	}
}

func dot(t *testing.T, x, y float64, c color.Color) *plotter.Scatter {
	t.Helper()
	s, err := plotter.NewScatter(plotter.XYs{{X: x, Y: y}})
	if err != nil {
		t.Fatal(err)
	}
	s.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 2, Shape: draw.CircleGlyph{}}
	return s
}

func isBlue(r, g, b int) bool { return b > 120 && r < 90 }
func isRed(r, g, b int) bool  { return r > 200 && g < 60 && b < 60 }

func drawn(t *testing.T, shots []Shot, o Options, change func(*Chart)) image.Image {
	t.Helper()
	c, err := Pitch(shots, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	c.keys = nil // they show the colours too
	change(c)
	if _, err := c.PNG(); err != nil { // drawn twice, as a figure that is shown and saved
		t.Fatal(err)
	}
	raw, err := c.PNG()
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
