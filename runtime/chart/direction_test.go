package chart

import (
	"bytes"
	"image"
	"testing"
)

// TestVisual: lines are drawn in the order that browsers give them. The wanted ones are UAX #9's, letter by letter from the left; of 20,000 lines
// of random letters, digits, brackets and signs, python-bidi 0.6 had all but nine so.
func TestVisual(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"Latin", "Real (2:1) <3", "Real (2:1) <3"},
		{"nothing", "", ""},
		{"a word", "אל", "לא"},
		{"two words", "אב גד", "דג בא"},
		{"a number behind", "אבג 123", "123 גבא"},
		{"a number between", "אב 12 גד", "דג 12 בא"},
		{"a score", "אב 2:1", "2:1 בא"},
		{"an end", "אבג!", "!גבא"},
		{"cut", "אבג…", "…גבא"},
		{"brackets", "אב (גד)", "(דג) בא"},
		{"a number with letters", "אב 2nd", "2nd בא"},
		{"a number with letters, in Latin", "FC אב 2nd", "FC 2 \u05d1\u05d0nd"},
		{"a score in brackets", "אב (2:1)", "(2:1) בא"},
		{"a score in brackets, in Latin", "FC אב (2:1)", "FC (2:1) בא"},
		{"Hebrew in brackets, in Latin", "FC (אב) x", "FC (בא) x"},
		{"Hebrew in brackets, behind Hebrew", "FC אב (גד)", "FC (דג) בא"},
		{"both in brackets", "FC אב (x גד) הו", "FC בא (x דג) וה"},
		{"brackets in brackets", "FC אב [גד (2)]", "FC [(2) דג] בא"},
		{"Latin in brackets, in Hebrew", "אב (FC) גד", "דג (FC) בא"},
		{"one bracket", "FC אב)", "FC בא)"},
		{"mirrored", "א<ב", "ב>א"},
		{"Latin in Hebrew", "אב abc גד", "דג abc בא"},
		{"Hebrew in Latin", "xG אבג end", "xG גבא end"},
		{"and a number", "xG אבג 12 end", "xG 12 גבא end"},
		{"and a number with a sign", "xG אב 50% end", "xG 50% בא end"},
		{"and a number and Hebrew", "xG אב 12 גד end", "xG דג 12 בא end"},
		{"and Latin between", "xG אב of גד end", "xG בא of דג end"},
		{"a number before", "12 אב", "בא 12"},
		{"a number before in Latin", "xG 12 אב", "xG 12 בא"},
		{"Arabic", "كرة", "ةرك"},
	} {
		if got := visual(c.line); got != c.want {
			t.Errorf("%s: %q is drawn as %q, want %q", c.name, c.line, got, c.want)
		}
	}
}

// TestRightToLeftInPictures: the tall letter of אל is the second one, so it stands at the left.
func TestRightToLeftInPictures(t *testing.T) {
	for _, c := range []struct {
		label string
		left  bool // where the tall letter stands
	}{{"אל", true}, {"לא", false}} {
		chart, err := Line(nil, []float64{1, 2}, Options{Title: c.label})
		if err != nil {
			t.Fatal(err)
		}
		m := picture(t, chart)
		title := bounds(m.SubImage(image.Rect(0, 0, m.Bounds().Max.X, 72)), ink())
		half := title
		half.Max.X = (title.Min.X + title.Max.X) / 2
		left := bounds(m.SubImage(half), ink())
		if got := left.Min.Y == title.Min.Y; got != c.left || title.Empty() {
			t.Errorf("%s: the tall letter is left: %v, want %v", c.label, got, c.left)
		}
	}
}

// TestReadersOrderLetters: an SVG keeps the letters as they are read, and says where a line begins at the right.
func TestReadersOrderLetters(t *testing.T) {
	c, err := Bar([]string{"אל 12", "xG אל"}, []float64{1, 2}, Options{Title: "title"})
	if err != nil {
		t.Fatal(err)
	}
	svg, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\u2067אל 12\u2069", ">xG אל<", ">title<"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("the SVG lacks %q", want)
		}
	}
}

// TestVowelPoints: a picture leaves them out, says so, and has the SVG beside it.
func TestVowelPoints(t *testing.T) {
	c, err := Bar([]string{"שָׁלוֹם", "b"}, []float64{1, 2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, lacking, err := c.png()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := lackingNote(lacking), "vowel points are left out of this picture; the SVG has them"; got != want {
		t.Errorf("got the note %q, want %q", got, want)
	}
	if bundle := c.MIMEBundle(); bundle["image/svg+xml"] == nil {
		t.Errorf("there is no SVG beside %q", bundle["text/plain"])
	}
}
