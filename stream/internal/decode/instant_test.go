package decode

import (
	"testing"
	"time"
)

func TestInstants(t *testing.T) {
	var p instants
	for _, text := range []string{"2026-03-01T15:00:00.123Z", "2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00.000Z", "2026-03-01T15:00:00.123Z",
		"1969-12-31T23:59:59.999Z", "2024-02-29T12:00:00.000Z", "2026-03-01T15:00:00+02:00", "2026-03-01T00:00:00.000+14:00",
		"2026-03-01T15:00:00Z", "2026-03-01T15:00:00.123456789Z", "1678-01-01T00:00:00.000Z", "2262-01-01T00:00:00.000Z"} {
		want, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time by the date that is remembered
			if got, ok := p.parse([]byte(text)); !ok || got != want.UnixNano() {
				t.Errorf("%s: got %v, %t, want %v", text, time.Unix(0, got).UTC(), ok, want)
			}
		}
	}
	for _, text := range []string{"", "2026-03-01", "2026-13-01T15:00:00.123Z", "2026-03-01T24:00:00.000Z", "2026-03-01T15:60:00.000Z",
		"2026-03-01T15:00:60.000Z", "2026-03-01T15:00:0x.000Z", "2026-03-01T15-00:00.000Z", "2026-03-01 15:00:00.000Z", "2026-03-01T15:00:00.00xZ",
		"2023-02-29T12:00:00.000Z", "0001-01-01T00:00:00.000Z", "9999-01-01T00:00:00.000Z", "2026-03-01T15:00:00.000"} {
		if got, ok := p.parse([]byte(text)); ok {
			t.Errorf("%q: got %v, want none", text, time.Unix(0, got).UTC())
		}
	}
}

// FuzzInstants compares with package time: the same texts are times, of the same nanoseconds.
func FuzzInstants(f *testing.F) {
	f.Add("2026-03-01T15:00:00.123Z", "2026-03-01T15:00:00.000Z")
	f.Add("2026-02-30T15:00:00.123Z", "2026-03-01T25:00:00.000Z")
	f.Fuzz(func(t *testing.T, before, text string) {
		var p instants
		p.parse([]byte(before))
		got, ok := p.parse([]byte(text))
		want, err := time.Parse(time.RFC3339Nano, text)
		fits := err == nil && !want.Before(firstInstant) && !want.After(lastInstant)
		if ok != fits || ok && got != want.UnixNano() {
			t.Errorf("%q after %q: got %v, %t, want %v, %v", text, before, got, ok, want, err)
		}
	})
}
