package decode_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/stream/internal/decode"
	"cancha/stream/internal/value"
)

// wanted is a path and what is read there.
type wanted struct {
	path string
	want decode.Want
}

// readEach decodes a record and shows each path's value, - for none, or the reason why the record is bad.
func readEach(t testing.TB, shape decode.Shape, record string, paths ...wanted) string {
	t.Helper()
	var slots []decode.Slot
	for i, p := range paths {
		slots = append(slots, decode.Slot{Path: p.path, Want: p.want, At: i})
	}
	d, err := decode.NewJSON(slots, shape)
	if err != nil {
		t.Fatal(err)
	}
	var first string
	for range 2 { // the second time with what the decoder learned in the first
		row := make([]value.Value, len(paths))
		got := show(row, d.Decode([]byte(record), row))
		if first != "" && got != first {
			t.Errorf("decoded twice: first %q, then %q", first, got)
		}
		first = got
	}
	return first
}

func show(row []value.Value, reason string) string {
	if reason != "" {
		return "bad: " + reason
	}
	var shown []string
	for _, v := range row {
		if v.IsNull() {
			shown = append(shown, "-")
			continue
		}
		shown = append(shown, v.String())
	}
	return strings.Join(shown, " ")
}

// envelope is records as several producers write them: in an envelope, without it, or flattened.
var envelope = decode.Shape{Envelope: "event", Beside: []string{"metadata"}, Flat: "_"}

func TestShapesOfRecords(t *testing.T) {
	shop, team, kind := wanted{"shop", decode.Natural}, wanted{"team.id", decode.Number}, wanted{"kind.id", decode.Number}
	x, end := wanted{"place[0]", decode.Number}, wanted{"way.end[1]", decode.Number}
	when, from := wanted{"metadata.at", decode.Instant}, wanted{"metadata.source", decode.Text}
	for _, test := range []struct {
		name, record string
		paths        []wanted
		want         string
	}{
		{"envelope", `{"event":{"shop":7,"kind":{"id":30,"name":"x"},"place":[60.5,40],"way":{"end":[1,2.5]}},"metadata":{"at":"2026-03-01T15:00:00.123Z","source":"s"}}`,
			[]wanted{shop, kind, x, end, when, from}, "7 30 60.5 2.5 2026-03-01T15:00:00.123Z s"},
		{"metadata first", `{"metadata":{"source":"api"},"event":{"shop":7}}`, []wanted{shop, from}, "7 api"},
		{"without envelope", `{"shop":7,"team":{"name":"A","id":3}}`, []wanted{shop, team, x}, "7 3 -"},
		{"flattened", `{"shop":7,"team":"A","team_id":3,"place":[1.0,2.0],"way_end":[4,5]}`, []wanted{shop, team, x, end}, "7 3 1 5"},
		{"flattened, ids first", `{"team_id":3,"team":"A"}`, []wanted{team}, "3"},
		{"flattened inside the envelope", `{"event":{"team_id":3}}`, []wanted{team}, "3"},
		{"flattened with NaN", `{"team_id":3,"place":NaN,"way_end":NaN}`, []wanted{team, x, end}, "3 - -"},
		{"flattened text for an object", `{"team":"A","shop":1}`, []wanted{team, shop}, "- 1"},
		{"the envelope's counts, before", `{"shop":1,"event":{"shop":2}}`, []wanted{shop}, "2"},
		{"the envelope's counts, after", `{"event":{"shop":2},"shop":1}`, []wanted{shop}, "2"},
		{"and hides the rest", `{"event":{"shop":2},"team_id":1}`, []wanted{shop, team}, "2 -"},
		{"and what was there before", `{"team_id":1,"event":{"shop":2}}`, []wanted{shop, team}, "2 -"},
		{"a misfit that the envelope hides", `{"team":{"id":"x"},"event":{"shop":2}}`, []wanted{shop, team}, "2 -"},
		{"an envelope that is none", `{"event":7,"shop":1}`, []wanted{shop}, "1"},
		{"null for an envelope", `{"event":null,"shop":1}`, []wanted{shop}, "1"},
		{"an empty envelope", `{"event":{},"shop":1}`, []wanted{shop}, "-"},
		{"an array where an object is", `{"event":{"team":[1]}}`, []wanted{team}, "bad: team.id: want a number, got an array"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := readEach(t, envelope, test.record, test.paths...); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	a, an, at := wanted{"a", decode.Natural}, wanted{"a", decode.Number}, wanted{"a", decode.Text}
	id, x, when := wanted{"team.id", decode.Number}, wanted{"place[0]", decode.Number}, wanted{"at", decode.Instant}
	for _, test := range []struct {
		name, record string
		paths        []wanted
		want         string
	}{
		{"spaces", " {\n\t\"a\" : 7 , \"place\" : [ 1 , 2 ] } \r\n", []wanted{a, x}, "7 1"},
		{"escaped name", `{"\u0061":7}`, []wanted{a}, "7"},
		{"escaped text", `{"a":"\u00d1and\u00fa \ud83d\ude00 \"\\\/\n"}`, []wanted{a}, "Ñandú 😀 \"\\/\n"},
		{"half a pair", `{"a":"\ud83d"}`, []wanted{a}, "\uFFFD"},
		{"bytes that are no UTF-8", "{\"a\":\"\xe7\xe7é\xff\"}", []wanted{a}, "\uFFFD\uFFFDé\uFFFD"},
		{"the last of two counts", `{"a":1,"a":2}`, []wanted{a}, "2"},
		{"the last of two objects counts", `{"team":{"id":1},"team":{"name":"B"}}`, []wanted{id}, "-"},
		{"null after a value", `{"team":{"id":1},"team":null}`, []wanted{id}, "-"},
		{"a misfit before a value", `{"team":{"id":"x"},"team":{"id":2}}`, []wanted{id}, "2"},
		{"a misfit after a value", `{"team":{"id":2},"team":{"id":"x"}}`, []wanted{id}, "bad: team.id: want a number, got another text"},
		{"null", `{"a":null,"team":null,"place":null,"at":null}`, []wanted{a, id, x, when}, "- - - -"},
		{"NaN", `{"a":NaN,"team":NaN,"place":[NaN]}`, []wanted{a, id, x}, "- - -"},
		{"short array", `{"place":[]}`, []wanted{x}, "-"},
		{"long array", `{"place":[1,2,3,[4]]}`, []wanted{x}, "1"},
		{"one path in several ways", `{"a":7}`, []wanted{a, an, {"a", decode.Natural}}, "7 7 7"},
		{"an object and its member", `{"team":{"id":1, "x":[ ]}}`, []wanted{{"team", decode.Natural}, id}, `{"id":1, "x":[ ]} 1`},
		{"empty ones are there", `{"a":{},"place":[]}`, []wanted{a, {"place", decode.Natural}, {"b", decode.Natural}}, "{} [] -"},
		{"true and false", `{"a":true,"b":false}`, []wanted{an, {"b", decode.Number}, a}, "1 0 true"},
		{"text for a number", `{"place":["a"]}`, []wanted{x}, "bad: place[0]: want a number, got another text"},
		{"text for an array", `{"place":"[60.0, 40.0]"}`, []wanted{x}, "bad: place[0]: want a number, got another text"},
		{"number for an object", `{"team":3}`, []wanted{id}, "bad: team.id: want a number, got another number"},
		{"truth for an object", `{"team":true}`, []wanted{id}, "bad: team.id: want a number, got true or false"},
		{"object for a number", `{"a":{}}`, []wanted{an}, "bad: a: want a number, got an object"},
		{"object for an array", `{"place":{"0":1}}`, []wanted{x}, "bad: place[0]: want a number, got an object"},
		{"number for a text", `{"a":1.5}`, []wanted{at}, "bad: a: want a text, got another number"},
		{"whatever is there is no misfit", `{"team":3}`, []wanted{{"team.id", decode.Natural}}, "-"},
		{"no time", `{"at":"yesterday"}`, []wanted{when}, "bad: at: want an RFC 3339 time, got another text"},
		{"overflow", `{"a":1e999}`, []wanted{an}, "bad: a: want a number, got one beyond ±1e150, whose square would not be a number"},
		{"too large to square", `{"a":-1e308}`, []wanted{an}, "bad: a: want a number, got one beyond ±1e150, whose square would not be a number"},
		{"big id", `{"a":9223372036854775807}`, []wanted{a}, "9223372036854775807"},
		{"negative zero", `{"a":-0}`, []wanted{a}, "0"},
		{"a fraction of zeros", `{"a":7.0}`, []wanted{a}, "7"},
		{"cut short", `{"a":7`, []wanted{a}, "bad: not JSON: unexpected end of JSON input at byte 6"},
		{"cut in a text", `{"a":"x`, []wanted{a}, "bad: not JSON: unexpected end of JSON input at byte 7"},
		{"an unknown part is not JSON", `{"a":7,"x":{"y":tru}}`, []wanted{a}, "bad: not JSON: invalid character '}' in literal true (expecting 'e') at byte 20"},
		{"more after the end", `{"a":7} x`, []wanted{a}, "bad: not JSON: invalid character 'x' after top-level value at byte 9"},
		{"a comma too much", `{"a":7,}`, []wanted{a}, "bad: not JSON: invalid character '}' looking for beginning of object key string at byte 8"},
		{"a leading zero", `{"b":01}`, []wanted{a}, "bad: not JSON: invalid character '1' after object key:value pair at byte 7"},
		{"a control character", "{\"b\":\"\x01\"}", []wanted{a}, `bad: not JSON: invalid character '\x01' in string literal at byte 7`},
		{"not an object", `[1]`, []wanted{a}, "bad: not an object: want a JSON object"},
		{"a number alone", ` 7 `, []wanted{a}, "bad: not an object: want a JSON object"},
		{"empty", ``, []wanted{a}, "bad: not JSON: the record has no value"},
		{"spaces alone", "  ", []wanted{a}, "bad: not JSON: unexpected end of JSON input at byte 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := readEach(t, decode.Shape{}, test.record, test.paths...); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestDepth: records nested deeper than encoding/json takes are refused, and do not fill the stack.
func TestDepth(t *testing.T) {
	for _, each := range []struct {
		depth int
		bad   bool
	}{{9_000, false}, {200_000, true}} {
		record := `{"a":7,"x":` + strings.Repeat("[", each.depth) + strings.Repeat("]", each.depth) + "}"
		if got := readEach(t, decode.Shape{}, record, wanted{"a", decode.Natural}); strings.HasPrefix(got, "bad: not JSON") != each.bad {
			t.Errorf("%d deep: got %s", each.depth, got)
		}
	}
}

// TestForeignMembersAreBounded: a decoder that sees new names in each record keeps reading, and does not learn without end.
func TestForeignMembersAreBounded(t *testing.T) {
	d, err := decode.NewJSON([]decode.Slot{{Path: "a.b", Want: decode.Number}}, decode.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]value.Value, 1)
	for i := range 20_000 {
		clear(row)
		record := fmt.Appendf(nil, `{"x%d":1,"a":{"y%d":[1],"b":%d}}`, i, i, i)
		if reason := d.Decode(record, row); reason != "" || row[0].Int() != int64(i) {
			t.Fatalf("%s: got %v, %q", record, row, reason)
		}
	}
	late := []byte(`{"never seen":1,"a":{"nor this":1,"b":3}}`)
	if got := testing.AllocsPerRun(100, func() { d.Decode(late, row) }); got != 0 {
		t.Errorf("an unknown name takes %v allocations once enough are known", got)
	}
}

func TestSeen(t *testing.T) {
	slots := []decode.Slot{{Path: "a", At: 0}, {Path: "b.c", Want: decode.Number, At: 1}, {Path: "d", At: 2}, {Path: "e", At: 3}}
	d, err := decode.NewJSON(slots, decode.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	d.Decode([]byte(`{"a":1,"b":{"c":"x"},"d":null}`), make([]value.Value, 4))
	if got := fmt.Sprint(d.Seen(0), d.Seen(1), d.Seen(2), d.Seen(3)); got != "true true false false" {
		t.Errorf("got %s: a misfit was there, null was not", got)
	}
}

// order is a record of our own invention, as compact JSON, with members that no path names.
func order(random *rand.Rand) []byte {
	return fmt.Appendf(nil, `{"id":%d,"shop":{"id":%d,"name":"Café \"%d\""},"total":%s,"place":[%v,%v],"at":%q,"tags":["a",{"b":[null,true]}],"note":null}`,
		random.IntN(1e6), random.IntN(9), random.IntN(9), strconv.FormatFloat(random.Float64()*90, 'f', 2, 64), random.IntN(120), random.Float64(),
		time.UnixMilli(1772377445000+random.Int64N(86_400_000)).UTC().Format("2006-01-02T15:04:05.000Z"))
}

// TestDecodeAllocatesNothing: in the steady state, with texts and objects too. A text with escapes is the exception, which has to be made.
func TestDecodeAllocatesNothing(t *testing.T) {
	slots := []decode.Slot{{Path: "id"}, {Path: "shop.id", Want: decode.Number, At: 1}, {Path: "total", Want: decode.Number, At: 2},
		{Path: "place[1]", Want: decode.Number, At: 3}, {Path: "at", Want: decode.Instant, At: 4}, {Path: "tags", At: 5}, {Path: "missing", At: 6}}
	d, err := decode.NewJSON(slots, decode.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 5))
	var all [][]byte
	for range 200 {
		all = append(all, order(random))
	}
	row := make([]value.Value, 7)
	decodeAll := func() {
		for _, record := range all {
			clear(row)
			if reason := d.Decode(record, row); reason != "" {
				t.Fatal(reason)
			}
		}
	}
	if got := testing.AllocsPerRun(10, decodeAll); got != 0 {
		t.Errorf("got %v allocations for %d records, want 0", got, len(all))
	}
	for i, v := range row[:6] {
		if v.IsNull() {
			t.Errorf("%s was not read", slots[i].Path)
		}
	}
}

// FuzzShapes decodes records of the shape with an envelope and flattened names: a decoder that has learned from another record reads the same
// as a fresh one, and both refuse exactly what encoding/json refuses.
func FuzzShapes(f *testing.F) {
	before := []byte(`{"event":{"shop":1,"sh\u006fp":2,"new":{"id":3}},"team":[],"x":1}`)
	f.Add(before, []byte(`{"event":{"shop":7,"team":{"id":3,"name":"A"},"place":[1.5,2e3]},"metadata":{"at":"2026-03-01T15:00:00.123Z"}}`))
	f.Add(before, []byte(`{"shop":7,"kind":"Pass","team_id":3,"place":[1,2,3],"x":[{"y":[[]],"z":"\u00e9\n"},null,true,-0.5e-3]}`))
	f.Add(before, []byte(`{"team":{"id":1},"team":{"id":2,"id":"x"},"place":"no","shop":1e999}`))
	f.Add(before, []byte(` { "sh\u006fp" : -12 , "" : {"":""} } `))
	f.Add([]byte(`{"team_id":{"a":1},"team":{"id":[1]},"event":{}}`), []byte(`{"event":{"event":{"shop":1}},"event":{"team_id":2}}`))
	random := rand.New(rand.NewPCG(3, 3))
	for range 3 {
		f.Add(before, order(random))
	}
	f.Fuzz(func(t *testing.T, before, record []byte) {
		var slots []decode.Slot
		for i, p := range []wanted{{"place[0]", decode.Number}, {"shot.outcome.id", decode.Number}, {"a.b[0].c", decode.Number}, {"metadata.at", decode.Instant},
			{"shop", decode.Natural}, {"shop", decode.Number}, {"team.name", decode.Text}, {"team", decode.Natural}} {
			slots = append(slots, decode.Slot{Path: p.path, Want: p.want, At: i})
		}
		fresh, err := decode.NewJSON(slots, envelope)
		if err != nil {
			t.Fatal(err)
		}
		learned, _ := decode.NewJSON(slots, envelope)
		learned.Decode(before, make([]value.Value, len(slots)))
		row := make([]value.Value, len(slots))
		reason := fresh.Decode(record, row)
		want := show(row, reason)
		for range 2 {
			row := make([]value.Value, len(slots))
			if got := show(row, learned.Decode(record, row)); got != want {
				t.Fatalf("%q after %q: a fresh decoder reads %s, one that has learned %s", record, before, want, got)
			}
		}
		valid := json.Valid(record)
		if !valid && strings.Contains(string(record), "NaN") {
			return // read as null
		}
		if valid == strings.HasPrefix(reason, "not JSON") {
			t.Fatalf("%q: encoding/json says valid: %t, the decoder says %q", record, valid, reason)
		}
	})
}
