package notebook

import (
	"bytes"
	"runtime"
	"testing"
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := Parse(text)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10+200*uint64(len(text)) {
			t.Errorf("reading %d bytes took %d", len(text), took)
		}
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
