package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

// lifelong counts the events of each shop without windows.
func lifelong(source Source) *Query {
	return From(source).EventTime(Field("at").AsTime()).KeyedBy("shop").GroupBy("shop").TimeToLive(10 * time.Second).Agg(Count("n")).Output(Update)
}

// TestForgottenGroupsAreForgottenEverywhere: a key whose time to live is over may come from another partition, and is counted anew, though its first
// partition has been idle since, or has ended.
func TestForgottenGroupsAreForgottenEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{events(7, 100, 5), {}}).Follow()
		running := start(t, lifelong(source).IdleAfter(time.Second))
		defer stop(t, running)
		time.Sleep(3 * time.Second)
		source.Append(1, events(8, 1000, 3)...) // the first of a partition are not believed if they are far ahead of the clock
		time.Sleep(time.Second)
		source.Append(1, event(7, 1, 1003))
		synctest.Wait()
		rows := running.Results()
		for i := range rows.Len() {
			if row := rows.Row(i); row.Int("shop") == 7 && row.Int("n") != 1 {
				t.Errorf("shop 7 has %d events, want 1: those before were forgotten", row.Int("n"))
			}
		}
		if bad := running.Totals().Bad; rows.Len() != 2 || bad != 0 {
			t.Errorf("got %d rows and %d bad records, want 2 and none", rows.Len(), bad)
		}
	})
}

// TestPartitionsAreEachInputs: two topics may have the same keys.
func TestPartitionsAreEachInputs(t *testing.T) {
	first, second := Memory("a", [][]Record{events(7, 0, 5)}), Memory("b", [][]Record{events(7, 0, 5)})
	running := finish(t, counting(first).Union(counting(second)))
	if got := running.Results(); got.Len() != 2 || running.Totals().Bad != 0 {
		t.Errorf("got %d rows and %d bad records, want 2 and none", got.Len(), running.Totals().Bad)
	}
}

// TestOneRowOfAllIsGivenAsItChanges: an aggregation without keys and windows has one row.
func TestOneRowOfAllIsGivenAsItChanges(t *testing.T) {
	for _, mode := range []OutputMode{Update, Complete} {
		synctest.Test(t, func(t *testing.T) {
			source := Memory("t", [][]Record{{event(7, 1, 0)}}).Follow()
			running := start(t, From(source).Agg(Count("n")).Output(mode))
			defer stop(t, running)
			for want := int64(1); want < 4; want++ {
				synctest.Wait()
				if rows := running.Results(); rows.Len() != 1 || rows.Row(0).Int("n") != want {
					t.Errorf("%v: got %d rows, want one that counts %d", mode, rows.Len(), want)
				}
				source.Append(0, event(7, 1, 0))
			}
		})
	}
}
