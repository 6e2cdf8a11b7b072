package chart

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// line is a text of an SVG: where it begins and ends, and the height of its base.
type line struct {
	text     string
	from, to float64
	y        string
}

var textElement = regexp.MustCompile(`<text x="([-\d.]+)" y="([-\d.]+)"[^>]*font-size:([\d.]+)px[^>]*>([^<]*)</text>`)

// linesOf reads an SVG's texts, with letters of Chinese, Japanese and Korean as wide as high, as a reader's font has them.
func linesOf(t *testing.T, c *Chart) []line {
	t.Helper()
	svg, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	for _, m := range textElement.FindAllStringSubmatch(string(svg), -1) {
		x, _ := strconv.ParseFloat(m[1], 64)
		size, _ := strconv.ParseFloat(m[3], 64)
		text := html.UnescapeString(m[4])
		face := font.DefaultCache.Lookup(sans(vg.Length(size)), vg.Length(size))
		width := 0.0
		for _, r := range text {
			if r >= 0x2E80 {
				width += size
			} else {
				width += float64(face.Width(string(r)))
			}
		}
		lines = append(lines, line{text, x, x + width, m[2]})
	}
	return lines
}

// TestWideLettersFit: in an SVG no text runs off the figure, and none into the next, whatever letters it has.
func TestWideLettersFit(t *testing.T) {
	clubs := []string{"東京ヴェルディ", "川崎フロンターレ", "横浜F・マリノス", "鹿島アントラーズ", "浦和レッズ", "FC町田ゼルビア", "名古屋グランパス", "サンフレッチェ広島"}
	long := strings.Repeat("今シーズンの得点", 6)
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	for name, made := range map[string]func() (*Chart, error){
		"title": func() (*Chart, error) {
			return Line(nil, values, Options{Title: long, Subtitle: long + " " + long, Caption: long})
		},
		"bars":       func() (*Chart, error) { return Bar(clubs, values, Options{}) },
		"keys":       func() (*Chart, error) { return Lines(series(clubs, values), Options{}) },
		"importance": func() (*Chart, error) { return Importance(clubs, values, Options{}) },
		"matrix": func() (*Chart, error) {
			all := make([][]float64, len(clubs))
			for i := range all {
				all[i] = values
			}
			return Matrix(all, clubs, clubs, Options{YLabel: "y"})
		},
		"confusion": func() (*Chart, error) { return Confusion([][]int{{1, 2}, {3, 4}}, clubs[:2], Options{Width: 240}) },
		"Korean": func() (*Chart, error) {
			return Bar([]string{strings.Repeat("서울", 30), "b"}, values[:2], Options{Title: long})
		},
	} {
		c, err := made()
		if err != nil {
			t.Fatal(err)
		}
		all, wide := linesOf(t, c), 0
		for i, a := range all {
			if strings.ContainsFunc(a.text, func(r rune) bool { return r >= 0x2E80 }) {
				wide++
			}
			if a.from < 0 || a.to > float64(points(c.options.Width)) {
				t.Errorf("%s: %q goes from %.1f to %.1f points", name, a.text, a.from, a.to)
			}
			for _, b := range all[:i] {
				if a.y == b.y && a.from < b.to && b.from < a.to {
					t.Errorf("%s: %q ends at %.1f, and %q begins at %.1f", name, b.text, b.to, a.text, a.from)
				}
			}
		}
		if wide == 0 {
			t.Errorf("%s: the SVG has no such letters", name)
		}
	}
}

func series(names []string, y []float64) []Series {
	all := make([]Series, len(names))
	for i, name := range names {
		all[i] = Series{Name: name, Y: y}
	}
	return all
}

// TestWideLabelsAreCentred: a label stands below the middle of its bar, in the SVG and as boxes.
func TestWideLabelsAreCentred(t *testing.T) {
	c, err := Bar([]string{"東京"}, []float64{1}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := picture(t, c)
	bar := bounds(m, blue())
	middle := float64(bar.Min.X+bar.Max.X) / 2
	for _, each := range linesOf(t, c) {
		if got := (each.from + each.to) / 2 * dpi / 72; each.text == "東京" && (got < middle-3 || got > middle+3) {
			t.Errorf("the label's middle is at %.1f, the bar's at %.1f", got, middle)
		}
	}
	below := bar
	below.Min.Y, below.Max.Y = bar.Max.Y+6, bar.Max.Y+40
	if got, _ := centre(t, m.SubImage(below), func(r, g, b int) bool { return r < 200 && g < 200 && b < 200 }); got < middle-3 || got > middle+3 {
		t.Errorf("the boxes' middle is at %.1f, the bar's at %.1f", got, middle)
	}
}

// TestSmallFiguresShowBoxes: a figure without room for the note has a shorter one or none, and its SVG beside it.
func TestSmallFiguresShowBoxes(t *testing.T) {
	for _, size := range [][2]float64{{200, 140}, {200, 120}, {240, 120}, {640, 120}} {
		c, err := Bar([]string{"東京", "b"}, []float64{1, 2}, Options{Width: size[0], Height: size[1], Title: "title"})
		if err != nil {
			t.Fatal(err)
		}
		bundle := c.MIMEBundle()
		if bundle["image/png"] == nil || bundle["image/svg+xml"] == nil || !strings.Contains(bundle["text/plain"].(string), "lacks 京 東") {
			t.Errorf("%v × %v: PNG %v, SVG %v, words %q", size[0], size[1], bundle["image/png"] != nil, bundle["image/svg+xml"] != nil, bundle["text/plain"])
		}
	}
}
