package statsbomb_test

import (
	"testing"

	"cancha/statsbomb"
)

// FuzzDecodeFiles gives every decoder of files any bytes: an error is fine, a panic is not, and what a list reads it can write.
func FuzzDecodeFiles(f *testing.F) {
	for _, text := range []string{"[" + shotText + "," + flatText + "]", matchesText, olderText, eventsText, framesText, lineupsText,
		`[{"competition_id":1,"season_id":2,"season_name":"2020"}]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d statsbomb.Decoder
		if events, err := d.DecodeAll(text); err == nil {
			for i := range events {
				if _, err := statsbomb.EncodeEvent(events[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if frames, err := d.DecodeFrames(text); err == nil && len(frames) > len(text) {
			t.Fatalf("%d frames from %d bytes", len(frames), len(text))
		}
		if list, err := statsbomb.DecodeMatches(text); err == nil {
			if _, err := statsbomb.EncodeMatches(list); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := statsbomb.DecodeLineups(text); err == nil {
			if _, err := statsbomb.EncodeLineups(list); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := statsbomb.DecodeCompetitions(text); err == nil {
			statsbomb.Seasons(list, 1)
		}
	})
}
