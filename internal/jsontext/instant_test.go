package jsontext

import (
	"math"
	"testing"
	"time"
)

// TestInstants: the short way and time.Parse agree, whatever date was read before.
func TestInstants(t *testing.T) {
	var read Instants
	for range 2 {
		for _, text := range []string{"2026-03-01T15:00:01.042Z", "2026-03-01T23:59:59.999Z", "2026-03-01T24:00:00.000Z", "2026-03-01T15:60:01.042Z", "2026-03-01T15:00:60.042Z",
			"2026-03-01T15:00:01,042Z", "2026-03-01T15:0x:01.042Z", "2026-03-01t15:00:01.042Z", "2026-02-30T15:00:01.042Z", "2026-03-02T00:00:00.000Z",
			"2026-03-01T15:00:01Z", "2026-03-01T15:00:01.042+01:00", "2026-03-01T15:00:01.0421Z", "1677-09-21T00:12:43Z", "1677-09-22T00:12:43.000Z", "1969-12-31T23:59:59.999Z",
			"2262-04-11T23:47:16.854Z", "2262-04-11T23:47:16.855Z", "yesterday", ""} {
			want, err := time.Parse(time.RFC3339Nano, text)
			held := err == nil && time.Unix(0, want.UnixNano()).Equal(want)
			if got, ok := read.Parse([]byte(text)); ok != held || ok && got != want.UnixNano() {
				t.Errorf("%q: got %d, %v, want %d, %v", text, got, ok, want.UnixNano(), held)
			}
		}
	}
}

// FuzzInstants compares with package time: the same texts are times, of the same nanoseconds.
func FuzzInstants(f *testing.F) {
	f.Add("2026-03-01T15:00:00.123Z", "2026-03-01T15:00:00.000Z")
	f.Add("2026-02-30T15:00:00.123Z", "2026-03-01T25:00:00.000Z")
	f.Fuzz(func(t *testing.T, before, text string) {
		var p Instants
		p.Parse([]byte(before))
		got, ok := p.Parse([]byte(text))
		want, err := time.Parse(time.RFC3339Nano, text)
		fits := err == nil && !want.Before(time.Unix(0, math.MinInt64)) && !want.After(time.Unix(0, math.MaxInt64))
		if ok != fits || ok && got != want.UnixNano() {
			t.Errorf("%q after %q: got %v, %t, want %v, %v", text, before, got, ok, want, err)
		}
	})
}
