package kernel

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", ` { } `, ""},
		{"kinds", `{"a":1,"b":"x","c":[1,{"d":"]"}],"e":null,"f":true,"g":{"h":{}},"i":-1.5e3}`,
			`a=1 b="x" c=[1,{"d":"]"}] e=null f=true g={"h":{}} i=-1.5e3`},
		{"blanks", "{\n \"a\" : 1 ,\t\"b\" : [ 1 , 2 ] }", `a=1 b=[ 1 , 2 ]`},
		{"quotes", `{"a":"\"}\\","b":"\\\\\"","\u0063":"\\"}`, `a="\"}\\" b="\\\\\"" c="\\"`},
		{"nothing", ``, "error"},
		{"a list", `[1]`, "error"},
		{"cut", `{"a":"x`, "error"},
		{"cut after a key", `{"a"`, "error"},
		{"cut in a value", `{"a":[1,`, "error"},
		{"no comma", `{"a":1 "b":2}`, "error"},
		{"too much", `{"a":1} x`, "error"},
		{"a bracket too many", `{"a":]}`, "error"},
		{"a key that is none", `{1:2}`, "error"},
	} {
		got, err := fields([]byte(c.text))
		var words []string
		for _, name := range slices.Sorted(maps.Keys(got)) {
			words = append(words, name+"="+string(got[name]))
		}
		if err != nil {
			words = []string{"error"}
		}
		if s := strings.Join(words, " "); s != c.want {
			t.Errorf("%s: got %s (%v), want %s", c.name, s, err, c.want)
		}
	}
}

// FuzzFields compares with encoding/json on what that accepts.
func FuzzFields(f *testing.F) {
	f.Add([]byte(`{"data":{"text/plain":"a\"b\\"},"metadata":{},"update":true}`))
	f.Add([]byte(`{"a":[{"b":"}"}],"c":1e5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := fields(text)
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for name, raw := range want {
			if string(got[name]) != string(raw) {
				t.Errorf("%q: field %q is %q, want %q", text, name, got[name], raw)
			}
		}
	})
}
