package chart

import (
	"bytes"
	"strings"
	"testing"
)

// TestLetters: no letter vanishes from a figure without a word.
func TestLetters(t *testing.T) {
	for _, test := range []struct {
		name, label, title string
		lacking            string // "" is none
	}{
		{"Latin", "Łódź", "şğı é ﬁ", ""},
		{"Greek, Cyrillic and Hebrew", "Αθήνα Москва", "אבג", ""},
		{"Japanese", "東京", "京都サンガ", "ガ サ ン 京 東 都"},
		{"emoji", "⚽", "red 🟥", "⚽ 🟥"},
		{"selectors and joiners", "⚽\ufe0f", "a\u200db", "⚽"},
		{"Arabic", "كرة", "x", "ة ر ك"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Bar([]string{test.label, "b"}, []float64{1, 2}, Options{Title: test.title, Caption: "source"})
			if err != nil {
				t.Fatal(err)
			}
			bundle := c.MIMEBundle()
			text, svg := bundle["text/plain"].(string), bundle["image/svg+xml"]
			if test.lacking == "" {
				if strings.Contains(text, "lacks") || svg != nil {
					t.Errorf("all letters are there, and it says %q", text)
				}
				return
			}
			if want := "note: the font of PNG pictures lacks " + test.lacking + "; "; !strings.Contains(text, want) {
				t.Errorf("got %q, want %q", text, want)
			}
			raw, ok := svg.([]byte)
			if !ok || !bytes.Contains(raw, []byte(test.title)) || !bytes.Contains(raw, []byte(test.label)) {
				t.Errorf("the SVG has not the words")
			}
		})
	}
}

// TestLettersInPictures: where a letter is missing, something is drawn in its place.
func TestLettersInPictures(t *testing.T) {
	dark := func(label string) int {
		c, err := Bar([]string{label, "b"}, []float64{1, 2}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		img, n := picture(t, c), 0
		for i := 0; i < len(img.Pix); i += 4 {
			if img.Pix[i] < 160 && img.Pix[i+2] < 160 {
				n++
			}
		}
		return n
	}
	if none, some := dark(" "), dark("東京"); some < none+50 {
		t.Errorf("%d dark pixels with a label that the font lacks, %d without a label", some, none)
	}
}
