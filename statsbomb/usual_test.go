package statsbomb_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"cancha/statsbomb"
	"cancha/statsbomb/simulate"
)

// encoded are the events of some simulated matches, each as JSON.
func encoded(t testing.TB, matches int) [][]byte {
	t.Helper()
	archive := simulate.New(simulate.Config{Seed: 9})
	var texts [][]byte
	for _, m := range archive.Matches()[:matches] {
		events, err := archive.Events(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			text, err := statsbomb.EncodeEvent(e)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
	return texts
}

func indented(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", " "); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUsualForms: events as they are published, which are read in the short way, and the same with white space, which are not, are equal; and what
// a Decoder has given is not touched by what it reads later.
func TestUsualForms(t *testing.T) {
	texts := encoded(t, 2)
	var d statsbomb.Decoder
	events := make([]statsbomb.Event, len(texts))
	for i, text := range texts {
		n, err := d.DecodeInto(&events[i], append(text, `,"more":1}`...))
		if err != nil || n != len(text) {
			t.Fatalf("event %d: got %d of %d bytes, %v", i, n, len(text), err)
		}
	}
	for i, text := range texts {
		want, err := statsbomb.DecodeEvent(indented(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(events[i], want) {
			t.Fatalf("got\n%+v\nwant\n%+v", events[i], want)
		}
	}
}

// TestDecodeIntoFails: after an error nothing is left of an event, nor of the one before it.
func TestDecodeIntoFails(t *testing.T) {
	var d statsbomb.Decoder
	var e statsbomb.Event
	if _, err := d.DecodeInto(&e, []byte(shotText)); err != nil || e.Index == 0 {
		t.Fatal(err)
	}
	for _, text := range []string{`{"index":5,"period":1,"type":`, `{"index":5,"period":7,"type":{"id":30}}`, "\xef\xbb\xbf" + shotText} {
		if _, err := d.DecodeInto(&e, []byte(text)); err == nil || !reflect.DeepEqual(e, statsbomb.Event{}) {
			t.Errorf("%.40q: got %v, %+v", text, err, e)
		}
	}
}

// TestOther: a Decoder tells of what an Event has no place for, and of that alone.
func TestOther(t *testing.T) {
	got := map[string]string{}
	d := statsbomb.Decoder{Other: func(key, value []byte) { got[string(key)] = string(value) }}
	if _, err := d.Decode([]byte(`{"period":1,"type":{"id":30,"x":1},"event_time": "soon" ,"pass":{"y":2},"z":[{"a":NaN}]}`)); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"event_time": `"soon"`, "z": `[{"a":NaN}]`}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// FuzzUsualForms gives the decoder any JSON without and with white space: both are read alike, or both are refused.
func FuzzUsualForms(f *testing.F) {
	for _, text := range []string{shotText, flatText, `{"period":1,"type":{"id":030,"name":"Pass"},"location":[1e1,-0.0],"duration":-0,"index":123456789012345678}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var tight, wide bytes.Buffer
		if json.Compact(&tight, text) != nil || json.Indent(&wide, text, "", " ") != nil {
			return
		}
		var d statsbomb.Decoder
		got, err := d.Decode(tight.Bytes())
		want, refused := statsbomb.DecodeEvent(wide.Bytes())
		if (err == nil) != (refused == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%+v, %v\nwant\n%+v, %v", got, err, want, refused)
		}
	})
}
