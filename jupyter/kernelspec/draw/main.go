// Command draw makes the kernel's logos: a football pitch seen from above with the ball on the spot, as logo-svg.svg and,
// for front ends that show no SVG, as PNG of 64 and 32 pixels. Both come from one list of shapes. It ends at these files.
//
//	go run ./jupyter/kernelspec/draw
package main

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// side is the width and height of the drawing in its own units.
const side = 64

// shape is a rounded rectangle: X, Y is its centre, W, H its size, R the radius of its corners. A circle is one whose
// corners meet. Line 0 fills it, otherwise its edge is drawn with a line of that width, half on each side.
type shape struct {
	x, y, w, h, r float64
	line          float64
	paint         color.NRGBA
}

func shapes() []shape {
	grass, mown := color.NRGBA{0x16, 0x7a, 0x47, 0xff}, color.NRGBA{0x1e, 0x90, 0x56, 0xff}
	chalk, ball := color.NRGBA{0xff, 0xff, 0xff, 0xff}, color.NRGBA{0xff, 0xc8, 0x2c, 0xff}
	return []shape{
		{32, 32, 62, 62, 13, 0, grass},
		{20, 32, 12, 62, 0, 0, mown},
		{44, 32, 12, 62, 0, 0, mown},
		{32, 32, 50, 38, 1.5, 3, chalk},   // touchlines and goal lines
		{32, 32, 3, 38, 0, 0, chalk},      // halfway line
		{32, 32, 18, 18, 9, 3, chalk},     // centre circle
		{11.5, 32, 9, 18, 1, 3, chalk},    // penalty areas
		{52.5, 32, 9, 18, 1, 3, chalk},    //
		{32, 32, 9.5, 9.5, 4.75, 0, ball}, // the ball
	}
}

// distance is how far a point lies outside the shape's edge, negative inside.
func (s shape) distance(x, y float64) float64 {
	dx, dy := math.Abs(x-s.x)-s.w/2+s.r, math.Abs(y-s.y)-s.h/2+s.r
	return math.Hypot(max(dx, 0), max(dy, 0)) + min(max(dx, dy), 0) - s.r
}

func (s shape) covers(x, y float64) bool {
	d := s.distance(x, y)
	if s.line > 0 {
		return math.Abs(d) <= s.line/2
	}
	return d <= 0
}

func (s shape) svg() string {
	box := fmt.Sprintf(`<rect x="%g" y="%g" width="%g" height="%g" rx="%g"`, s.x-s.w/2, s.y-s.h/2, s.w, s.h, s.r)
	paint := fmt.Sprintf("#%02x%02x%02x", s.paint.R, s.paint.G, s.paint.B)
	if s.line > 0 {
		return fmt.Sprintf(`%s fill="none" stroke="%s" stroke-width="%g"/>`, box, paint, s.line)
	}
	return fmt.Sprintf(`%s fill="%s"/>`, box, paint)
}

func drawSVG() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">`+"\n", side, side)
	b.WriteString("<title>Cancha</title>\n")
	for _, s := range shapes() {
		b.WriteString(s.svg() + "\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// drawPNG draws n by n pixels, each the mean of samples by samples points.
func drawPNG(n int) ([]byte, error) {
	const samples = 16
	img := image.NewNRGBA(image.Rect(0, 0, n, n))
	scale := side / float64(n)
	for i := range n {
		for j := range n {
			var sum [3]float64
			covered := 0.0
			for k := range samples * samples {
				x := (float64(j) + (float64(k%samples)+0.5)/samples) * scale
				y := (float64(i) + (float64(k/samples)+0.5)/samples) * scale
				if c, ok := at(x, y); ok {
					sum[0], sum[1], sum[2] = sum[0]+float64(c.R), sum[1]+float64(c.G), sum[2]+float64(c.B)
					covered++
				}
			}
			if covered > 0 {
				img.SetNRGBA(j, i, color.NRGBA{
					uint8(sum[0]/covered + 0.5), uint8(sum[1]/covered + 0.5), uint8(sum[2]/covered + 0.5),
					uint8(255*covered/(samples*samples) + 0.5),
				})
			}
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}

// at returns the paint of the topmost shape at a point.
func at(x, y float64) (c color.NRGBA, ok bool) {
	for _, s := range shapes() {
		if s.covers(x, y) {
			c, ok = s.paint, true
		}
	}
	return c, ok
}

func logos() (map[string][]byte, error) {
	files := map[string][]byte{"logo-svg.svg": drawSVG()}
	for _, n := range []int{64, 32} {
		data, err := drawPNG(n)
		if err != nil {
			return nil, fmt.Errorf("draw %d pixels: %w", n, err)
		}
		files[fmt.Sprintf("logo-%dx%d.png", n, n)] = data
	}
	return files, nil
}

func main() {
	out := flag.String("out", "jupyter/kernelspec/logos", "folder to write to")
	flag.Parse()
	files, err := logos()
	for name, data := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(*out, name), data, 0o666)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
}
