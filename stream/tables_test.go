package stream_test

import (
	"context"
	"fmt"
	"slices"
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

// endless is a source that always has a record more, and says so.
type endless struct{ records []Record }

func (endless) Description() string { return "endless" }

func (e endless) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{}})
	for i := int64(0); ctx.Err() == nil; i++ {
		r := e.records[min(i, int64(len(e.records)-1))]
		r.Offset = i
		if err := h.Batch(ctx, Batch{Records: []Record{r}, HighWatermark: i + 1}); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// TestBusyTableIsNotWaitedFor: a table of windows whose source goes on and on is asked once it has read what there was.
func TestBusyTableIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := Latest("minutes", by(endless{events(7, 0, 200)}, "shop").Select("shop", "events"), "shop")
		source := Memory("t", [][]Record{nil}).Follow()
		running := start(t, From(source).LeftLookup(table, Same("shop")).Select("shop", "events"))
		defer stop(t, running)
		time.Sleep(10 * time.Second)
		source.Append(0, event(7, 1, 0))
		synctest.Wait()
		if got, want := csvOf(t, running), "shop,events\n7,60\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestTextsAreKept: a text that a user's function has asked for stays what it was, though the record's memory is used again.
func TestTextsAreKept(t *testing.T) {
	var kept []string
	keep := func(r Row) (any, error) { kept = append(kept, r.Text("name"), r.Value("name").Text()); return nil, nil }
	finish(t, From(reusing{}).MapFunc("n", keep, "name").Select("n"))
	if want := []string{"one", "one", "two", "two"}; !slices.Equal(kept, want) {
		t.Errorf("got %q, want %q", kept, want)
	}
}

// reusing hands its records over in the same memory.
type reusing struct{}

func (reusing) Description() string { return "reusing" }

func (reusing) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{}})
	memory := make([]byte, 14)
	for i, name := range []string{"one", "two", "???"} {
		copy(memory, fmt.Sprintf(`{"name":"%s"}`, name))
		if name == "???" {
			return nil
		}
		if err := h.Batch(ctx, Batch{Records: []Record{{Offset: int64(i), Value: memory}}, HighWatermark: int64(i + 1)}); err != nil {
			return err
		}
	}
	return nil
}
