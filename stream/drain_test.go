package stream_test

import (
	"strings"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// TestStopAndDrain: what is open when a query with a checkpoint is stopped is in Results and not in sinks, the next run goes on with it, and Drain gives it
// out for good.
func TestStopAndDrain(t *testing.T) {
	source := Memory("shops", [][]Record{events(1, 0, 90)}).Follow()
	sink, dir := &exactly{}, t.TempDir()
	query := func() *Query {
		return counting(source).Checkpoint(checkpoint.Folder(dir)).Epoch(10 * time.Millisecond).To(sink)
	}
	first := start(t, query())
	until(t, func() bool { return first.Totals().Records == 90 })
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := counts(first.Results()), "1@0=60 1@60=30"; got != want || len(sink.lines) > 0 {
		t.Errorf("stopped: %s, %d lines written, want %s, none: the watermark is at 59", got, len(sink.lines), want)
	}
	source.Append(0, events(1, 90, 40)...)
	second := start(t, query())
	until(t, func() bool { return second.Totals().Records == 40 })
	if err := second.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := counts(second.Results()), "1@0=60 1@60=60 1@120=10"; got != want || len(sink.lines) != 3 {
		t.Errorf("drained: %s, %d lines written, want %s, 3", got, len(sink.lines), want)
	}
	third := finish(t, query())
	if got, want := counts(third.Results()), "1@0=60 1@60=60 1@120=10"; got != want || third.Totals().Records != 0 || len(sink.lines) != 3 {
		t.Errorf("after the end: %s, %d records, %d lines", got, third.Totals().Records, len(sink.lines))
	}
	if notes := strings.Join(third.Notes(), " "); !strings.Contains(notes, "had come to the end of its sources") {
		t.Errorf("it says %q", notes)
	}
}

// TestSavepoint: a copy of the state, taken while the query runs, goes on by itself.
func TestSavepoint(t *testing.T) {
	source := Memory("shops", [][]Record{events(1, 0, 90)}).Follow()
	first, second := checkpoint.Folder(t.TempDir()), checkpoint.Folder(t.TempDir())
	running := start(t, counting(source).Checkpoint(first).Epoch(time.Hour))
	until(t, func() bool { return running.Totals().Records == 90 })
	if err := running.Savepoint(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if err := running.Savepoint(t.Context(), second); err != nil {
		t.Errorf("a second one into the same place: %v", err)
	}
	source.Append(0, events(1, 90, 40)...)
	source.End()
	for _, r := range []*Running{running, start(t, counting(source).Name("copy").Checkpoint(second))} {
		if err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := counts(r.Results()), "1@0=60 1@60=60 1@120=10"; got != want {
			t.Errorf("%s has %s, want %s", r.Progress().Name, got, want)
		}
	}
	if err := running.Savepoint(t.Context(), second); err == nil || !strings.Contains(err.Error(), "has snapshots already") {
		t.Errorf("one into a place that a query has gone on from: %v", err)
	}
	if err := finish(t, counting(source)).Savepoint(t.Context(), second); err == nil {
		t.Error("a savepoint without a checkpoint")
	}
}

// TestDelivery: Explain says of each sink how often it has a row.
func TestDelivery(t *testing.T) {
	plain := SinkFunc(func(int64, *Rows) error { return nil })
	q := counting(Memory("shops", [][]Record{events(1, 0, 9)})).To(plain).To(&exactly{})
	if text := q.Explain().String(); strings.Contains(text, "once") {
		t.Errorf("without a checkpoint: %s", text)
	}
	text := q.Checkpoint(checkpoint.Folder("here")).Explain().String()
	for _, want := range []string{"exactly, each row once", "at least once: an epoch may come again", "checkpoint here every 1s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestAnotherPlan: a checkpoint of another plan is refused, with what differs; another name, sink or limit is not.
func TestAnotherPlan(t *testing.T) {
	place := checkpoint.Folder(t.TempDir())
	source := Memory("shops", [][]Record{events(1, 0, 90)}).Follow()
	if err := start(t, counting(source).Checkpoint(place)).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := counting(source).Filter(Has("events")).Checkpoint(place).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "that of another plan") || !strings.Contains(err.Error(), "+ filter") {
		t.Errorf("got %v, want the step that is new", err)
	}
	_, err = by(source, "city.id").Checkpoint(place).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "- aggregate by shop") || !strings.Contains(err.Error(), "+ aggregate by city.id") {
		t.Errorf("got %v, want both aggregations", err)
	}
	if err := start(t, counting(source).Name("another").To(&exactly{}).MaxTime(time.Hour).Checkpoint(place)).Stop(t.Context()); err != nil {
		t.Errorf("another name and a sink: %v", err)
	}
}

// until waits for something that a running query brings about.
func until(t *testing.T, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !happened(); time.Sleep(time.Millisecond) { // polls
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}
