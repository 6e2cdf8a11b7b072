package kafka

import (
	"strings"
	"testing"

	"cancha/stream"
)

// TestMeet compares what a topic has with what a checkpoint knows.
func TestMeet(t *testing.T) {
	id := func(run string, number int64) stream.EpochID { return stream.EpochID{Run: run, Number: number} }
	none := stream.EpochID{}
	for name, c := range map[string]struct {
		last, wrote, snapshot stream.EpochID
		epoch, want           int64 // want -1: refused
	}{
		"nothing, of a query that begins":      {none, none, none, 0, 0},
		"nothing any more":                     {none, id("a", 4), id("a", 6), 4, 4},
		"what the checkpoint knows":            {id("a", 4), id("a", 4), id("b", 6), 4, 4},
		"the snapshot's":                       {id("b", 6), id("a", 4), id("b", 6), 4, 6},
		"a later one":                          {id("b", 7), id("a", 4), id("b", 6), 4, -1},
		"one of the same number, of elsewhere": {id("c", 6), id("a", 4), id("b", 6), 4, -1},
		"an older one":                         {id("a", 3), id("a", 4), id("b", 6), 4, -1},
		"an earlier version's":                 {id("", 4), none, id("", 6), 4, 4},
		"an earlier version's, the snapshot's": {id("", 6), none, id("", 6), 4, 6},
		"an earlier version's, later":          {id("", 7), none, id("", 6), 4, -1},
	} {
		x := &exact{topic: "rows", last: c.last}
		got, err := x.meet(stream.Mark{Epoch: c.epoch, Wrote: c.wrote, Snapshot: c.snapshot})
		if refused := c.want < 0; refused != (err != nil) || !refused && got != c.want {
			t.Errorf("%s: got %d, %v, want %d", name, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "write to another topic") {
			t.Errorf("%s: it does not say what to do: %v", name, err)
		}
	}
}
