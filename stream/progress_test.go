package stream

import (
	"context"
	"testing"
	"time"
)

// TestProgressBesideDeadLetters: a lane that rejects records and a report of progress take locks of each other's.
func TestProgressBesideDeadLetters(t *testing.T) {
	bad := func(int, int64) Record { return Record{Value: []byte("{"), Time: time.Unix(1, 0)} }
	sink := SinkFunc(func(int64, *Rows) error { return nil })
	running, err := From(Generate("bad", 2, 0, bad).Records(20_000)).Select("a").DeadLetters(sink).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		for running.Active() {
			running.collect()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := running.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	<-reported
	if got := running.Totals().Bad; got != 40_000 {
		t.Errorf("got %d bad records", got)
	}
}
