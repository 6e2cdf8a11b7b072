package stream_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

// collector is a sink that keeps what it is given.
type collector struct {
	mu    sync.Mutex
	rows  []string
	epoch int64
	fail  error
}

func (c *collector) Write(_ context.Context, epoch int64, rows *Rows) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch+1 {
		return fmt.Errorf("epoch %d after %d", epoch, c.epoch)
	}
	c.epoch = epoch
	c.rows = append(c.rows, counts(rows))
	return c.fail
}

func (c *collector) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.rows, " | ")
}

func TestAppendGivesEachRowOnce(t *testing.T) {
	sink := &collector{}
	all := []Record{event(7, 1, 0), event(7, 1, 61), event(7, 1, 95), event(7, 1, 200)}
	finish(t, counting(Memory("t", [][]Record{all}).BatchSize(1)).To(sink))
	if got, want := sink.all(), "7@0=1 | 7@60=2 | 7@180=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEpochsCountTheCallsOfASink: those of dead letters beside it make no gap.
func TestEpochsCountTheCallsOfASink(t *testing.T) {
	sink, letters := &collector{}, int64(0)
	all := []Record{{Value: []byte("{")}, event(7, 1, 0), {Value: []byte("[]")}, event(7, 1, 100), event(7, 1, 5), event(7, 1, 200)}
	finish(t, counting(Memory("t", [][]Record{all}).BatchSize(1)).To(sink).DeadLetters(SinkFunc(func(epoch int64, rows *Rows) error {
		if letters++; epoch != letters {
			return fmt.Errorf("letters: epoch %d, want %d", epoch, letters)
		}
		return nil
	})))
	if got, want := sink.all(), "7@0=1 | 7@60=1 | 7@180=1"; got != want || letters != 3 {
		t.Errorf("got %s and %d letters, want %s and 3", got, letters, want)
	}
}

func TestUpdateGivesRowsAsTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &collector{}
		source := Memory("t", [][]Record{{event(7, 1, 0)}}).Follow()
		running := start(t, counting(source).Output(Update).To(sink))
		synctest.Wait() // nothing more is there: the row leaves at once
		if got, want := sink.all(), "7@0=1"; got != want {
			t.Errorf("at first: got %s, want %s", got, want)
		}
		source.Append(0, event(7, 1, 1), event(8, 1, 61))
		synctest.Wait()
		if got, want := counts(running.Results()), "7@0=2 8@60=1"; got != want {
			t.Errorf("result: got %s, want %s", got, want)
		}
		source.Append(0, event(8, 1, 100))
		synctest.Wait()
		stop(t, running)
		// The first minute closes with the event at 100 s, and gives its row once more.
		if got, want := sink.all(), "7@0=1 | 7@0=2 8@60=1 | 7@0=2 8@60=2 | 8@60=2"; got != want {
			t.Errorf("sink: got %s, want %s", got, want)
		}
		if got, want := counts(running.Results()), "7@0=2 8@60=2"; got != want {
			t.Errorf("result at the end: got %s, want %s", got, want)
		}
	})
}

// TestTriggerHoldsChangesBack: rows that change leave together, once in that time.
func TestTriggerHoldsChangesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &collector{}
		source := Memory("t", [][]Record{{event(7, 1, 0)}}).Follow()
		running := start(t, counting(source).Output(Update).Trigger(10*time.Second).To(sink))
		synctest.Wait()
		for i := range 8 {
			time.Sleep(time.Second)
			source.Append(0, event(7, 1, float64(i)))
		}
		synctest.Wait()
		if got, want := sink.all(), "7@0=1"; got != want {
			t.Errorf("after 8 s: got %s, want %s", got, want)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got, want := sink.all(), "7@0=1 | 7@0=9"; got != want {
			t.Errorf("after 11 s: got %s, want %s", got, want)
		}
		stop(t, running)
	})
}

// TestBusyUpdatesLeaveInTime: rows that change leave within a tenth of a second, also while records keep coming.
func TestBusyUpdatesLeaveInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &collector{}
		running := start(t, by(busy{}, "city.id").Output(Update).To(sink))
		time.Sleep(time.Second)
		synctest.Wait()
		if writes := strings.Split(sink.all(), " | "); len(writes) < 5 {
			t.Errorf("in a second of records that keep coming: got %d writes, want one each 100 to 150 ms", len(writes))
		}
		stop(t, running)
	})
}

// busy hands over a record each 10 ms, and always knows of more.
type busy struct{}

func (busy) Description() string { return "busy" }

func (busy) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{}})
	for i := int64(0); ctx.Err() == nil; i++ {
		time.Sleep(10 * time.Millisecond)
		r := event(7, 1, 0)
		r.Offset = i
		if err := h.Batch(ctx, Batch{Records: []Record{r}, HighWatermark: 1 << 20}); err != nil {
			return err
		}
	}
	return nil
}

// TestCompleteGivesAllRows: each time, those that have not changed too.
func TestCompleteGivesAllRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &collector{}
		source := Memory("t", [][]Record{{event(7, 1, 0)}}).Follow()
		running := start(t, counting(source).Output(Complete).To(sink))
		synctest.Wait()
		source.Append(0, event(8, 1, 61))
		synctest.Wait()
		source.Append(0, event(8, 1, 62))
		synctest.Wait()
		stop(t, running)
		if got, want := sink.all(), "7@0=1 | 7@0=1 8@60=1 | 7@0=1 8@60=2 | 7@0=1 8@60=2"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestGroupsWithoutWindows: they live as long as rows come in time, and what has changed is told before a group is forgotten.
func TestGroupsWithoutWindows(t *testing.T) {
	all := []Record{event(1, 1, 0), event(2, 1, 30), event(1, 1, 50), event(3, 1, 7200), event(1, 1, 7201)}
	const want = "1,1 2,1 3,1" // a group that is forgotten begins again, that of shop 1 here
	for _, batch := range []int{1, 100} {
		told := map[string]bool{}
		sink := SinkFunc(func(_ int64, rows *Rows) error {
			for i := range rows.Len() {
				told[fmt.Sprintf("%v,%v", rows.At(i, 0), rows.At(i, 1))] = true
			}
			return nil
		})
		q := From(Memory("t", [][]Record{all}).BatchSize(batch)).EventTime(Field("at").AsTime()).GroupBy("shop").
			TimeToLive(time.Minute).Agg(Count("n")).Output(Update).To(sink)
		rows := finish(t, q).Results()
		var got []string
		for i := range rows.Len() {
			got = append(got, fmt.Sprintf("%v,%v", rows.At(i, 0), rows.At(i, 1)))
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("batches of %d: got %s, want %s", batch, all, want)
		}
		for _, row := range got {
			if !told[row] {
				t.Errorf("batches of %d: the sink was not told of %s, but of %v", batch, row, told)
			}
		}
	}
}

// TestAGroupInTwoPartitionsLivesOnInBoth: its rows in one partition keep those of the other.
func TestAGroupInTwoPartitionsLivesOnInBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{{event(1, 1, 0), event(2, 1, 5)}, {event(1, 1, 1)}}).Follow()
		q := From(source).EventTime(Field("at").AsTime()).GroupBy("shop").TimeToLive(time.Minute).Agg(Count("n")).Output(Update)
		running := start(t, q)
		for i := range 10 {
			source.Append(0, event(int64(3+i), 1, float64(30*i)))
			source.Append(1, event(1, 1, float64(30*i)))
			time.Sleep(time.Second)
		}
		stop(t, running)
		if got := running.Results(); got.At(0, 1).Int() != 12 || got.Len() != 12 {
			t.Errorf("got %v, want 12 events of shop 1", got)
		}
	})
}

// TestTimeToLiveIsNothingToAWindow: a group of a window is kept as long as the window is open.
func TestTimeToLiveIsNothingToAWindow(t *testing.T) {
	all := []Record{event(1, 1, 0), event(2, 1, 1800), event(2, 1, 1900)}
	q := From(Memory("t", [][]Record{all}).BatchSize(1)).EventTime(Field("at").AsTime()).GroupBy("shop").Window(Tumbling(time.Hour)).
		TimeToLive(time.Minute).Agg(Count("events"))
	if got, want := counts(finish(t, q).Results()), "1@0=1 2@0=2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestForgottenGroupsTakeNoRoom: a group without windows goes when its time is over.
func TestForgottenGroupsTakeNoRoom(t *testing.T) {
	var all []Record
	for i := range 5000 {
		all = append(all, event(int64(i), 1, float64(i)))
	}
	source := Memory("t", [][]Record{all}).BatchSize(100).Follow()
	running := start(t, From(source).EventTime(Field("at").AsTime()).GroupBy("shop").TimeToLive(time.Minute).Agg(Count("n")).Output(Update))
	for deadline := time.Now().Add(10 * time.Second); running.Totals().Records < 5000; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not read")
		}
	}
	if got := running.Totals().Bytes; got <= 0 || got > 100*1000 {
		t.Errorf("got %d bytes of state, want about 61 to 160 groups' worth", got)
	}
	stop(t, running)
	if got := running.Results().Len(); got != 5000 {
		t.Errorf("got %d rows, want 5000", got)
	}
}

// TestUpdatesOfAnAggregationAreNotCountedTwice: an Agg behind another counts the rows of closed windows, however often these change before.
func TestUpdatesOfAnAggregationAreNotCountedTwice(t *testing.T) {
	var all []Record
	for i := range 100 {
		all = append(all, event(int64(i%5), 1, float64(i)))
	}
	for _, mode := range []OutputMode{Append, Update, Complete} {
		for _, batch := range []int{1, 10, 500} {
			q := From(Memory("t", [][]Record{all}).BatchSize(batch)).EventTime(Field("at").AsTime()).Watermark(time.Minute).Output(mode).
				GroupBy("shop").Window(Tumbling(10*time.Minute)).Agg(Count("n")).Drop("window_start", "window_end").
				Window(Tumbling(time.Hour)).Agg(Sum("all", Field("n")))
			rows := finish(t, q).Results()
			if rows.Len() != 1 || rows.Row(0).Int("all") != 100 {
				t.Errorf("%v, batches of %d: got %v, want one row of 100", mode, batch, rows)
			}
		}
	}
}

// TestLargeIntegersAreThemselves: float64 holds not each of them.
func TestLargeIntegersAreThemselves(t *testing.T) {
	const first, second = int64(1234567890123456789), int64(1234567890123456790)
	a := Field("a")
	for _, c := range []struct {
		condition Expr
		want      string
	}{
		{a.Eq(first), "a\n1234567890123456789\n"}, {a.Ne(first), "a\n1234567890123456790\n"}, {a.Gt(first), "a\n1234567890123456790\n"},
		{a.Le(first), "a\n1234567890123456789\n"}, {a.In(first, 3), "a\n1234567890123456789\n"}, {a.In(first, second), "a\n1234567890123456789\n1234567890123456790\n"},
		{Literal(second).Eq(a), "a\n1234567890123456790\n"}, {Field("b").Gt(int64(1) << 53), "a\n1234567890123456789\n"},
		{a.OrElse(0).Eq(first), "a\n1234567890123456789\n"}, {a.Between(first, first), "a\n1234567890123456789\n"},
		{a.Add(0).Eq(first), "a\n1234567890123456789\n1234567890123456790\n"}, // sums are float64
	} {
		numbers := `{"a":1234567890123456789,"b":9007199254740993}
			{"a":1234567890123456790,"b":9007199254740992}`
		texts := regexp.MustCompile(`\d+`).ReplaceAllString(numbers, `"$0"`)
		for _, q := range []*Query{
			From(source(numbers)),
			From(source(texts)).Format(JSONFormat().TextNumbers()),
			From(source(strings.NewReplacer("{", "", "}", "", `"a":`, "", `"b":`, "").Replace(numbers))).Format(CSVFormat("a", "b")),
		} {
			q = q.Filter(c.condition).Select("a")
			if got := csvOf(t, finish(t, q)); got != c.want {
				t.Errorf("%v: got %q, want %q", c.condition, got, c.want)
			}
		}
	}
	running := finish(t, From(source(`{"a":"x"}`)).Filter(a.Ne(first)).Select("a"))
	if bad := running.BadRecords(); bad.Total != 1 {
		t.Errorf("a text compared with a large integer: got %+v, want one bad record", bad)
	}
}
