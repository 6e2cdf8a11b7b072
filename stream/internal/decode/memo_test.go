package decode

import (
	"testing"

	"cancha/stream/internal/value"
)

// TestMemoKnowsMisfits: what is remembered of an object does not depend on what stood before it in the record where it was seen first.
func TestMemoKnowsMisfits(t *testing.T) {
	slots := []Slot{{Path: "shot.outcome", Want: Number}}
	for _, each := range []struct{ name, first, second string }{
		{"a misfit is lost", `{"shot_outcome":"x","shot":{"outcome":"a","outcome":"b"},"long enough":1}`, `{"shot":{"outcome":"a","outcome":"b"},"long enough":1}`},
		{"a misfit is kept", `{"shot":{"outcome":"a","outcome":null},"long enough":1}`, `{"shot_outcome":"x","shot":{"outcome":"a","outcome":null},"long enough":1}`},
	} {
		read := func(records ...string) (reason string) {
			d, err := NewJSON(slots, Shape{Flat: "_"})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				reason = d.Decode([]byte(r), make([]value.Value, 1))
			}
			return reason
		}
		if got, want := read(each.first, each.second), read(each.second); got != want {
			t.Errorf("%s: behind another record got %q, alone %q", each.name, got, want)
		}
	}
}
