package display

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"cancha/internal/cellio"
)

type point struct {
	X, Y int
	note string
}
type own struct{}

func (own) MIMEBundle() map[string]any {
	return map[string]any{"text/html": "<b>x</b>", "image/png": []byte{1, 2, 3}}
}
func (own) MIMEMetadata() map[string]any {
	return map[string]any{"image/png": map[string]any{"width": 7}}
}
func (own) String() string { return "own words" }

type bursting struct{}

func (bursting) MIMEBundle() map[string]any { panic("no paper") }

type burstingString struct{ n *int }

func (b burstingString) String() string { return fmt.Sprint(*b.n) }

type talker int

func (n talker) String() string { return strings.Repeat("w", int(n)) }

type minute int

func (m minute) String() string { return fmt.Sprintf("%d'", int(m)) }

func TestText(t *testing.T) {
	ring := []any{nil}
	ring[0] = ring
	var noPoint *point
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"int", 1 + 2 + 3, "6"},
		{"float", 0.1 * math.Sqrt(9), "0.30000000000000004"},
		{"large float", 1e6, "1e+06"},
		{"nan", math.NaN(), "NaN"},
		{"bool", true, "true"},
		{"complex", complex(1, -2), "(1-2i)"},
		{"string is quoted", "a\nb", `"a\nb"`},
		{"strings are quoted apart", []string{"a b", "c"}, `["a b" "c"]`},
		{"nil", nil, "<nil>"},
		{"ints", []int{1, 2}, "[1 2]"},
		{"struct", point{1, 2, "n"}, `{X:1 Y:2 note:"n"}`},
		{"pointer to struct", &point{1, 2, ""}, `&{X:1 Y:2 note:""}`},
		{"nil pointer", noPoint, "<nil>"},
		{"interpreter's fields", struct{ Xminute, XG int }{1, 2}, "{minute:1 XG:2}"},
		{"map in order", map[int]string{10: "b", 9: "a"}, `map[9:"a" 10:"b"]`},
		{"error", errors.New("no such match"), "error: no such match"},
		{"stringer", minute(45), "45'"},
		{"stringers inside", []minute{1, 2}, "[1' 2']"},
		{"error inside", []error{errors.New("x")}, "[x]"},
		{"text bytes", []byte("hi"), `[]byte("hi")`},
		{"binary bytes", []byte{0, 255}, "[]byte, 2 bytes: 00 ff"},
		{"nil bytes", []byte(nil), "[]byte(nil)"},
		{"pointer inside", []*point{nil}, "[<nil>]"},
		{"func", func(int) string { return "" }, "func(int) string"},
		{"ring ends", ring, "[[[[[[[[[…]]]]]]]]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Text(c.v); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestTextIsCut(t *testing.T) {
	numbers := make([]int, 1_000_000)
	table := map[int]string{}
	for i := range numbers {
		numbers[i] = i
	}
	for i := range 5000 {
		table[i] = "v"
	}
	rows := make([][]float64, 1000)
	for i := range rows {
		rows[i] = make([]float64, 1000)
	}
	for _, c := range []struct {
		name       string
		v          any
		head, tail string
	}{
		{"slice", numbers, "[0 1 2 3", "48 49 … (1,000,000 in all) … 999990 999991 999992 999993 999994 999995 999996 999997 999998 999999]"},
		{"array", [200]int{}, "[0 0", "… (200 in all) … 0 0 0 0 0 0 0 0 0 0]"},
		{"one more than is shown", numbers[:61], "[0 1", "58 59 60]"},
		{"map", table, "map[0:\"v\" 1:\"v\"", `… (5,000 in all) … 4990:"v" 4991:"v" 4992:"v" 4993:"v" 4994:"v" 4995:"v" 4996:"v" 4997:"v" 4998:"v" 4999:"v"]`},
		{"rows", rows, "[[0 0 0 0 0 0 0 0 0 0 … (1,000 in all) … 0 0 0] [0", "[0 0 0 0 0 0 0 0 0 0 … (1,000 in all) … 0 0 0]]"},
		{"struct", struct{ A, B []int }{numbers, nil}, "{A:[0 1 2", "(1,000,000 in all) … 999990 999991 999992 999993 999994 999995 999996 999997 999998 999999] B:[]}"},
		{"string", strings.Repeat("é", 65536), `"ééé`, `é"… (131,072 bytes in all) …"` + strings.Repeat("é", maxText/16) + `"`},
		{"strings", slices.Repeat([]string{strings.Repeat("a", 3000)}, 1000), `["aaa`, `aaa" … (1,000 in all)]`},
		{"own words", talker(100_000), "www", "www"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Text(c.v)
			if !strings.HasPrefix(got, c.head) || !strings.HasSuffix(got, c.tail) {
				t.Errorf("got %.100s … %s\nwant %s … %s", got, got[max(0, len(got)-200):], c.head, c.tail)
			}
			if len(got) > 10_000 {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
	if got := Text(burstingString{}); !strings.Contains(got, "panic in the String method of a display.burstingString") {
		t.Errorf("panicking String: %s", got)
	}
}

func TestOf(t *testing.T) {
	t.Run("own bundle", func(t *testing.T) {
		d := Of(own{})
		want := map[string]any{"text/html": "<b>x</b>", "image/png": "AQID", "text/plain": "own words"}
		if fmt.Sprint(d.Data) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", d.Data, want)
		}
		if got := d.Metadata["image/png"].(map[string]any)["width"]; got != 7 {
			t.Errorf("width: got %v, want 7", got)
		}
	})
	t.Run("panic is told", func(t *testing.T) {
		if got, want := Of(bursting{}).Data["text/plain"], "panic while showing a display.bursting: no paper"; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("what has no JSON form is told", func(t *testing.T) {
		d := Of(Bundle{Data: map[string]any{"application/json": math.NaN(), "text/plain": "x"}})
		if got := d.Data["text/plain"].(string); len(d.Data) != 1 || !strings.Contains(got, "NaN") {
			t.Errorf("got %v", d.Data)
		}
	})
	t.Run("metadata travels as an object", func(t *testing.T) {
		raw, err := json.Marshal(Of(1))
		if err != nil || string(raw) != `{"data":{"text/plain":"1"},"metadata":{},"transient":{}}` {
			t.Errorf("got %s, %v", raw, err)
		}
	})
}

func TestOfImage(t *testing.T) {
	for _, c := range []struct{ pixels, width int }{{28, 28}, {1280, 640}} {
		img := image.NewRGBA(image.Rect(0, 0, c.pixels, 20))
		img.Set(3, 4, color.RGBA{200, 10, 20, 255})
		d := Of(img)
		raw, err := base64.StdEncoding.DecodeString(d.Data["image/png"].(string))
		if err != nil {
			t.Fatal(err)
		}
		back, err := png.Decode(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if r, g, b, _ := back.At(3, 4).RGBA(); r>>8 != 200 || g>>8 != 10 || b>>8 != 20 || back.Bounds().Dx() != c.pixels {
			t.Errorf("%d pixels came back as %v with %d %d %d", c.pixels, back.Bounds(), r>>8, g>>8, b>>8)
		}
		if got := d.Metadata["image/png"].(map[string]any)["width"]; got != c.width {
			t.Errorf("%d pixels: width %v, want %d", c.pixels, got, c.width)
		}
	}
	if d := Of(image.NewRGBA(image.Rectangle{})); d.Data["image/png"] != nil || d.Data["text/plain"] == "" {
		t.Errorf("an empty image: got %v", d.Data)
	}
}

func TestMakers(t *testing.T) {
	for _, c := range []struct {
		name, mime, text string
		b                Bundle
	}{
		{"HTML", "text/html", "2 & 3", HTML("<p>2 <b>&amp;</b> 3</p>")},
		{"Markdown", "text/markdown", "**x**", Markdown("**x**")},
		{"Latex", "text/latex", "$x$", Latex("$x$")},
		{"JSON", "application/json", "{\n  \"a\": 1\n}", JSON(map[string]int{"a": 1})},
		{"PNG", "image/png", "PNG image, 3 bytes", PNG([]byte{1, 2, 3})},
		{"SVG", "image/svg+xml", "SVG drawing, 6 bytes", SVG("<svg/>")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Of(c.b)
			if d.Data[c.mime] == nil || d.Data["text/plain"] != c.text {
				t.Errorf("got %v, want %s and text %q", d.Data, c.mime, c.text)
			}
		})
	}
	if d := Of(JSON(math.Inf(1))); d.Data["application/json"] != nil || !strings.Contains(d.Data["text/plain"].(string), "+Inf") {
		t.Errorf("JSON of an infinity: got %v", d.Data)
	}
}

// attach makes a cell of the test and returns the frames it sends.
func attach(t *testing.T, renderers ...cellio.Renderer) *[]cellio.Frame {
	t.Helper()
	var frames []cellio.Frame
	cellio.Attach(cellio.NewOutlet(func(f cellio.Frame) error { frames = append(frames, f); return nil }), renderers...)
	t.Cleanup(func() { cellio.Attach(nil) })
	cellio.NewRun(3)
	return &frames
}

func TestFrames(t *testing.T) {
	frames := attach(t)
	Show(1, "a")
	ShowAs("k", 2)
	Update("k", 3)
	Clear(true)
	want := []string{
		`display 3 {"data":{"text/plain":"1"},"metadata":{},"transient":{}}`,
		`display 3 {"data":{"text/plain":"\"a\""},"metadata":{},"transient":{}}`,
		`display 3 {"data":{"text/plain":"2"},"metadata":{},"transient":{"display_id":"k"}}`,
		`update 3 {"data":{"text/plain":"3"},"metadata":{},"transient":{"display_id":"k"}}`,
		`clear 3 {"wait":true}`,
	}
	if len(*frames) != len(want) {
		t.Fatalf("got %d frames, want %d", len(*frames), len(want))
	}
	for i, f := range *frames {
		if got := fmt.Sprintf("%s %d %s", f.Kind, f.Cell, f.Body); got != want[i] {
			t.Errorf("frame %d: got %s, want %s", i, got, want[i])
		}
	}
}

func TestAttachedRenderers(t *testing.T) {
	attach(t, func(v any) (cellio.Display, bool) {
		if v == "boom" {
			panic("renderer")
		}
		_, ok := v.(point)
		return cellio.Display{Data: map[string]any{"text/plain": "rendered"}}, ok
	})
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"renderer before text", point{}, "rendered"},
		{"own bundle before renderer", own{}, "own words"},
		{"panic is told", "boom", "panic while showing a string: renderer"},
	} {
		if got := Of(c.v).Data["text/plain"]; got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// Outside a cell the text goes to standard output, so notebooks' code runs with go run.
func ExampleShow() {
	Show(1+2+3, "text", []int{1, 2})
	// Output:
	// 6
	// "text"
	// [1 2]
}

func TestBeside(t *testing.T) {
	small := image.NewRGBA(image.Rect(0, 0, 4, 4))
	d := Of(Beside(HTML("<b>one</b>"), small, `a <b> & c`))
	page, text := d.Data[mimeHTML].(string), d.Data[mimeText].(string)
	for _, want := range []string{"<b>one</b>", `<img alt="image, 4 × 4 pixels"`, "data:image/png;base64,iVBOR", ` width="4"`, "<pre>", "&lt;b&gt; &amp;"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in %s", want, page)
		}
	}
	if !strings.HasPrefix(text, "one\n\nimage, 4 × 4 pixels\n\n") {
		t.Errorf("got the text %q", text)
	}
}
