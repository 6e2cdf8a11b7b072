package exactjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cancha/internal/exactjson"
)

type point struct {
	X int `json:"x"`
	Y int
}

type inside struct{ In int }

type asked struct {
	inside
	Path   string          `json:"path"`
	Out    string          `json:"out,omitempty"`
	Raw    json.RawMessage `json:"raw"`
	Any    any
	At     time.Time
	Point  *point
	Points []point
	ByName map[string]point
	Both   int `json:"both"`
	Other  int `json:"BOTH"`
	//lint:ignore U1000 no name of JSON is that of a field that is not exported
	hidden int
}

// Each name is that of one field, and is there once.
func TestRead(t *testing.T) {
	for _, c := range []struct{ text, exact, folded string }{
		{`{"path":"a","out":"b"}`, "", ""},
		{`{"Path":"a"}`, `unknown field "Path"; is "path" meant?`, ""},
		{`{"OUT":"a"}`, `unknown field "OUT"; is "out" meant?`, ""},
		{`{"path":"a","Path":"b"}`, `unknown field "Path"`, `"path" and "Path" are both the field "path"`},
		{`{"path":"a","path":"b"}`, `"path" is there twice`, `"path" is there twice`},
		{`{"pth":"a"}`, `unknown field "pth"`, `unknown field "pth"`},
		{`{"hidden":1}`, `unknown field "hidden"`, `unknown field "hidden"`},
		{`{"raw":{"a":1,"a":2,"A":3}}`, "", ""},
		{`{"Any":{"a":1,"A":2},"At":"2026-01-02T03:04:05Z"}`, "", ""},
		{`{"Point":{"x":1,"X":2}}`, `unknown field "X"`, `"x" and "X" are both the field "x"`},
		{`{"Point":null,"Points":null,"ByName":null}`, "", ""},
		{`{"Points":[{"x":1},{"x":1,"x":2}]}`, `"x" is there twice`, `"x" is there twice`},
		{`{"ByName":{"a":{"Y":1},"A":{"y":1}}}`, `unknown field "y"; is "Y" meant?`, ""},
		{`{"ByName":{"a":{},"a":{}}}`, `"a" is there twice`, `"a" is there twice`},
		{`{"both":1,"BOTH":2}`, "", ""},
		{`{"In":1}`, "", ""},
		{`null`, "", ""},
		{`[]`, "cannot unmarshal array", "cannot unmarshal array"},
		{``, "EOF", "EOF"},
	} {
		for name, got := range map[string]error{"exact": exactjson.Read([]byte(c.text), &asked{}), "folded": exactjson.ReadFolded([]byte(c.text), &asked{})} {
			want := map[string]string{"exact": c.exact, "folded": c.folded}[name]
			if (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
				t.Errorf("%s, %s: got %v, want %q", c.text, name, got, want)
			}
		}
	}
}
