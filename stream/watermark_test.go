package stream_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

func TestWatermark(t *testing.T) {
	for _, test := range []struct {
		name    string
		seconds []float64
		want    string
		late    int64
	}{
		{"in order", []float64{0, 59.999, 60, 119}, "7@0=2 7@60=2", 0},
		{"half-open", []float64{60}, "7@60=1", 0},
		{"before the hour", []float64{-0.001, -60}, "7@-60=2", 0},
		{"late by less than the delay", []float64{89.9, 10}, "7@0=1 7@60=1", 0},
		{"watermark at the window's end", []float64{90, 59.999}, "7@60=1", 1},
		{"watermark never goes back", []float64{200, 100, 130, 59}, "7@120=1 7@180=1", 2},
		{"a window that was never opened is closed too", []float64{300, 100}, "7@300=1", 1},
	} {
		var all []Record
		for _, s := range test.seconds {
			all = append(all, event(7, 1, s))
		}
		for _, batch := range []int{1, 100} {
			running := finish(t, counting(Memory("t", [][]Record{all}).BatchSize(batch)))
			if got := counts(running.Results()); got != test.want {
				t.Errorf("%s, batches of %d: got %s, want %s", test.name, batch, got, test.want)
			}
			if got := running.Totals().Late; got != test.late {
				t.Errorf("%s, batches of %d: got %d late, want %d", test.name, batch, got, test.late)
			}
		}
	}
}

// watermarkSecond is the watermark in seconds after three o'clock.
func watermarkSecond(r *Running) string {
	w, ok := r.Progress().Watermark()
	if !ok {
		return "none"
	}
	return fmt.Sprint(w.Sub(threeOClock).Seconds())
}

// TestIdlePartition: the query's watermark waits for a partition without records until it has been idle long enough.
func TestIdlePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{nil, nil}).Follow()
		running := start(t, by(source, "city.id"))
		defer stop(t, running)
		source.Append(0, event(1, 5, 10), event(1, 5, 200))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := watermarkSecond(running); got != "none" {
			t.Errorf("partition 1 silent for 3 s: got watermark %s, want none", got)
		}
		if got := running.Results().Len(); got != 0 {
			t.Errorf("got %d rows before partition 1 is idle, want 0", got)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := watermarkSecond(running); got != "170" {
			t.Errorf("partition 1 silent for 7 s: got watermark %s, want 170", got)
		}
		if got, want := counts(running.Results()), "5@0=1"; got != want {
			t.Errorf("got rows %s, want %s", got, want)
		}
		source.Append(1, event(2, 5, 100), event(2, 5, 150)) // 120 is closed, 180 is not
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := watermarkSecond(running); got != "170" {
			t.Errorf("partition 1 came back behind: got watermark %s, want 170 still", got)
		}
		if got := running.Totals().Late; got != 1 {
			t.Errorf("got %d late, want 1", got)
		}
	})
}

// TestIdleAfter: how long a partition must be silent is a setting.
func TestIdleAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{nil, nil}).Follow()
		running := start(t, by(source, "city.id").IdleAfter(time.Minute))
		defer stop(t, running)
		source.Append(0, event(1, 5, 10), event(1, 5, 200))
		for _, each := range []struct {
			sleep time.Duration
			want  string
		}{{55 * time.Second, "none"}, {7 * time.Second, "170"}} {
			time.Sleep(each.sleep)
			synctest.Wait()
			if got := watermarkSecond(running); got != each.want {
				t.Errorf("%v later: got watermark %s, want %s", each.sleep, got, each.want)
			}
		}
	})
}

// TestAllIdle: when no partition has news, nobody is waited for.
func TestAllIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{{event(1, 5, 10), event(1, 5, 100)}, {event(2, 6, 10), event(2, 6, 300)}}).Follow()
		running := start(t, by(source, "city.id"))
		defer stop(t, running)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := watermarkSecond(running); got != "70" {
			t.Errorf("got watermark %s, want 70, the least", got)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if got := watermarkSecond(running); got != "270" {
			t.Errorf("all idle: got watermark %s, want 270, the greatest", got)
		}
		if got, want := counts(running.Results()), "5@0=1 5@60=1 6@0=1"; got != want {
			t.Errorf("got rows %s, want %s", got, want)
		}
	})
}

// TestOwnWatermark: where shops are keyed, another partition's progress makes nothing late, idle or not.
func TestOwnWatermark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{nil, nil}).Follow()
		running := start(t, counting(source))
		defer stop(t, running)
		source.Append(0, event(1, 5, 10), event(1, 5, 2000))
		time.Sleep(10 * time.Second)
		source.Append(1, event(2, 5, 0))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := running.Totals().Late; got != 0 {
			t.Errorf("got %d late, want 0", got)
		}
		if got, want := counts(running.Results()), "1@0=1"; got != want {
			t.Errorf("before the end: got %s, want %s", got, want)
		}
		stop(t, running)
		if got, want := counts(running.Results()), "1@0=1 1@1980=1 2@0=1"; got != want {
			t.Errorf("after the end: got %s, want %s", got, want)
		}
	})
}

// TestFutureEvents: one event far ahead makes no other late and is in its window; a stream that is there is believed.
func TestFutureEvents(t *testing.T) {
	const century = 74 * 366 * 24 * 3600
	from := func(first float64, n int) []Record { return events(7, first, n) }
	for _, test := range []struct {
		name         string
		records      []Record
		limit        time.Duration
		rows         int
		late, future int64
	}{
		{"one in the middle", slices.Concat(from(0, 60), from(century, 1), from(60, 60)), DefaultMaxAhead, 3, 0, 1},
		{"the first", slices.Concat(from(century, 1), from(0, 120)), DefaultMaxAhead, 3, 0, 1},
		{"some in a row", slices.Concat(from(0, 60), from(century, 50), from(60, 60)), DefaultMaxAhead, 3, 0, 50},
		{"all", from(century, 120), DefaultMaxAhead, 2, 0, 1},
		{"all from some time on", slices.Concat(from(0, 60), from(century, 120)), DefaultMaxAhead, 3, 0, 99},
		{"without a limit", slices.Concat(from(0, 60), from(century, 1), from(60, 60)), 0, 2, 60, 0},
		{"days ahead, in steps", slices.Concat(from(century, 2), from(century+80000, 1), from(century+160000, 1), from(century+240000, 1)), DefaultMaxAhead, 4, 0, 1},
	} {
		running := finish(t, counting(Memory("t", [][]Record{test.records}).BatchSize(1)).MaxAhead(test.limit))
		totals := running.Totals()
		if got := running.Results().Len(); got != test.rows || totals.Late != test.late || totals.Future != test.future || totals.Bad != 0 {
			t.Errorf("%s: got %d rows, %+v, want %d rows, %d late, %d in the future", test.name, got, totals, test.rows, test.late, test.future)
		}
	}
}

// TestEventTimesAtTheEdges: times that int64 holds with room for windows are taken, others make a record bad; the time stamp of a record counts
// where no EventTime is set.
func TestEventTimesAtTheEdges(t *testing.T) {
	const all = `{"at":"1681-01-01T00:00:00Z"}
		{"at":"2259-12-31T23:59:59Z"}
		{"at":"1678-01-01T00:00:00Z"}
		{"at":"2262-01-01T00:00:00Z"}
		{"at":"3000-01-01T00:00:00Z"}`
	running := finish(t, timed(all).MaxAhead(0).Watermark(180*24*time.Hour).Window(Tumbling(180*24*time.Hour)).Agg(Count("n")))
	if got := running.Totals(); got.Bad != 3 || running.Results().Len() != 2 {
		t.Errorf("got %+v, %v", got, running.Results())
	}
	stamped := []Record{{Value: []byte("{}"), Time: threeOClock}, {Value: []byte("{}"), Time: time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)}}
	running = finish(t, From(Memory("t", [][]Record{stamped})).Window(Tumbling(time.Minute)).Agg(Count("n")))
	if got := csvOf(t, running); got != "window_start,window_end,n\n2026-03-01T15:00:00Z,2026-03-01T15:01:00Z,1\n" || running.Totals().Bad != 1 {
		t.Errorf("got %s and %d bad, want the one of 2026", got, running.Totals().Bad)
	}
}

// TestASourceWithoutPartitionsHoldsNothingBack: once it has ended.
func TestASourceWithoutPartitionsHoldsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shops := func(source Source) *Query {
			return From(source).EventTime(Field("at").AsTime()).Watermark(30 * time.Second).Select("shop")
		}
		left := Memory("left", [][]Record{{event(1, 5, 0), event(1, 5, 500)}}).Follow()
		running := start(t, shops(left).Union(shops(Memory("nothing", nil))).GroupBy("shop").Window(Tumbling(time.Minute)).Agg(Count("events")))
		defer stop(t, running)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := counts(running.Results()); got != "1@0=1" {
			t.Errorf("got %s, want 1@0=1", got)
		}
	})
}

// TestTwoSources: the watermark of a query with two sources is the least of both, and one that has ended holds nothing back.
func TestTwoSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, right := Memory("left", [][]Record{{event(1, 5, 0), event(1, 5, 500)}}).Follow(), Memory("right", [][]Record{nil}).Follow()
		shops := func(source Source) *Query {
			return From(source).EventTime(Field("at").AsTime()).Watermark(30 * time.Second).IdleAfter(time.Hour).Select("shop")
		}
		running := start(t, shops(left).Union(shops(right)).GroupBy("shop").Window(Tumbling(time.Minute)).Agg(Count("events")))
		defer stop(t, running)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := counts(running.Results()); got != "" {
			t.Errorf("the right source has had nothing: got %s", got)
		}
		right.Append(0, event(2, 5, 30), event(2, 5, 130))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got, second := counts(running.Results()), watermarkSecond(running); got != "1@0=1 2@0=1" || second != "100" {
			t.Errorf("got %s with the watermark at %s, want the first minute at 100", got, second)
		}
		right.End()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got, second := counts(running.Results()), watermarkSecond(running); got != "1@0=1 2@0=1 2@120=1" || second != "470" {
			t.Errorf("after the right source's end: got %s with the watermark at %s", got, second)
		}
	})
}

// TestIdleKeyedPartition: a partition that closes its own windows and falls silent does not keep them for ever: what the others have passed is
// given out, and what comes for it later is late.
func TestIdleKeyedPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{nil, nil}).Follow()
		running := start(t, counting(source))
		defer stop(t, running)
		source.Append(1, event(2, 5, 10), event(2, 5, 70))
		source.Append(0, event(1, 5, 10), event(1, 5, 2000))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got, want := counts(running.Results()), "1@0=1"; got != want {
			t.Errorf("before it is idle: got %s, want %s", got, want)
		}
		source.Append(0, event(1, 5, 2001))
		time.Sleep(3 * time.Second)
		source.Append(0, event(1, 5, 2002))
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := counts(running.Results()), "1@0=1 2@0=1 2@60=1"; got != want {
			t.Errorf("idle: got %s, want %s", got, want)
		}
		source.Append(1, event(2, 5, 71), event(2, 5, 130))
		time.Sleep(time.Second)
		synctest.Wait()
		if got := running.Totals(); got.Late != 1 || len(got.LateBy) != 1 || got.LateBy[0].Rows != 1 {
			t.Errorf("back again: got %d late, by %v, want 1", got.Late, got.LateBy)
		}
	})
}

// TestLateByHowLate: late rows are counted by how far the watermark had passed their time.
func TestLateByHowLate(t *testing.T) {
	all := []Record{event(1, 5, 10_000), event(1, 5, 9_900), event(1, 5, 9_000), event(1, 5, 8_000), event(1, 5, 0)}
	running := finish(t, counting(Memory("t", [][]Record{all})))
	totals := running.Totals()
	if got, want := fmt.Sprint(totals.LateBy), "[1 by less than 10m0s 2 by less than 1h0m0s 1 by an hour or more]"; totals.Late != 4 || got != want {
		t.Errorf("got %d late, %s, want 4, %s", totals.Late, got, want)
	}
}
