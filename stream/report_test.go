package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

// lookUp finds a path such as sources.0.description in a tree of JSON.
func lookUp(tree any, path string) (any, bool) {
	for part := range strings.SplitSeq(path, ".") {
		switch v := tree.(type) {
		case map[string]any:
			tree = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				return nil, false
			}
			tree = v[i]
		default:
			return nil, false
		}
	}
	return tree, tree != nil
}

// sparks are the names in Spark's StreamingQueryProgress (progress.scala of Spark 4), and our own below metrics.
var sparks = strings.Fields(`id runId name timestamp batchId batchDuration numInputRows inputRowsPerSecond processedRowsPerSecond
	durationMs.addBatch durationMs.triggerExecution eventTime.max eventTime.min eventTime.watermark
	stateOperators.0.operatorName stateOperators.0.numRowsTotal stateOperators.0.numRowsUpdated stateOperators.0.numRowsRemoved
	stateOperators.0.numRowsDroppedByWatermark stateOperators.0.memoryUsedBytes stateOperators.0.customMetrics
	sources.0.description sources.0.startOffset.events.0 sources.0.endOffset.events.0 sources.0.latestOffset.events.0
	sources.0.numInputRows sources.0.inputRowsPerSecond sources.0.processedRowsPerSecond sources.0.metrics.lag
	sink.description sink.numOutputRows`)

func TestProgressForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("events", [][]Record{{event(7, 1, 0), event(7, 1, 100), event(7, 1, 5)}}).Follow()
		running := start(t, counting(source).Name("by shop"))
		defer stop(t, running)
		if got := running.Progress(); got.Name != "by shop" || got.NumInputRows != 0 {
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
		for _, path := range sparks {
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
		if got := len(running.Recent()); got != 100 {
			t.Errorf("got %d recent reports, want 100", got)
		}
	})
}

// TestProgressWithoutMemory: what is a list in Spark's form is one here too where there is nothing in it.
func TestProgressWithoutMemory(t *testing.T) {
	for name, p := range map[string]Progress{"at the end": finish(t, From(source("{}")).Select("a")).Progress(),
		"before the first second": start(t, From(Memory("t", nil)).Select("a")).Progress()} {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text); strings.Contains(got, "null") || !strings.Contains(got, `"stateOperators":[]`) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestOperatorsReportTheirState: each operator with memory has its own entry, with what it keeps.
func TestOperatorsReportTheirState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := Memory("t", [][]Record{events(7, 0, 50)}).Follow()
		q := From(all).EventTime(Field("at").AsTime()).Watermark(10*time.Second).With("second", Field("at")).Deduplicate("second").
			GroupBy("shop").Window(Tumbling(time.Minute)).Agg(Count("n")).Top(1, "n")
		running := start(t, q)
		defer stop(t, running)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		var got []string
		for _, o := range running.Progress().StateOperators {
			got = append(got, fmt.Sprintf("%s %d", o.OperatorName, o.NumRowsTotal))
			if o.NumRowsTotal > 0 && o.MemoryUsedBytes <= 0 {
				t.Errorf("%s keeps %d rows in %d bytes", o.OperatorName, o.NumRowsTotal, o.MemoryUsedBytes)
			}
		}
		// The watermark is at 39 s: keys of 29 s and later are known.
		if want := []string{"deduplicate 21", "groups 1", "top 0"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if running.Totals().Bytes <= 0 {
			t.Error("the state takes no room")
		}
	})
}

// TestOffsetsAndLag: where the source was, is, and how much is left, by partition.
func TestOffsetsAndLag(t *testing.T) {
	all := [][]Record{events(1, 0, 5), events(2, 0, 7)}
	running := finish(t, by(Memory("t", all), "shop").MaxRecords(6))
	p := running.Progress().Sources[0]
	end := p.EndOffset["t"]["0"] + p.EndOffset["t"]["1"]
	if end != 6 || p.Metrics["lost"] != "0" || p.Metrics["badRecords"] != "0" {
		t.Errorf("got %+v, want 6 records read", p)
	}
	whole := finish(t, by(Memory("t", all), "shop")).Progress().Sources[0]
	if got := fmt.Sprint(whole.StartOffset, whole.EndOffset, whole.LatestOffset); got != "map[t:map[0:0 1:0]] map[t:map[0:5 1:7]] map[t:map[0:5 1:7]]" {
		t.Errorf("got %s", got)
	}
	if whole.Metrics["lag"] != "0" {
		t.Errorf("got lag %s, want 0", whole.Metrics["lag"])
	}
}

// TestReportsWhileRunning asks for everything while records come, for the race detector and for locks taken the wrong way.
func TestReportsWhileRunning(t *testing.T) {
	all := market(9, 4, 2000)
	running := start(t, minutes(Memory("t", partitioned(all, 4)).BatchSize(50)).Output(Update))
	var shown atomic.Int64
	for running.Active() {
		for _, each := range []interface{ MIMEBundle() map[string]any }{running, running.Progress(), running.Results(), running.BadRecords(),
			running.Totals(), running.Recent()} {
			bundle := each.MIMEBundle()
			html, _ := bundle["text/html"].(string)
			if plain, _ := bundle["text/plain"].(string); plain == "" || !strings.HasPrefix(html, "<table") || strings.Contains(html, "<script") {
				t.Fatalf("%T: got %v", each, bundle)
			}
			shown.Add(1)
		}
		running.Status()
	}
	if shown.Load() == 0 || running.Err() != nil {
		t.Errorf("shown %d times, error %v", shown.Load(), running.Err())
	}
	checkMinutes(t, running.Results(), naive(t, all))
}

func TestHistory(t *testing.T) {
	h := History{
		{Timestamp: Instant{Time: threeOClock}, NumInputRows: 4096, InputRowsPerSecond: 4090.5, ProcessedRowsPerSecond: 812_345.6, BatchDuration: 5,
			EventTime: map[string]Instant{"watermark": {Time: threeOClock.Add(time.Hour)}}},
		{Timestamp: Instant{Time: threeOClock.Add(1500 * time.Millisecond)}},
	}
	if got := h.Seconds(); !slices.Equal(got, []float64{0, 1.5}) {
		t.Errorf("seconds: got %v", got)
	}
	if got := h.Busy(); len(got) != 1 || !slices.Equal(got.ProcessRates(), []float64{812_345.6}) {
		t.Errorf("busy: got %v", got)
	}
	if !slices.Equal(h.InputRates(), []float64{4090.5, 0}) || !slices.Equal(h.BatchDurations(), []float64{5, 0}) {
		t.Errorf("got rates %v and durations %v", h.InputRates(), h.BatchDurations())
	}
	lines := strings.Split(h.String(), "\n")
	for i, want := range []string{"time input rate process rate input rows batch duration watermark late rows lag rows given out",
		"15:00:00 4,091 /s 812,346 /s 4,096 5 ms 2026-03-01 16:00:00 0 – 0", "15:00:01 0 /s – 0 0 ms – 0 – 0"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d: got %q, want %q", i, got, want)
		}
	}
	if got := (History)(nil).String(); !strings.Contains(got, "0 epochs") {
		t.Errorf("empty: got %q", got)
	}
}

func TestTotalsAsJSON(t *testing.T) {
	got, err := json.Marshal(Totals{Records: 2, Retries: 1, Bytes: 7, Elapsed: 1500 * time.Millisecond})
	want := `{"records":2,"bad":0,"late":0,"filtered":0,"future":0,"lost":0,"rows":0,"retries":1,"bytes":7,"elapsedMs":1500}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestLostRecordsAreCounted: what retention removed is told, never skipped in silence.
func TestLostRecordsAreCounted(t *testing.T) {
	running := finish(t, by(gap{}, "shop"))
	if notes := strings.Join(running.Notes(), " "); !strings.Contains(notes, "were gone before they could be read") {
		t.Errorf("it says %q", notes)
	}
	if got := running.Totals(); got.Lost != 95 || got.Records != 2 || running.Progress().Sources[0].Metrics["lost"] != "95" {
		t.Errorf("got %+v, %v", got, running.Progress().Sources)
	}
	if got := running.String(); !strings.Contains(got, "records lost to retention") {
		t.Errorf("got %s", got)
	}
}

// gap is a source that has lost records.
type gap struct{}

func (gap) Description() string { return "gap" }

func (gap) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{}})
	for _, offset := range []int64{4, 100} {
		r := event(7, 1, 0)
		r.Offset = offset
		if err := h.Batch(ctx, Batch{Records: []Record{r}, HighWatermark: 101, Lost: max(0, offset-5)}); err != nil {
			return err
		}
	}
	return nil
}
