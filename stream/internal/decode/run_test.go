package decode_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cancha/stream/internal/decode"
	"cancha/stream/internal/value"
)

// football is a decoder of an event with members of all kinds that no path needs, and of one that is another's from time to time.
func football(t testing.TB) *decode.JSON {
	d, err := decode.NewJSON([]decode.Slot{{Path: "metadata.at", Want: decode.Instant, At: 0}, {Path: "team.id", Want: decode.Natural, At: 1},
		{Path: "place[0]", Want: decode.Number, At: 2}, {Path: "place[1]", Want: decode.Number, At: 3}, {Path: "shot.outcome.id", Want: decode.Number, At: 4}}, envelope)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var events = []string{
	`{"event":{"id":"9cebddcd-9d3c-4a3b-8c1e-57227901daf9","index":1563,"minute":12,"type":{"id":30,"name":"Pass"},"possession_team":{"id":67,"name":"Racing"},` +
		`"team":{"id":67,"name":"Racing"},"place":[41.5,-30.4],"under_pressure":true,"duration":1.066783,"pass":{"length":30.5242,"angle":-1.5e-3,"height":{"id":1,"name":"Ground Pass"},` +
		`"end":[50,0.6],"through":false,"recipient":{"id":5503,"name":"Ezequiel"}},"shot":{"outcome":{"id":97,"name":"Goal"},"xg":0.25,"freeze":[{"place":[1,2],"mate":true},{"place":[3.5,40],"mate":null}]}},` +
		`"metadata":{"made":"2026-03-01T15:15:37.200Z","at":"2026-03-01T15:15:37.200Z","source":"simulator"}}`,
	`{"event": {"id": "78eee9a8", "index": 1, "minute": 0, "type": {"id": 42, "name": "Ball \u00e9"}, "team": {"id": 68, "name": "R\n"}, "place": [7.25, 5], "tags": [], "more": {}, "x": [[1, 2], [3]], "n": NaN,` +
		` "shot": {"xg": 12345678901234567890, "outcome": {"id": 1.5}}}, "metadata": {"made": null, "at": "2026-03-01T15:15:37Z"}}`,
	`{"shot_outcome_id":3,"team_id":9,"place":[1,2],"metadata":{"at":"2026-03-01T15:15:38.200Z"},"event":{"place":[3,4],"team":{"id":7},"index":12}}`,
}

// TestTaughtDecodersReadTheSame: of records that are damaged in each place, a decoder that knows their shape reads what a new one reads, whatever
// stands behind them in memory.
func TestTaughtDecodersReadTheSame(t *testing.T) {
	taught, row := football(t), make([]value.Value, 5)
	read := func(d *decode.JSON, record []byte) string {
		clear(row)
		return show(row, d.Decode(record, row))
	}
	random, good := rand.New(rand.NewPCG(7, 7)), 0
	for i := range 20_000 {
		event := []byte(events[i%len(events)])
		read(taught, event) // it knows the shape, and what came last
		record, behind := damaged(random, event)
		got := read(taught, append(slices.Clip(record), behind...)[:len(record)])
		if want := read(football(t), record); got != want {
			t.Fatalf("%s\nbefore %q: got %s, want %s", record, behind, got, want)
		} else if want[:3] != "bad" {
			good++
		}
	}
	if good < 4_000 || good > 16_000 {
		t.Errorf("%d of 20000 records are good: the others, or these, test nothing", good)
	}
}

// damaged is a record with a piece of it changed, cut out, repeated or cut off, and what stands behind it.
func damaged(random *rand.Rand, event []byte) (record, behind []byte) {
	at := random.IntN(len(event))
	to := min(at+random.IntN(12), len(event))
	behind = []byte(events[0])[random.IntN(400):]
	switch random.IntN(5) {
	case 0:
		return event[:at], append(slices.Clone(event[at:]), behind...)
	case 1:
		return slices.Delete(event, at, to), behind
	case 2:
		return slices.Insert(event, at, event[at:to]...), behind
	case 3:
		const letters = `"\\{}[],:.-+eE0123456789 tfn` + "\x01\x1f\xc3"
		event[at] = letters[random.IntN(len(letters))]
		return event, behind
	default:
		event[at] = "0123456789abcdefghijklmnop"[random.IntN(26)]
		return event, behind
	}
}

// FuzzBehind decodes a record with one thing behind it in memory and with another, after another record.
func FuzzBehind(f *testing.F) {
	for _, event := range events {
		f.Add([]byte(events[0]), []byte(event), []byte(event))
		f.Add([]byte(event), []byte(event)[:len(event)/2], []byte(event)[len(event)/2:])
	}
	f.Fuzz(func(t *testing.T, first, record, behind []byte) {
		fresh, taught := football(t), football(t)
		row := make([]value.Value, 5)
		want := show(row, fresh.Decode(slices.Clip(slices.Clone(record)), row))
		text := append(slices.Clone(record), append(behind, make([]byte, 18)...)...)[:len(record)]
		for range 3 {
			clear(row)
			taught.Decode(first, row)
			clear(row)
			if got := show(row, taught.Decode(text, row)); got != want {
				t.Fatalf("%q after %q and before %q: got %s, want %s", record, first, behind, got, want)
			}
		}
	})
}
