package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
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

// FillString implements vg.Canvas.
func (l letters) FillString(f font.Face, at vg.Point, text string) {
	l.CanvasSizer.FillString(f, at, strings.Map(func(r rune) rune { return l.drawable(f, r) }, visual(text)))
}

// drawable is what is drawn for a letter: itself, a box, or nothing for what has no shape of its own.
func (l letters) drawable(f font.Face, r rune) rune {
	if unicode.Is(unicode.Mn, r) && unicode.Is(unicode.Hebrew, r) { // the font has vowel points, and cannot tell where below a letter they belong
		l.lacking[r] = true
		return -1
	}
	var buffer sfnt.Buffer
	if glyph, err := f.Face.GlyphIndex(&buffer, r); err == nil && glyph != 0 || unicode.IsSpace(r) {
		return r
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) { // accents, variation selectors and joiners belong to the letter before
		return -1
	}
	l.lacking[r] = true
	return box
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
