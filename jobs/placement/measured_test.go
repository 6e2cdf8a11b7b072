package placement

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestJSON: a history that was written and read predicts as before, and is written as before.
func TestJSON(t *testing.T) {
	var h History
	for i := range 50 {
		w := MatrixMultiply(float64(100+17*i), 300, 300)
		learn(t, &h, w, []Worker{cpu, gpu, {Device: GPU, Model: "NVIDIA \"H100\" é"}}[i%3], 1+float64(i%5), 1+i%4)
	}
	if _, err := h.AddCold(Work{Type: "notebook"}, cpu, 7); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	var read History
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read.Measurements(), h.Measurements()) {
		t.Error("measurements differ")
	}
	w := MatrixMultiply(512, 512, 512)
	if a, b := h.Predict(w, gpu), read.Predict(w, gpu); a != b {
		t.Errorf("got %+v, want %+v", b, a)
	}
	// One by one, as a store keeps them.
	var kept History
	for _, m := range h.Measurements() {
		if err := kept.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := json.Marshal(&kept); err != nil || string(again) != string(text) {
		t.Errorf("restored one by one it is %.200s, %v", again, err)
	}
	empty, err := json.Marshal(&History{})
	if err != nil || string(empty) != `{"schema":1,"measurements":[]}` {
		t.Errorf("got %s, %v", empty, err)
	}
}

// TestJSONErrors: each text that no history has written is refused with what is wrong, and changes nothing.
func TestJSONErrors(t *testing.T) {
	row := func(change string) string {
		good := `"type":"t","bucket":3,"device":"cpu","model":"m","count":2,"mean":0.5,"variance":0.1`
		return `{"schema":1,"measurements":[{` + good + change + `}]}`
	}
	var h History
	if err := json.Unmarshal([]byte(row(`,"later":true`)), &h); err != nil {
		t.Fatalf("a field that is not known: %v", err)
	}
	want := h.Measurements()
	for _, c := range []struct{ name, text, want string }{
		{"no object", `[]`, "cannot unmarshal"},
		{"no schema", `{}`, "their schema is 0"},
		{"a newer one", `{"schema":2}`, "their schema is 2, and this version knows 1"},
		{"no runs", row(`,"count":0`), "number 1: placement: a measurement of 0 runs"},
		{"fewer", row(`,"count":-5`), "of -5 runs"},
		{"cold ones", row(`,"cold":true`), "a cold one has one"},
		{"no logarithm", row(`,"mean":1e300`), "a mean of 1e+300"},
		{"a negative variance", row(`,"variance":-0.1`), "a variance of -0.1"},
		{"a great one", row(`,"variance":1e9`), "a variance of 1e+09"},
		{"no type", row(`,"type":""`), "job type"},
		{"another device", row(`,"device":"tpu"`), `device "tpu"; it is "cpu" or "gpu"`},
		{"a negative bucket", row(`,"bucket":-1`), "bucket -1"},
		{"a great one", row(`,"bucket":2000`), "bucket 2000"},
		{"a key twice", strings.Replace(row(""), "]}", ","+row("")[strings.Index(row(""), "[")+1:], 1), "number 2 has the key of one before it"},
		{"too many", `{"schema":1,"measurements":[` + strings.Repeat("{},", mostKeys) + `{}]}`, "10001 of them; at most 10000"},
	} {
		if err := json.Unmarshal([]byte(c.text), &h); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if !reflect.DeepEqual(h.Measurements(), want) {
		t.Error("a text with an error has changed the history")
	}
}

// FuzzMeasurements: whatever a history takes it writes, and reads again as the same; all its predictions are times, before and after more runs.
func FuzzMeasurements(f *testing.F) {
	f.Add([]byte(`{"schema":1,"measurements":[]}`), 1.0, 1.0)
	f.Add([]byte(`{"schema":1,"measurements":[{"type":"t","bucket":3,"device":"cpu","model":"","count":2,"mean":0.5,"variance":0.1}]}`), 10.0, 0.1)
	f.Add([]byte(`{"schema":1,"measurements":[{"type":"t","bucket":1024,"device":"gpu","model":"m","count":9223372036854775807,"mean":-42,"variance":1764}]}`), 1e300, 1e300)
	f.Fuzz(func(t *testing.T, text []byte, operations, seconds float64) {
		var h, again History
		if json.Unmarshal(text, &h) != nil {
			return
		}
		written, err := json.Marshal(&h)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%v: %s", err, written)
		}
		if !reflect.DeepEqual(again.Measurements(), h.Measurements()) {
			t.Fatalf("got %+v, want %+v", again.Measurements(), h.Measurements())
		}
		for _, m := range append(h.Measurements(), Measurement{Key: Key{Type: "t", Device: CPU}}) {
			on := Worker{Device: m.Device, Model: m.Model}
			for _, w := range []Work{{Type: m.Type}, {Type: m.Type, Operations: max(operations, 0)}} {
				check(t, h.Predict(w, on))
				for _, add := range []func(Work, Worker, float64) (Measurement, error){h.AddCold, h.Add} {
					if m, err := add(w, on, seconds); err == nil && m.Validate() != nil {
						t.Fatalf("after a run: %v", m.Validate())
					}
				}
				check(t, h.Predict(w, on))
			}
		}
	})
}

func check(t *testing.T, p Prediction) {
	t.Helper()
	if !(p.Seconds > 0 && p.Seconds <= longest) || !(p.Sigma > 0 && p.Sigma <= mostSigma) {
		t.Fatalf("got %+v", p)
	}
	for _, elapsed := range []float64{0, 1e-9, p.Seconds, 2 * p.Seconds, 1e12} {
		if r := p.Remaining(elapsed); !(r >= 0 && r <= 1e13) {
			t.Fatalf("%+v: %v s remain after %v", p, r, elapsed)
		}
	}
}
