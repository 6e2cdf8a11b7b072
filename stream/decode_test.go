package stream

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"cancha/internal/jsontext"
)

// probe reads one path of each kind out of text.
type probe struct {
	path string
	kind kind
}

// readPaths decodes text and shows each path's value, or the reason why the record is bad.
func readPaths(t testing.TB, text string, probes ...probe) string {
	t.Helper()
	p := &projection{}
	var at []int
	for _, each := range probes {
		i, err := p.add(each.path, each.kind)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, i)
	}
	dict := newDictionary()
	d := newDecoder(p, dict)
	var first string
	for range 2 { // the second time with what the decoder learned in the first
		got := show(d, dict, text, probes, at)
		if first != "" && got != first {
			t.Errorf("decoded twice: first %q, then %q", first, got)
		}
		first = got
	}
	return first
}

func show(d *decoder, dict *dictionary, text string, probes []probe, at []int) string {
	if reason := d.decode([]byte(text)); reason != "" {
		return "bad: " + reason
	}
	var shown []string
	for i, each := range probes {
		switch slot := at[i]; {
		case d.present&(1<<slot) == 0:
			shown = append(shown, "-")
		case each.kind == kindNumber:
			shown = append(shown, formatExact(d.number[slot]))
		case each.kind == kindTime:
			shown = append(shown, instant(d.key[slot]).Format(time.RFC3339Nano))
		case each.kind == kindAny:
			shown = append(shown, "there")
		default:
			shown = append(shown, dict.key(d.key[slot]).Text)
		}
	}
	return strings.Join(shown, " ")
}

func TestDecode(t *testing.T) {
	match, team, event := probe{"match_id", kindKey}, probe{"team.id", kindKey}, probe{"type.id", kindNumber}
	x, end := probe{"location.0", kindNumber}, probe{"pass.end_location.1", kindNumber}
	when, source := probe{"metadata.event_time", kindTime}, probe{"metadata.source", kindKey}
	for _, test := range []struct {
		name, text string
		probes     []probe
		want       string
	}{
		{"envelope", `{"event":{"match_id":7,"type":{"id":30,"name":"Pass"},"location":[60.5,40],"pass":{"end_location":[1,2.5]}},` +
			`"metadata":{"event_time":"2026-03-01T15:00:00.123Z","source":"simulator"}}`,
			[]probe{match, event, x, end, when, source}, "7 30 60.5 2.5 2026-03-01T15:00:00.123Z simulator"},
		{"metadata first", `{"metadata":{"source":"api"},"event":{"match_id":7}}`, []probe{match, source}, "7 api"},
		{"bare event", `{"match_id":7,"team":{"name":"A","id":3}}`, []probe{match, team, x}, "7 3 -"},
		{"flattened", `{"match_id":7,"type":"Pass","team":"A","team_id":3,"location":[1.0,2.0],"pass_end_location":[4,5]}`,
			[]probe{match, event, team, x, end}, "7 30 3 1 5"},
		{"flattened, ids first", `{"team_id":3,"team":"A","type":"Ball Receipt"}`, []probe{team, event}, "3 42"},
		{"flattened inside the envelope", `{"event":{"team_id":3,"type":"Shot"}}`, []probe{team, event}, "3 16"},
		{"flattened with NaN", `{"team_id":3,"location":NaN,"pass_end_location":NaN}`, []probe{team, x, end}, "3 - -"},
		{"flattened without id", `{"team":"A"}`, []probe{team}, "bad: team.id: want an integer or a text, got another text"},
		{"unknown type by name", `{"type":"Nutmeg"}`, []probe{event}, "bad: type.id: want a number, got another text"},
		{"name by a flattened row", `{"team":"Atlético"}`, []probe{{"team.name", kindKey}}, "Atlético"},
		{"the envelope's event counts, before", `{"match_id":1,"event":{"match_id":2}}`, []probe{match}, "2"},
		{"the envelope's event counts, after", `{"event":{"match_id":2},"match_id":1}`, []probe{match}, "2"},
		{"and hides the rest", `{"event":{"match_id":2},"team_id":1}`, []probe{match, team}, "2 -"},
		{"spaces", " {\n\t\"match_id\" : 7 , \"location\" : [ 1 , 2 ] } \r\n", []probe{match, x}, "7 1"},
		{"escaped name", `{"match\u005fid":7}`, []probe{match}, "7"},
		{"escaped text", `{"team":{"name":"\u00d1and\u00fa \ud83d\ude00"}}`, []probe{{"team.name", kindKey}}, "Ñandú 😀"},
		{"the last of two counts", `{"match_id":1,"match_id":2}`, []probe{match}, "2"},
		{"the last of two objects counts", `{"team":{"id":1},"team":{"name":"B"}}`, []probe{team}, "-"},
		{"null", `{"match_id":null,"team":null,"location":null}`, []probe{match, team, x}, "- - -"},
		{"null after a value", `{"team":{"id":1},"team":null}`, []probe{team}, "-"},
		{"short array", `{"location":[],"pass":{"end_location":[1]}}`, []probe{x, end}, "- -"},
		{"long array", `{"location":[1,2,3,[4]]}`, []probe{x}, "1"},
		{"true and false", `{"under_pressure":true,"out":false}`, []probe{{"under_pressure", kindNumber}, {"out", kindNumber}}, "1 0"},
		{"presence", `{"pass":{},"location":[]}`, []probe{{"pass", kindAny}, {"location", kindAny}, {"shot", kindAny}}, "there there -"},
		{"text for a number", `{"location":["a"]}`, []probe{x}, "bad: location.0: want a number, got another text"},
		{"text for an array", `{"location":"[60.0, 40.0]"}`, []probe{x}, "bad: location.0: want a number, got another text"},
		{"fraction for an id", `{"match_id":7.5}`, []probe{match}, "bad: match_id: want an integer or a text, got another number"},
		{"object for a number", `{"match_id":{}}`, []probe{match}, "bad: match_id: want an integer or a text, got an object"},
		{"array for an object", `{"team":[1]}`, []probe{team}, "bad: team.id: want an integer or a text, got an array"},
		{"no time", `{"metadata":{"event_time":"yesterday"}}`, []probe{when}, "bad: metadata.event_time: want an RFC 3339 time, got another text"},
		{"overflow", `{"location":[1e999]}`, []probe{x}, "bad: location.0: want a number, got one beyond ±1e150, whose square would not be a number"},
		{"too large to square", `{"location":[-1e308]}`, []probe{x}, "bad: location.0: want a number, got one beyond ±1e150, whose square would not be a number"},
		{"big id", `{"match_id":9223372036854775807}`, []probe{match}, "9223372036854775807"},
		{"id too big", `{"match_id":9223372036854775808}`, []probe{match}, "bad: match_id: want an integer or a text, got another number"},
		{"cut short", `{"match_id":7`, []probe{match}, "bad: not JSON: unexpected end of JSON input at byte 13"},
		{"unknown part is not JSON", `{"match_id":7,"x":{"y":tru}}`, []probe{match}, "bad: not JSON: invalid character '}' in literal true (expecting 'e') at byte 27"},
		{"more after the end", `{"match_id":7} x`, []probe{match}, "bad: not JSON: invalid character 'x' after top-level value at byte 16"},
		{"not an object", `[1]`, []probe{match}, "bad: not an event: want a JSON object"},
		{"empty", ``, []probe{match}, "bad: not JSON: the record has no value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := readPaths(t, test.text, test.probes...); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestProjectionRefuses(t *testing.T) {
	p := &projection{}
	for _, path := range []string{"", "a..b", "a.", `a"b`} {
		if _, err := p.add(path, kindNumber); err == nil {
			t.Errorf("path %q: got no error", path)
		}
	}
	for i := range maxSlots {
		if _, err := p.add(fmt.Sprint("p", i), kindNumber); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.add("one.more", kindNumber); err == nil {
		t.Error("65 paths: got no error")
	}
}

func TestParseFloat(t *testing.T) {
	for _, text := range []string{"0", "-0", "60.5", "0.1", "-119.9", "1e3", "1.7976931348623157e308", "5e-324", "9007199254740993",
		"0.30000000000000004", "123456789012345678901234567890", "1e-7", "0.0000000000000000000000001", "3.0457335", "1E+2",
		"123456789012345678", "9007199254740992.5", "0.000000000000000000001234"} {
		var want float64
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got, next, ok := jsontext.ParseFloat([]byte(text), 0)
		if math.Float64bits(got) != math.Float64bits(want) || next != len(text) || !ok {
			t.Errorf("%s: got %v, %d, %t, want %v", text, got, next, ok, want)
		}
	}
}

func TestInstants(t *testing.T) {
	var p instants
	for _, text := range []string{"2026-03-01T15:00:00.123Z", "2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00.000Z", "2026-03-01T15:00:00.123Z",
		"1969-12-31T23:59:59.999Z", "2024-02-29T12:00:00.000Z", "2026-03-01T15:00:00+02:00", "2026-03-01T00:00:00.000+14:00",
		"2026-03-01T15:00:00Z", "2026-03-01T15:00:00.123456789Z"} {
		want, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.parse([]byte(text)); !ok || got != want.UnixNano() {
			t.Errorf("%s: got %v, %t, want %v", text, instant(got), ok, want)
		}
	}
	for _, text := range []string{"", "2026-03-01", "2026-13-01T15:00:00.123Z", "2026-03-01T24:00:00.000Z", "2026-03-01T15:60:00.000Z",
		"2026-03-01T15:00:60.000Z", "2026-03-01T15:00:0x.000Z", "2026-03-01T15-00:00.000Z", "0001-01-01T00:00:00.000Z", "9999-01-01T00:00:00.000Z"} {
		if got, ok := p.parse([]byte(text)); ok {
			t.Errorf("%q: got %v, want none", text, instant(got))
		}
	}
}

// TestDecodeAllocatesNothing: in the steady state, with texts as keys too.
func TestDecodeAllocatesNothing(t *testing.T) {
	all := season(5, 2, 200)
	p, err := MinuteStatistics(Memory("t", nil)).GroupBy("match_id", "team.id", "team.name").compile(newDictionary())
	if err != nil {
		t.Fatal(err)
	}
	d := newDecoder(&p.projection, p.dict)
	decodeAll := func() {
		for _, r := range all {
			if reason := d.decode(r.Value); reason != "" {
				t.Fatal(reason)
			}
		}
	}
	if got := testing.AllocsPerRun(10, decodeAll); got != 0 {
		t.Errorf("got %v allocations for %d records, want 0", got, len(all))
	}
}

// FuzzDecode compares the decoder with encoding/json: both take the same texts, and read the same values from them.
func FuzzDecode(f *testing.F) {
	before := []byte(`{"event":{"match_id":1,"m\u0061tch_id":2,"new":{"id":3}},"team":[],"x":1}`)
	f.Add(before, []byte(`{"event":{"match_id":7,"team":{"id":3,"name":"A"},"location":[1.5,2e3]},"metadata":{"event_time":"2026-03-01T15:00:00.123Z"}}`))
	f.Add(before, []byte(`{"match_id":7,"type":"Pass","team_id":3,"location":[1,2,3],"x":[{"y":[[]],"z":"\u00e9\n"},null,true,-0.5e-3]}`))
	f.Add(before, []byte(`{"team":{"id":1},"team":{"id":2,"id":"x"},"location":"no","match_id":1e999}`))
	f.Add(before, []byte(` { "m\u0061tch_id" : -12 , "" : {"":""} } `))
	for _, r := range season(3, 1, 4) {
		f.Add(before, r.Value)
	}
	f.Fuzz(checkAgainstEncodingJSON)
}

// checkAgainstEncodingJSON decodes text with a fresh decoder, and with one that has learned from another record before.
func checkAgainstEncodingJSON(t *testing.T, before, text []byte) {
	p := &projection{}
	for _, path := range []string{"location.0", "location.1", "shot.statsbomb_xg", "a.b.0.c"} {
		p.add(path, kindNumber)
	}
	p.add("metadata.event_time", kindTime)
	p.add("match_id", kindKey)
	p.add("team.name", kindKey)
	dict := newDictionary()
	d := newDecoder(p, dict)
	reason := d.decode(text)
	learned := newDecoder(p, dict)
	learned.decode(before)
	for range 2 {
		if got := learned.decode(text); got != reason || reason == "" && !sameSlots(d, learned) {
			t.Fatalf("%q after %q: a fresh decoder says %q, one that has learned %q", text, before, reason, got)
		}
	}
	var tree any
	if json.Unmarshal(text, &tree) != nil && json.Valid(text) {
		tree = nil // a number that no float64 holds, where the decoder need not look
	}
	if valid := json.Valid(text); !valid && strings.Contains(string(text), "NaN") {
		return // read as null
	} else if notJSON := strings.HasPrefix(reason, "not JSON"); valid == notJSON {
		t.Fatalf("%q: encoding/json says valid: %t, the decoder says %q", text, valid, reason)
	}
	if reason != "" || tree == nil {
		return
	}
	for i, s := range p.slots {
		if s.path == "shot.statsbomb_xg" {
			continue // flattened names meet nested ones; both are tested by table
		}
		want, found := lookUp(tree, s.path)
		if present := d.present&(1<<i) != 0; present != found {
			if !flattenedTwin(tree) {
				t.Fatalf("%q: %s: got present %t, want %t", text, s.path, present, found)
			}
			continue
		}
		if n, isNumber := want.(float64); found && isNumber && s.kind == kindNumber && n != d.number[i] && !flattenedTwin(tree) {
			t.Fatalf("%q: %s: got %v, want %v", text, s.path, d.number[i], n)
		}
		if s, isText := want.(string); found && isText && p.slots[i].kind == kindKey && dict.key(d.key[i]).Text != s && !flattenedTwin(tree) {
			t.Fatalf("%q: %s: got %q, want %q", text, p.slots[i].path, dict.key(d.key[i]).Text, s)
		}
	}
}

// sameSlots reports whether two decoders hold the same values.
func sameSlots(a, b *decoder) bool {
	if a.present != b.present {
		return false
	}
	for i, s := range a.slots {
		if a.present&(1<<i) == 0 {
			continue
		}
		if s.kind == kindNumber && math.Float64bits(a.number[i]) != math.Float64bits(b.number[i]) || s.kind != kindNumber && a.key[i] != b.key[i] {
			return false
		}
	}
	return true
}

// lookUp finds a path as the decoder is said to: in the event of an envelope, or in a bare event.
func lookUp(tree any, path string) (any, bool) {
	root, _ := tree.(map[string]any)
	at := any(root)
	if event, ok := root["event"].(map[string]any); ok && !strings.HasPrefix(path, "metadata.") {
		at = event
	}
	for part := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	if b, ok := at.(bool); ok {
		at = 0.0
		if b {
			at = 1.0
		}
	}
	return at, at != nil
}

// flattenedTwin reports whether a record holds flattened names or names in place of objects, which lookUp does not know,
// or says "event" twice in a way that a tree no longer shows.
func flattenedTwin(tree any) bool {
	text, _ := json.Marshal(tree)
	for _, mark := range []string{"team_name", "a_b", "metadata_", `"team":"`, `"event":`, "location_"} {
		if strings.Contains(string(text), mark) {
			return true
		}
	}
	return false
}
