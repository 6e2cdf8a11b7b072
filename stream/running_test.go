package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// start runs a query that may not end by itself; it is stopped with the test.
func start(t *testing.T, q *Query) *Running {
	t.Helper()
	running, err := q.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return running
}

func stop(t *testing.T, r *Running) {
	t.Helper()
	if err := r.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func watermarkSecond(r *Running) string {
	w, ok := r.Progress().Watermark()
	if !ok {
		return "none"
	}
	return fmt.Sprint(w.Sub(time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)).Seconds())
}

// TestIdlePartition: the query's watermark waits for a partition without records until it has been idle long enough.
func TestIdlePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("t", [][]Record{nil, nil}).Follow()
		q := From(source).GroupBy("team.id").Window(Tumbling(time.Minute)).Watermark(30 * time.Second).Agg(Count("events"))
		running := start(t, q)
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
		if got, want := shownCounts(running.Results()), "5@0=1"; got != want {
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

// TestOwnWatermark: where matches are keyed, another partition's progress makes nothing late, idle or not.
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
		if got, want := shownCounts(running.Results()), "1@0=1"; got != want {
			t.Errorf("before the end: got %s, want %s", got, want)
		}
		stop(t, running)
		if got, want := shownCounts(running.Results()), "1@0=1 1@1980=1 2@0=1"; got != want {
			t.Errorf("after the end: got %s, want %s", got, want)
		}
	})
}

// away is a source that has lost its broker for a minute.
type away struct{}

func (away) Description() string { return "away" }

func (away) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{"", 0}})
	h.Batch(ctx, Batch{Partition: 0})
	time.Sleep(10 * time.Second)
	h.Batch(ctx, Batch{Partition: 0, Records: []Record{event(1, 5, 0)}, HighWatermark: 1})
	h.Retry(errors.New("connection refused"), 2*time.Second)
	time.Sleep(time.Minute)
	h.Batch(ctx, Batch{Partition: 0, Records: []Record{event(1, 5, 10)}, HighWatermark: 2})
	<-ctx.Done()
	return nil
}

func TestRetryIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := start(t, counting(away{}))
		defer stop(t, running)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		want := "Cannot read, trying again in 2s: connection refused"
		if got := running.Status(); got.Message != want || !got.IsTriggerActive {
			t.Errorf("got %+v, want %q and active", got, want)
		}
		if got := running.String(); !strings.Contains(got, "Cannot read, trying again in 2s\n") || !strings.HasSuffix(got, "\nconnection refused") {
			t.Errorf("got %s\nwant it to say what it does, and why in a line of its own", got)
		}
		if running.lanes[Partition{}].idle.Load() {
			t.Error("a partition is called idle while the broker is away")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := running.Status().Message; got != "Processing new data" && got != "Waiting for data to arrive" {
			t.Errorf("after the return: got %q", got)
		}
	})
}

func TestMaxRecords(t *testing.T) {
	all := season(3, 8, 200)
	for _, n := range []int64{1, 499, 1000, int64(len(all)), int64(len(all)) + 5} {
		source := Memory("t", partitioned(all, 4)).BatchSize(17)
		running := finish(t, counting(source).MaxRecords(n))
		want := min(n, int64(len(all)))
		if got := running.Totals().Records; got != want {
			t.Errorf("MaxRecords(%d): got %d records, want %d", n, got, want)
		}
		events := 0.0
		for _, v := range running.Results().Column("events") {
			events += v
		}
		if int64(events) != want {
			t.Errorf("MaxRecords(%d): got %v events in windows, want %d", n, events, want)
		}
	}
}

func TestMaxRecordsEndsAnOpenTopic(t *testing.T) {
	source := Memory("t", [][]Record{{event(1, 1, 0), event(1, 1, 1)}, nil}).Follow()
	if got := finish(t, counting(source).MaxRecords(2)).Results().Len(); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}
}

// collector is a sink that keeps what it is given.
type collector struct {
	rows  []string
	epoch int64
	fail  error
}

func (c *collector) Write(_ context.Context, epoch int64, rows *Rows) error {
	if epoch != c.epoch+1 {
		return fmt.Errorf("epoch %d after %d", epoch, c.epoch)
	}
	c.epoch = epoch
	c.rows = append(c.rows, shownCounts(rows))
	return c.fail
}

func TestAppendGivesEachRowOnce(t *testing.T) {
	sink := &collector{}
	all := []Record{event(7, 1, 0), event(7, 1, 61), event(7, 1, 95), event(7, 1, 200)}
	finish(t, counting(Memory("t", [][]Record{all}).BatchSize(1)).To(sink))
	if got, want := strings.Join(sink.rows, " | "), "7@0=1 | 7@60=2 | 7@180=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUpdateGivesRowsAsTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &collector{}
		source := Memory("t", [][]Record{{event(7, 1, 0)}}).Follow()
		running := start(t, counting(source).Output(Update).To(sink))
		time.Sleep(2500 * time.Millisecond)
		source.Append(0, event(7, 1, 1), event(8, 1, 61))
		synctest.Wait()
		if got, want := shownCounts(running.Results()), "7@0=2 8@60=1"; got != want {
			t.Errorf("between two epochs: got %s, want %s", got, want)
		}
		time.Sleep(time.Second)
		source.Append(0, event(8, 1, 100))
		synctest.Wait()
		stop(t, running)
		if got, want := strings.Join(sink.rows, " | "), "7@0=1 | 7@0=2 8@60=1 | 7@0=2 | 8@60=2"; got != want {
			t.Errorf("sink: got %s, want %s", got, want)
		}
		if got, want := shownCounts(running.Results()), "7@0=2 8@60=2"; got != want {
			t.Errorf("result: got %s, want %s", got, want)
		}
	})
}

func TestSinkErrorEndsTheQuery(t *testing.T) {
	fail := errors.New("disk full")
	running := start(t, counting(Memory("t", [][]Record{{event(7, 1, 0), event(7, 1, 100)}}).Follow()).To(&collector{fail: fail}))
	if err := running.Wait(t.Context()); !errors.Is(err, fail) || !errors.Is(running.Err(), fail) {
		t.Errorf("got %v, want %v", err, fail)
	}
	if got := running.Status(); got.IsTriggerActive || !strings.Contains(got.Message, "disk full") {
		t.Errorf("got %+v, want it to say disk full", got)
	}
}

// broken is a source that fails at once.
type broken struct{ err error }

func (b broken) Description() string                { return "broken" }
func (b broken) Run(context.Context, Handler) error { return b.err }

func TestSourceErrorEndsTheQuery(t *testing.T) {
	cause := errors.New("no such topic")
	running := start(t, counting(broken{cause}))
	if err := running.Wait(t.Context()); !errors.Is(err, cause) || !strings.Contains(err.Error(), "read broken") {
		t.Errorf("got %v, want: read broken: %v", err, cause)
	}
}

func TestStopAndCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	source := func() Source { return Memory("t", [][]Record{{event(7, 1, 0)}}).Follow() }
	running := start(t, counting(source()))
	stop(t, running)
	stop(t, running)
	if running.Active() || running.Err() != nil {
		t.Errorf("stopped: active %t, error %v", running.Active(), running.Err())
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancelled, err := counting(source()).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waiting, giveUp := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer giveUp()
	if err := cancelled.Wait(waiting); !errors.Is(err, context.DeadlineExceeded) || !cancelled.Active() {
		t.Errorf("a wait that is given up: got %v, active %t, want deadline exceeded and active", err, cancelled.Active())
	}
	cancel()
	if err := cancelled.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
	if got := cancelled.Results().Len(); got != 0 {
		t.Errorf("cancelled: got %d rows, want 0: open windows are not closed", got)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("got %d goroutines, want %d", runtime.NumGoroutine(), before)
		}
	}
}

func TestBadRecords(t *testing.T) {
	good := event(7, 1, 0)
	bad := []Record{{Value: []byte(`{"event":`)}, {Value: nil}, {Value: []byte(`{"event":{"match_id":7}}`)},
		{Value: []byte(`{"event":{"match_id":"seven","period":"one"},"metadata":{"event_time":"2026-03-01T15:00:00.000Z"}}`)},
		{Value: []byte(`{"event":{"team":{"id":1}},"metadata":{"event_time":"2026-03-01T15:00:00.000Z"}}`)}}
	all := append([]Record{good}, bad...)
	q := counting(Memory("t", [][]Record{append(all, good)})).Where(Or(Not(Has("period")), Between("period", 1, 5)))
	running := finish(t, q)
	got := running.BadRecords()
	want := []string{"not JSON: unexpected end of JSON input at byte 9", "not JSON: the record has no value", noEventTime,
		"period: want a number, got another text", "no match_id"}
	if got.Total != 5 || len(got.Newest) != 5 || len(got.Reasons) != 5 {
		t.Fatalf("got %+v, want 5 bad records for 5 reasons", got)
	}
	for i, b := range got.Newest {
		if b.Reason != want[i] || b.Offset != int64(i+1) || b.Topic != "t" || !bytes.Equal(b.Value, bad[i].Value) {
			t.Errorf("got %+v, want offset %d, reason %q and the record itself", b, i+1, want[i])
		}
	}
	if counts := shownCounts(running.Results()); counts != "7@0=2" {
		t.Errorf("the good records: got %s, want 7@0=2", counts)
	}
}

func TestBadRecordsAreBounded(t *testing.T) {
	var all []Record
	for i := range 5000 {
		all = append(all, Record{Value: fmt.Appendf(nil, `{"a":%d x`, i)})
	}
	got := finish(t, counting(Memory("t", [][]Record{all}))).BadRecords()
	if got.Total != 5000 || len(got.Newest) != keptBadRecords || got.Newest[0].Offset != 4900 || got.Newest[99].Offset != 4999 {
		t.Errorf("got %d, of which %d kept, %d first", got.Total, len(got.Newest), got.Newest[0].Offset)
	}
	if len(got.Reasons) > keptReasons+1 {
		t.Errorf("got %d reasons", len(got.Reasons))
	}
}

func TestKeepRows(t *testing.T) {
	var all []Record
	for i := range 1000 {
		all = append(all, event(7, 1, float64(i)*60))
	}
	for _, mode := range []OutputMode{Append, Update} {
		rows := finish(t, counting(Memory("t", [][]Record{all})).KeepRows(10).Output(mode)).Results()
		if rows.Len() != 10 || rows.Total != 1000 || rows.Rows[9].Start.Sub(rows.Rows[0].Start) != 9*time.Minute {
			t.Errorf("%v: got %d rows of %d, want the newest 10 of 1000", mode, rows.Len(), rows.Total)
		}
	}
}

// TestProgressForm: the names are Spark's (progress.scala of Spark 4).
func TestProgressForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("events", [][]Record{{event(7, 1, 0), event(7, 1, 100), event(7, 1, 5)}}).Follow()
		running := start(t, counting(source).Name("by match"))
		defer stop(t, running)
		if got := running.Progress(); got.Name != "by match" || got.NumInputRows != 0 {
			t.Errorf("at the start: got %+v", got)
		}
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		text, err := json.Marshal(running.Progress())
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"id", "runId", "name", "timestamp", "batchId", "batchDuration", "numInputRows", "inputRowsPerSecond",
			"processedRowsPerSecond", "durationMs.addBatch", "durationMs.triggerExecution", "eventTime.max", "eventTime.min", "eventTime.watermark",
			"stateOperators.0.operatorName", "stateOperators.0.numRowsTotal", "stateOperators.0.numRowsUpdated", "stateOperators.0.numRowsRemoved",
			"stateOperators.0.numRowsDroppedByWatermark", "stateOperators.0.memoryUsedBytes", "stateOperators.0.customMetrics",
			"sources.0.description", "sources.0.startOffset.events.0", "sources.0.endOffset.events.0", "sources.0.latestOffset.events.0",
			"sources.0.numInputRows", "sources.0.inputRowsPerSecond", "sources.0.processedRowsPerSecond", "sources.0.metrics.lag",
			"sink.description", "sink.numOutputRows"} {
			if _, ok := lookUp(tree, path); !ok {
				t.Errorf("%s is missing in %s", path, text)
			}
		}
		p := running.Progress()
		if p.NumInputRows != 3 || p.InputRowsPerSecond != 3 || p.LateRows() != 1 || p.StateRows() != 1 || p.Sink.NumOutputRows != 1 {
			t.Errorf("got %s", text)
		}
		if got := p.EventTime["watermark"].String(); got != "2026-03-01T15:01:10.000Z" {
			t.Errorf("got watermark %s", got)
		}
		var back Progress
		if err := json.Unmarshal(text, &back); err != nil || back.EventTime["watermark"] != p.EventTime["watermark"] {
			t.Errorf("read back: %v, %+v", err, back)
		}
		time.Sleep(200 * time.Second)
		if got := len(running.Recent()); got != recentProgress {
			t.Errorf("got %d recent reports, want %d", got, recentProgress)
		}
	})
}

// TestReportsWhileRunning asks for everything while records come, for the race detector and for locks taken the wrong way.
func TestReportsWhileRunning(t *testing.T) {
	all := season(9, 4, 2000)
	running := start(t, MinuteStatistics(Memory("t", partitioned(all, 4)).BatchSize(50)).Output(Update))
	var shown atomic.Int64
	for running.Active() {
		for _, each := range []interface{ MIMEBundle() map[string]any }{running, running.Progress(), running.Results(), running.BadRecords(), running.Totals()} {
			bundle := each.MIMEBundle()
			html, _ := bundle["text/html"].(string)
			if plain, _ := bundle["text/plain"].(string); plain == "" || !strings.HasPrefix(html, "<table") || strings.Contains(html, "<script") {
				t.Fatalf("%T: got %v", each, bundle)
			}
			shown.Add(1)
		}
		running.Recent()
		running.Status()
	}
	if shown.Load() == 0 || running.Err() != nil {
		t.Errorf("shown %d times, error %v", shown.Load(), running.Err())
	}
	checkRows(t, running.Results(), naive(t, all))
}
