package chart

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/bidi"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// visual puts a line of text into the order in which a picture has it from left to right: gonum/plot draws letters as they come. The first
// letter with a direction gives the line's, as in the Unicode Bidirectional Algorithm (UAX #9, P2).
func visual(line string) string {
	if !strings.ContainsFunc(line, rightToLeft) {
		return line
	}
	var p bidi.Paragraph
	fromRight := startsRight(line)
	if _, err := p.SetString(paired(line, fromRight)); err != nil { // never without options
		return line
	}
	order, err := p.Order()
	if err != nil {
		return line
	}
	pieces := piecesOf(order, fromRight)
	for from := 0; from < len(pieces); {
		to := from + 1
		for to < len(pieces) && (fromRight || pieces[from].inside && pieces[to].inside) {
			to++
		}
		slices.Reverse(pieces[from:to])
		from = to
	}
	var b strings.Builder
	for _, each := range pieces {
		b.WriteString(each.text)
	}
	return strings.Map(visible, b.String())
}

// piece is a part of a line in one direction, its letters in the order in which they are drawn.
type piece struct {
	text   string
	inside bool // of text from right to left, where pieces stand the other way round: that text, or a number in it
}

// piecesOf returns the parts of a line in the order in which they are read. The library has them so, and does not tell a number inside of text
// from right to left from what comes after it.
func piecesOf(order bidi.Ordering, fromRight bool) []piece {
	var pieces []piece
	for i := range order.NumRuns() {
		run := order.Run(i)
		text := run.String()
		if run.Direction() == bidi.RightToLeft {
			pieces = append(pieces, piece{strings.Map(mirrored, bidi.ReverseString(text)), true})
			continue
		}
		number := 0
		if i > 0 && !fromRight { // there it is in one piece with letters behind it
			number = numberEnd(text)
		}
		if number > 0 {
			pieces = append(pieces, piece{text[:number], true})
		}
		if number < len(text) {
			pieces = append(pieces, piece{text[number:], false})
		}
	}
	return pieces
}

// numberEnd returns where a number ends that text begins with, signs of currency and per cent included; 0 is no number.
func numberEnd(text string) int {
	end, digits := 0, false
	for i, r := range text {
		properties, size := bidi.LookupRune(r)
		switch properties.Class() {
		case bidi.EN, bidi.AN:
			end, digits = i+size, true
		case bidi.ET:
			end = i + size
		case bidi.ES, bidi.CS, bidi.BN, bidi.NSM: // part of it if a digit follows
		default:
			if !digits {
				return 0
			}
			return end
		}
	}
	if !digits {
		return 0
	}
	return end
}

// Marks that have a direction and no shape.
const leftMark, rightMark = '\u200e', '\u200f'

// visible leaves marks out.
func visible(r rune) rune {
	if r == leftMark || r == rightMark {
		return -1
	}
	return r
}

// paired gives both brackets of a pair one direction, by marks around each (UAX #9, N0): the line's if the pair has such letters in it, else that
// of the letters in it if those before it have it too. The library takes a bracket for any sign between letters, so that one of two could turn.
func paired(line string, fromRight bool) string {
	runes := []rune(line)
	marks, around := directions(runes, fromRight), make([]rune, len(runes))
	base := rune(leftMark)
	if fromRight {
		base = rightMark
	}
	for _, pair := range brackets(runes) {
		inside := slices.DeleteFunc(slices.Clone(marks[pair[0]+1:pair[1]]), func(mark rune) bool { return mark == 0 })
		if len(inside) == 0 {
			continue
		}
		mark := base
		if !slices.Contains(inside, base) && before(marks[:pair[0]], base) != base {
			mark = inside[0]
		}
		for _, i := range pair {
			marks[i], around[i] = mark, mark
		}
	}
	var b strings.Builder
	for i, r := range runes {
		if around[i] == 0 {
			b.WriteRune(r)
			continue
		}
		b.WriteString(string([]rune{around[i], r, around[i]}))
	}
	return b.String()
}

// directions returns the mark of each letter's direction, 0 of what has none. A number goes with the letters before it.
func directions(runes []rune, fromRight bool) []rune {
	marks, last := make([]rune, len(runes)), rune(leftMark)
	if fromRight {
		last = rightMark
	}
	for i, r := range runes {
		switch properties, _ := bidi.LookupRune(r); properties.Class() {
		case bidi.L:
			marks[i], last = leftMark, leftMark
		case bidi.R, bidi.AL:
			marks[i], last = rightMark, rightMark
		case bidi.EN:
			marks[i] = last
		case bidi.AN:
			marks[i] = rightMark
		}
	}
	return marks
}

// before returns the last mark, or the line's where there is none.
func before(marks []rune, base rune) rune {
	for _, mark := range slices.Backward(marks) {
		if mark != 0 {
			return mark
		}
	}
	return base
}

// brackets returns where pairs of brackets open and close, in the order in which they open.
func brackets(runes []rune) [][2]int {
	var open []int
	var pairs [][2]int
	for i, r := range runes {
		properties, _ := bidi.LookupRune(r)
		if properties.IsOpeningBracket() {
			open = append(open, i)
			continue
		}
		if !properties.IsBracket() {
			continue
		}
		for k, at := range slices.Backward(open) {
			if bidi.ReverseString(string(runes[at])) == string(r) {
				pairs, open = append(pairs, [2]int{at, i}), open[:k]
				break
			}
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return a[0] - b[0] })
	return pairs
}

// mirrored turns what opens to the left into what opens to the right; the library has done so with brackets.
func mirrored(r rune) rune {
	const pairs = "<>«»‹›≤≥"
	all := []rune(pairs)
	if i := slices.Index(all, r); i >= 0 {
		return all[i^1]
	}
	return r
}

// rightToLeft tells the letters that are written from right to left, and what makes others so.
func rightToLeft(r rune) bool {
	properties, _ := bidi.LookupRune(r)
	switch properties.Class() {
	case bidi.R, bidi.AL, bidi.AN, bidi.RLO, bidi.RLE, bidi.RLI:
		return true
	}
	return false
}

// startsRight tells whether a line begins at the right.
func startsRight(line string) bool {
	for _, r := range line {
		switch properties, _ := bidi.LookupRune(r); properties.Class() {
		case bidi.L:
			return false
		case bidi.R, bidi.AL:
			return true
		}
	}
	return false
}

// directed is a canvas of a format whose readers order letters themselves. They take each text for one that begins at the left: a text that
// begins at the right is marked as such (right-to-left isolate).
type directed struct{ vg.CanvasSizer }

// FillString implements vg.Canvas.
func (d directed) FillString(f font.Face, at vg.Point, text string) {
	if startsRight(text) {
		text = "\u2067" + text + "\u2069"
	}
	d.CanvasSizer.FillString(f, at, text)
}
