package decode_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"cancha/stream/internal/decode"
	"cancha/stream/internal/value"
)

// read decodes a record and shows the values at paths, or the reason why it is bad.
func read(t testing.TB, shape decode.Shape, record string, want decode.Want, paths ...string) string {
	t.Helper()
	var slots []decode.Slot
	for i, path := range paths {
		slots = append(slots, decode.Slot{Path: path, Want: want, At: i})
	}
	d, err := decode.NewJSON(slots, shape)
	if err != nil {
		t.Fatal(err)
	}
	var shown string
	for range 2 { // the second time with what the first has taught
		row := make([]value.Value, len(paths))
		if reason := d.Decode([]byte(record), row); reason != "" {
			return reason
		}
		shown = fmt.Sprint(row)
	}
	return shown
}

func TestPaths(t *testing.T) {
	const record = `{"a":{"b":[10,{"c":"x"},null]},"d.e":true,"n":-1.5,"z":"q\"\u00e9","big":12345678901234567890,"o":{}}`
	for path, want := range map[string]string{"a.b[0]": "[10]", "a.b.1.c": "[x]", `["d.e"]`: "[true]", "n": "[-1.5]", "z": `[q"é]`, "a.b[1]": `[{"c":"x"}]`,
		"a.b[2]": "[]", "a.x": "[]", "o": "[{}]", "big": "[12345678901234567000]"} {
		if got := read(t, decode.Shape{}, record, decode.Natural, path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"", "a..b", "a[", "a[x]", `a["b]`, "a]", "a[1]b", "a[5000]"} {
		if parts, err := decode.ParsePath(path); err == nil {
			t.Errorf("%q: got %v", path, parts)
		}
	}
}

func TestWhatDoesNotFitIsToldWithItsPath(t *testing.T) {
	for _, each := range []struct {
		record string
		want   decode.Want
		says   string
	}{
		{`{"a":"x"}`, decode.Number, "a: want a number, got another text"}, {`{"a":{}}`, decode.Text, "a: want a text, got an object"},
		{`{"a":3}`, decode.Instant, "a: want an RFC 3339 time, got another number"}, {`{"a":1e200}`, decode.Number, "a: want a number, got one beyond ±1e150, whose square would not be a number"},
		{`{"a":"x","a":2}`, decode.Number, "[2]"}, {`{"a":2,"a":null}`, decode.Number, "[]"}, {`{"a":NaN}`, decode.Number, "[]"}, {`{"a":true}`, decode.Number, "[1]"},
		{`{"a":"2026-03-01T12:00:00+02:00"}`, decode.Instant, "[2026-03-01T10:00:00Z]"}, {`[1]`, decode.Number, "not an object: want a JSON object"},
		{`{"a":1`, decode.Number, "not JSON: unexpected end of JSON input at byte 6"}, {``, decode.Number, "not JSON: the record has no value"}, {`{"a":1}x`, decode.Number, "not JSON: invalid character 'x' after top-level value at byte 8"},
	} {
		if got := read(t, decode.Shape{}, each.record, each.want, "a"); got != each.says {
			t.Errorf("%s: got %s, want %s", each.record, got, each.says)
		}
	}
}

func TestShapes(t *testing.T) {
	shape := decode.Shape{Envelope: "event", Beside: []string{"metadata"}, Flat: "_"}
	paths := []string{"team.id", "metadata.source", "shot.outcome.id"}
	for record, want := range map[string]string{
		`{"event":{"team":{"id":7},"shot":{"outcome":{"id":97}}},"metadata":{"source":"s"}}`:       "[7 s 97]",
		`{"team_id":7,"team":"Racing","shot_outcome_id":97}`:                                       "[7  97]",
		`{"team":{"id":1},"event":{"team":{"id":7}},"shot":{"outcome":{"id":3}}}`:                  "[7  ]",
		`{"metadata":{"source":"s"},"event":{"shot_outcome_id":97,"metadata":{"source":"wrong"}}}`: "[ s 97]",
	} {
		if got := read(t, shape, record, decode.Natural, paths...); got != want {
			t.Errorf("%s: got %s, want %s", record, got, want)
		}
	}
	if got := read(t, decode.Shape{TextNumbers: true}, `{"a":" 2.5 "}`, decode.Number, "a"); got != "[2.5]" {
		t.Errorf("got %s", got)
	}
	if got := read(t, decode.Shape{TextNumbers: true}, `{"a":""}`, decode.Number, "a"); got != "[]" {
		t.Errorf("of nothing: got %s", got)
	}
}

// FuzzJSON compares what is read of any text with encoding/json: the same texts are JSON, and the members have the same values.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a":1,"b":{"c":[1,"x"]}}`, `{"b":{"c":[0.5,true]},"a":"t\u00e9"}`, `{"a":{"a":1}}`, `{"b":3,"b":{"c":[]}}`, `[]`, `{`} {
		f.Add([]byte(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, first, b []byte) {
		if strings.Contains(string(b), "NaN") || strings.Contains(string(first), "NaN") {
			return
		}
		paths := []string{"a", "b.c[0]", "b.c[1]", "b"}
		var slots []decode.Slot
		for i, path := range paths {
			slots = append(slots, decode.Slot{Path: path, At: i})
		}
		d, err := decode.NewJSON(slots, decode.Shape{})
		if err != nil {
			t.Fatal(err)
		}
		row := make([]value.Value, len(paths))
		d.Decode(first, row) // what it learns must change nothing
		clear(row)
		reason := d.Decode(b, row)
		var want map[string]any
		wrong := json.Unmarshal(b, &want)
		if (reason == "") != (wrong == nil && want != nil) {
			t.Fatalf("%q: got %q, want %v", b, reason, wrong)
		}
		if reason != "" {
			return
		}
		c, _ := object(want["b"])["c"].([]any)
		for i, w := range []any{want["a"], at(c, 0), at(c, 1), want["b"]} {
			if !same(row[i], w) {
				t.Fatalf("%q: %s: got %v, want %v", b, paths[i], row[i], w)
			}
		}
	})
}

func object(x any) map[string]any {
	m, _ := x.(map[string]any)
	return m
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func same(got value.Value, want any) bool {
	switch w := want.(type) {
	case nil:
		return got.IsNull()
	case float64:
		return got.Float() == w || got.Kind() == value.Text && math.IsInf(w, 0)
	case bool:
		return got.Kind() == value.Bool && got.Bool() == w
	case string:
		return got.Kind() == value.Text && got.Text() == w
	}
	var again any
	return got.Kind() == value.JSON && json.Unmarshal([]byte(got.Text()), &again) == nil && fmt.Sprint(again) == fmt.Sprint(want)
}

// FuzzTaught compares a decoder that has read other records, and this one before, with a new one: what it has learned and remembers changes
// neither values nor reasons.
func FuzzTaught(f *testing.F) {
	const team = `{"event":{"type":{"id":30,"name":"Pass"},"team":{"id":5,"name":"Racing"},"place":[1.5,2,"far"]},"meta":{"at":"2026-03-01T15:00:00Z"}}`
	f.Add([]byte(team), []byte(`{"team":{"id":5,"name":"Racing"},"type":{"id":30,"name":"Pass"},"meta":{"at":"2026-03-01T15:00:00Z"}}`))
	f.Add([]byte(team), []byte(`{"event":{"team":{"id":5,"name":"Racing"},"team":{"id":null,"name":"Racing"},"team_id":7}}`))
	f.Add([]byte(`{"event":{"team":{"id":"five","name":"Racing"}}}`), []byte(`{"event":{"team_id":4,"team":{"id":"five","name":"Racing"}}}`))
	f.Add([]byte(`{"event":1,"team":{"id":5,"name":"Racing Club"}}`), []byte(`{"event":{"team_id":3},"team":{"id":5,"name":"Racing Club"}}`))
	f.Fuzz(func(t *testing.T, first, b []byte) {
		slots := []decode.Slot{{Path: "team.id", Want: decode.Number, At: 0}, {Path: "team.name", Want: decode.Text, At: 1}, {Path: "type", At: 2},
			{Path: "type.id", At: 3}, {Path: "place[1]", Want: decode.Number, At: 4}, {Path: "meta.at", Want: decode.Instant, At: 5}, {Path: "place", At: 6}}
		shape := decode.Shape{Envelope: "event", Beside: []string{"meta"}, Flat: "_"}
		taught, err := decode.NewJSON(slots, shape)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := decode.NewJSON(slots, shape)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]value.Value, len(slots))
		reason := fresh.Decode(b, want)
		for _, record := range [][]byte{first, b, first, b} {
			row := make([]value.Value, len(slots))
			got := taught.Decode(record, row)
			if string(record) != string(b) {
				continue
			}
			if got != reason || reason == "" && fmt.Sprint(row) != fmt.Sprint(want) {
				t.Fatalf("%q after %q: got %q %v, want %q %v", b, first, got, row, reason, want)
			}
		}
	})
}
