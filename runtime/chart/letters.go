package chart

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// box stands in a picture for a letter that the font lacks. Liberation Sans has Latin, Greek, Cyrillic and the letters of Hebrew; of Chinese,
// Japanese, Korean, Arabic and emoji it would draw nothing at all. An SVG keeps the text, and its reader has other fonts.
const box = '□'

// letters is a canvas that writes letters from right to left where they are read so, and a box for each letter that the font lacks, which it
// notes.
type letters struct {
	vg.CanvasSizer
	lacking map[rune]bool
}

// FillString implements vg.Canvas. A box stands in the middle of the room that its letter has in an SVG.
func (l letters) FillString(f font.Face, at vg.Point, text string) {
	em, side := f.Font.Size, (f.Font.Size-f.Width(string(box)))/2
	var there []rune
	write := func() {
		l.CanvasSizer.FillString(f, at, string(there))
		at.X += f.Width(string(there))
		there = there[:0]
	}
	for _, r := range visual(text) {
		shape, lacking := shapeOf(f, r)
		if lacking {
			l.lacking[r] = true
		}
		switch {
		case shape < 0:
		case lacking:
			write()
			l.CanvasSizer.FillString(f, vg.Point{X: at.X + side, Y: at.Y}, string(shape))
			at.X += em
		default:
			there = append(there, shape)
		}
	}
	write()
}

// shapeOf is what is drawn for a letter: itself, a box, or -1 for nothing, and whether the picture lacks the letter so.
func shapeOf(f font.Face, r rune) (shape rune, lacking bool) {
	if r >= ' ' && r <= '~' {
		return r, false
	}
	if unicode.Is(unicode.Mn, r) && unicode.Is(unicode.Hebrew, r) { // the font has vowel points, and cannot tell where below a letter they belong
		return -1, true
	}
	var buffer sfnt.Buffer
	if glyph, err := f.Face.GlyphIndex(&buffer, r); err == nil && glyph != 0 || unicode.IsSpace(r) {
		return r, false
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) { // accents, variation selectors and joiners belong to the letter before
		return -1, false
	}
	return box, true
}

// measured lays text out with a letter that the font lacks as wide as the font is high: Chinese, Japanese and Korean letters are so in every font
// that has them. The font itself would give the width of nothing, and an SVG's lines would end outside of it.
type measured struct{ text.Plain }

// handler lays out a chart's text. One that a program has set for all plots stays.
func handler() text.Handler {
	if plain, ok := plot.DefaultTextHandler.(text.Plain); ok {
		return measured{plain}
	}
	return plot.DefaultTextHandler
}

// Box implements text.Handler.
func (m measured) Box(line string, f font.Font) (width, height, depth vg.Length) {
	face := m.Fonts.Lookup(f, f.Size)
	there, ems := make([]rune, 0, len(line)), 0
	for _, r := range line {
		switch shape, lacking := shapeOf(face, r); {
		case shape < 0:
		case lacking:
			ems++
		default:
			there = append(there, shape)
		}
	}
	_, height, depth = m.Plain.Box(line, f)
	return face.Width(string(there)) + vg.Length(ems)*f.Size, height, depth
}

// Draw implements text.Handler. Plain aligns lines by the font's own width, so each is drawn from where it begins.
func (m measured) Draw(c vg.Canvas, txt string, st text.Style, at vg.Point) {
	face := m.Fonts.Lookup(st.Font, st.Font.Size)
	other := func(r rune) bool { shape, _ := shapeOf(face, r); return shape != r }
	if !strings.ContainsFunc(txt, other) {
		m.Plain.Draw(c, txt, st, at)
		return
	}
	sin, cos := math.Sincos(st.Rotation)
	lines, top := m.Lines(txt), st.Height(txt)*vg.Length(st.YAlign)
	for i, line := range lines {
		width, _, _ := m.Box(line, st.Font)
		x, y := width*vg.Length(st.XAlign), top+st.Font.Size*vg.Length(len(lines)-1-i)
		one := st
		one.XAlign, one.YAlign = text.XLeft, text.YBottom
		m.Plain.Draw(c, line, one, at.Add(vg.Point{X: x*vg.Length(cos) - y*vg.Length(sin), Y: x*vg.Length(sin) + y*vg.Length(cos)}))
	}
}

// notes are what a picture says of its boxes, the longest first, for one that has no room for more; the last is none.
func notes(lacking map[rune]bool) []string {
	return []string{lackingNote(lacking), string(box) + ": see the SVG", ""}
}

// lackingNote tells in a picture what its boxes are.
func lackingNote(lacking map[rune]bool) string {
	n := 0
	for r := range lacking {
		if !unicode.Is(unicode.Mn, r) {
			n++
		}
	}
	if n == 0 {
		return "vowel points are left out of this picture; the SVG has them"
	}
	what := "a character that this picture's font lacks; the SVG has it"
	if n > 1 {
		what = fmt.Sprintf("%d characters that this picture's font lacks; the SVG has them", n)
	}
	return string(box) + " stands for " + what
}

// lackingWords tells it where the letters can be read.
func lackingWords(lacking map[rune]bool) string {
	list := slices.Sorted(maps.Keys(lacking))
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = string(r)
	}
	return "note: the font of PNG pictures lacks " + strings.Join(words, " ") + "; Save to a .svg keeps them"
}
