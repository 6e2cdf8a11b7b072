package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

// TestTableOfWindowsIsWhole: a table whose source ends has all its windows before the first record asks for one, however early that record's own time is.
func TestTableOfWindowsIsWhole(t *testing.T) {
	for range 20 {
		past := Memory("past", [][]Record{events(7, 0, 50), events(8, 3600, 70)})
		table := Latest("minutes", by(past, "shop").Select("shop", "events"), "shop")
		running := finish(t, From(Memory("now", [][]Record{{event(7, 1, -100), event(8, 1, 0), event(9, 1, 9999)}})).EventTime(Field("at").AsTime()).
			LeftLookup(table, Same("shop")).Select("shop", "events"))
		if got, want := csvOf(t, running), "shop,events\n7,50\n8,10\n9,\n"; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// TestTableHoldsNothingBack: windows are closed though the records of a table are old, and go on coming.
func TestTableHoldsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &collector{}
		names, source := Memory("names", [][]Record{{event(7, 1, -99999)}}).Follow(), Memory("t", [][]Record{nil}).Follow()
		table := Latest("names", From(names).EventTime(Field("at").AsTime()).Select("shop", "city.id"), "shop")
		running := start(t, From(source).EventTime(Field("at").AsTime()).MaxAhead(0).Lookup(table, Same("shop")).GroupBy("shop").Window(Tumbling(time.Minute)).
			Agg(Count("events")).To(sink))
		defer stop(t, running)
		synctest.Wait()
		source.Append(0, event(7, 1, 0), event(7, 1, 61))
		synctest.Wait()
		if got, want := sink.all(), "7@0=1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
