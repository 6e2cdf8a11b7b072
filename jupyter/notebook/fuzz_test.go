package notebook

import (
	"bytes"
	"strings"
	"testing"

	"cancha/internal/alloctest"
)

// FuzzParse reads arbitrary text as a notebook, with memory in proportion, and writes what was one so that it is read again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"cells":[{"cell_type":"code","id":"a","metadata":{"tags":["parameters"]},"outputs":[],"execution_count":null,"source":["x := 1\n","y := 2"]}],"metadata":{"language_info":{"name":"go"}},"nbformat":4,"nbformat_minor":5}`,
		"\ufeff" + `{"cells":[{"cell_type":"markdown","metadata":{},"source":"# a"}],"metadata":{},"nbformat":4,"nbformat_minor":4}`,
		`{"nbformat":3}`, `[]`, `null`, `{"cells":[[[[]]]],"nbformat":4}`, `{"cells":[1],"nbformat":4}`, "{", `{"cells":[{"source":7}],"nbformat":4}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var n *Notebook
		var err error
		alloctest.Bounded(t, len(text), func() { n, err = Parse(text) })
		if err != nil {
			return
		}
		_ = n.Language()
		_ = n.SetParameters(map[string]string{"x": "2"})
		written, err := n.Marshal()
		if err != nil {
			return // it says why
		}
		again, err := Parse(written)
		if err != nil || len(again.Cells) != len(n.Cells) {
			t.Fatalf("%q: read again: %v", text, err)
		}
		if twice, err := again.Marshal(); err != nil || !bytes.Equal(twice, written) {
			t.Errorf("%q: written again: %q, %v, want %q", text, twice, err, written)
		}
	})
}

// TestProportion reads what makes most of its bytes: lists, objects and cells of next to nothing.
func TestProportion(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, of := range map[string]struct{ before, each, after string }{
		"numbers":      {`{"nbformat":4,"cells":[`, "1,", "1]}"},
		"lists":        {`{"nbformat":4,"cells":[`, "[],", "[]]}"},
		"nested":       {`{"nbformat":4,"cells":`, "[", ""},
		"objects":      {`{"nbformat":4,"cells":[`, "{},", "{}]}"},
		"cells":        {`{"nbformat":4,"cells":[`, `{"source":""},`, `{"source":""}]}`},
		"lines":        {`{"nbformat":4,"cells":[{"source":[`, `"",`, `""]}]}`},
		"outputs":      {`{"nbformat":4,"cells":[{"source":"","outputs":[`, `0,`, `0]}]}`},
		"one name":     {`{"nbformat":4,"cells":[],"metadata":{`, `"":0,`, `"":0}}`},
		"escapes":      {`{"nbformat":4,"cells":[{"source":"`, `\n`, `"}]}`},
		"line ends":    {"", "\n", ""},
		"more behind":  {`{"nbformat":4,"cells":[]}`, "{}", ""},
		"no end":       {`{"nbformat":4,"cells":[`, "0,", ""},
		"invalid text": {`{"nbformat":4,"cells":[{"source":"`, "\xff", `"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			text := of.before + strings.Repeat(of.each, (1<<18)/len(of.each)) + of.after
			alloctest.Bounded(t, len(text), func() { _, _ = Parse([]byte(text)) })
		})
	}
}
