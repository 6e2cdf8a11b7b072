package stream_test

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

func TestBadRecords(t *testing.T) {
	good := event(7, 1, 0)
	bad := []Record{{Value: []byte(`{"shop":`)}, {Value: nil}, {Value: []byte(`{"shop":7}`)},
		{Value: []byte(`{"shop":"seven","n":"one","at":"2026-03-01T15:00:00.000Z"}`)},
		{Key: []byte("k"), Time: threeOClock, Value: []byte(`{"city":{"id":1},"at":"2026-03-01T15:00:00.000Z"}`)}}
	q := counting(Memory("t", [][]Record{append(append([]Record{good}, bad...), good)}))
	running := finish(t, From(Memory("t", [][]Record{append(append([]Record{good}, bad...), good)})).EventTime(Field("at").AsTime()).
		Filter(Or(Not(Has("n")), Field("n").Between(1, 5))).GroupBy("shop").Window(Tumbling(time.Minute)).Agg(Count("events")))
	got := running.BadRecords()
	want := []string{"not JSON: unexpected end of JSON input at byte 8", "not JSON: the record has no value",
		"no event time: as_time(at) is absent", "n: want a number, got another text", "no shop"}
	if got.Total != 5 || len(got.Newest) != 5 || len(got.Reasons) != 5 {
		t.Fatalf("got %+v, want 5 bad records for 5 reasons", got)
	}
	for i, b := range got.Newest {
		if b.Reason != want[i] || b.Offset != int64(i+1) || b.Topic != "t" || !bytes.Equal(b.Value, bad[i].Value) {
			t.Errorf("got %+v, want offset %d, reason %q and the record itself", b, i+1, want[i])
		}
	}
	if last := got.Newest[4]; string(last.Key) != "k" || !last.Time.Equal(threeOClock) {
		t.Errorf("got key %q and time %v", last.Key, last.Time)
	}
	if shown := counts(running.Results()); shown != "7@0=2" {
		t.Errorf("the good records: got %s, want 7@0=2", shown)
	}
	if lines := got.MIMEBundle()["text/plain"].(string); !strings.Contains(lines, "5 bad records, 5 reasons") {
		t.Errorf("got %s", lines)
	}
	if finish(t, q).Totals().Bad != 4 { // the text for a number is no fault where nothing wants a number
		t.Errorf("got %+v", finish(t, q).Totals())
	}
}

// TestRequire: what is at a path is of one of the kinds that are required, absent, or the reason why the record is bad.
func TestRequire(t *testing.T) {
	got := map[string]string{ // what Int and Text say of it
		`"12"`: "", `12`: "", `-7`: "", `9223372036854775807`: "", `null`: "", `"1e5"`: "", `"-"`: "", `""`: "", `"Infinity"`: "",
		`9223372036854775808`: "another number", `1e5`: "another number", `12.0`: "another number", `0.5`: "another number",
		`1e400`: "another number", `"1e400"`: "another number", `true`: "true or false", `{"a":1}`: "an object", `[]`: "an array",
	}
	for value, want := range got {
		bad := finish(t, From(Memory("t", [][]Record{{{Value: fmt.Appendf(nil, `{"id":%s}`, value)}}})).Require("id", Int, Text).Select("id")).BadRecords()
		if want != "" {
			want = "id: want an integer or a text, got " + want
		}
		if reason := strings.Join(reasons(bad), ", "); reason != want {
			t.Errorf("%s: got %q, want %q", value, reason, want)
		}
	}
	one := Memory("t", [][]Record{{{Value: []byte(`{"n":1,"x":2.5,"b":true,"o":{}}`)}}})
	all := From(one).Require("n", Float).Require("x", Float).Require("b", Bool).Require("o", JSON).Require("none", Bool).With("y", Field("x").Add(1)).Require("y", Float)
	if r := finish(t, all.Select("n")); r.Results().Len() != 1 || r.Totals().Bad != 0 {
		t.Errorf("got %+v, of which nothing should be bad", r.BadRecords())
	}
	if r := finish(t, all.Require("o", Bool, JSON).Require("y", Int, JSON).Select("n")); reasons(r.BadRecords())[0] != "y: want an integer or an object or an array, got another number" {
		t.Errorf("got %q", reasons(r.BadRecords()))
	}
	for _, q := range []*Query{From(one).Require("n"), From(one).Require("n", Time), From(one).Require("", Int)} {
		if _, err := q.Select("n").Start(t.Context()); err == nil {
			t.Errorf("%s: no error", q.Explain())
		}
	}
}

// reasons are the reasons of bad records.
func reasons(bad *BadRecords) (list []string) {
	for _, r := range bad.Reasons {
		list = append(list, r.Reason)
	}
	return list
}

func TestBadRecordsAreBounded(t *testing.T) {
	var all []Record
	for i := range 5000 {
		all = append(all, Record{Value: fmt.Appendf(nil, `{"a":%d x`, i)})
	}
	got := finish(t, counting(Memory("t", [][]Record{all}))).BadRecords()
	if got.Total != 5000 || len(got.Newest) != 100 || got.Newest[0].Offset != 4900 || got.Newest[99].Offset != 4999 {
		t.Errorf("got %d, of which %d kept, %d first", got.Total, len(got.Newest), got.Newest[0].Offset)
	}
	if len(got.Reasons) != 1 || got.Reasons[0].Count != 5000 {
		t.Errorf("got reasons %v, want one kind", got.Reasons)
	}
	large := []Record{{Key: bytes.Repeat([]byte("k"), 1<<20), Value: append(bytes.Repeat([]byte(" "), 1<<20), '{')}}
	kept := finish(t, counting(Memory("t", [][]Record{large}))).BadRecords().Newest[0]
	if len(kept.Value) != 64<<10 || len(kept.Key) != 64<<10 {
		t.Errorf("got %d bytes of the value and %d of the key, want 64 KiB of each", len(kept.Value), len(kept.Key))
	}
}

// TestReasonsAreBounded: a function that names each record in its error does not fill the memory.
func TestReasonsAreBounded(t *testing.T) {
	var all []Record
	for i := range 3000 {
		all = append(all, Record{Value: fmt.Appendf(nil, `{"a":"%c%c%c"}`, 'a'+i/900, 'a'+i/30%30, 'a'+i%30)})
	}
	fail := func(row Row) (any, error) { return nil, fmt.Errorf("what is %s", row.Text("a")) }
	got := finish(t, From(Memory("t", [][]Record{all})).MapFunc("b", fail, "a").Select("b")).BadRecords()
	if len(got.Reasons) != 1001 || got.Reasons[0].Reason != "other reasons" || got.Reasons[0].Count != 2000 || got.Total != 3000 {
		t.Errorf("got %d reasons, first %+v, of %d records", len(got.Reasons), got.Reasons[0], got.Total)
	}
}

func TestReasonsAreKinds(t *testing.T) {
	var all []Record
	for _, text := range []string{"x", "y", `{"a":1x}`, `{"a":22y}`, `{"a":`, `{"a":1,`, `{"shop":7}`} {
		all = append(all, Record{Value: []byte(text)})
	}
	got := map[string]int64{}
	bad := finish(t, counting(Memory("t", [][]Record{all}))).BadRecords()
	for _, r := range bad.Reasons {
		got[r.Reason] = r.Count
	}
	want := map[string]int64{"not JSON: invalid character looking for beginning of value": 2, "not JSON: invalid character after object key:value pair": 2,
		"not JSON: unexpected end of JSON input": 2, "no event time: as_time(at) is absent": 1}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if at := bad.Newest[3].Reason; !strings.Contains(at, "'y'") || !strings.Contains(at, "at byte 8") {
		t.Errorf("a record's own reason: got %q", at)
	}
}

// TestDeadLettersAreTheRecords: each bad or late record once, with all that a reader needs to send it again.
func TestDeadLettersAreTheRecords(t *testing.T) {
	all := []Record{{Value: []byte("{"), Key: []byte("k"), Time: threeOClock}, event(7, 1, 0), event(7, 1, 200), event(7, 1, 3), {Value: nil}}
	letters := NewRows()
	sink := SinkFunc(func(_ int64, rows *Rows) error {
		letters.Columns = rows.Columns
		for i := range rows.Len() {
			row := make([]Value, len(rows.Columns))
			for k := range row {
				row[k] = rows.At(i, k)
			}
			letters.Append(row...)
		}
		return nil
	})
	running := finish(t, counting(Memory("t", [][]Record{all}).BatchSize(2)).DeadLetters(sink))
	var b strings.Builder
	if err := letters.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	want(t, strings.ReplaceAll(b.String(), `""`, `'`), `reason,topic,partition,offset,timestamp,key,value
		not JSON: unexpected end of JSON input at byte 1,t,0,0,2026-03-01T15:00:00Z,k,{
		late by 2m47s,t,0,3,,,"{'shop':7,'city':{'id':1},'at':'2026-03-01T15:00:03Z'}"
		not JSON: the record has no value,t,0,4,,,`)
	if got := running.Totals(); got.Bad != 2 || got.Late != 1 {
		t.Errorf("got %+v, want 2 bad and 1 late", got)
	}
}

// TestNamesOfMissingPaths: each path that no record had is named once, and those that were there are not.
func TestNamesOfMissingPaths(t *testing.T) {
	q := timed(`{"a":null,"b":1,"at":"2026-03-01T12:00:00Z"}`).Filter(Or(Has("a"), Field("b").Gt(0), Field("c.d").Gt(0))).Select("b", "e")
	notes := finish(t, q).Notes()
	for _, path := range []string{"c.d", "e"} {
		if n := strings.Count(strings.Join(notes, "\n"), fmt.Sprintf("No record had %q", path)); n != 1 {
			t.Errorf("%s is named %d times in %q", path, n, notes)
		}
	}
	if strings.Contains(strings.Join(notes, "\n"), `"b"`) {
		t.Errorf("b was there: %q", notes)
	}
}
