package stream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

// away is a source that has lost its broker for a minute.
type away struct{}

func (away) Description() string { return "away" }

func (away) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{ID: 0}, {ID: 1}})
	h.Batch(ctx, Batch{Partition: 1, Records: []Record{event(2, 6, 500)}, HighWatermark: 1})
	h.Batch(ctx, Batch{Partition: 0})
	time.Sleep(3 * time.Second)
	h.Batch(ctx, Batch{Partition: 0, Records: []Record{event(1, 5, 0)}, HighWatermark: 1})
	h.Retry(errors.New("connection refused"), 2*time.Second)
	time.Sleep(time.Minute)
	h.Batch(ctx, Batch{Partition: 0, Records: []Record{{Offset: 1, Value: event(1, 5, 10).Value}}, HighWatermark: 2})
	<-ctx.Done()
	return nil
}

func TestRetryIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := start(t, by(away{}, "city.id").MaxAhead(0)) // the clock of the test is behind
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
		// A partition that is called idle while the broker is away would let the watermark go on to 470 s.
		if got := watermarkSecond(running); got != "-30" {
			t.Errorf("while the broker is away: got watermark %s, want -30", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := running.Status().Message; got != "Processing new data" && got != "Waiting for data to arrive" {
			t.Errorf("after the return: got %q", got)
		}
		if got := running.Totals(); got.Retries != 1 || got.Late != 0 {
			t.Errorf("got %+v, want 1 retry and none late", got)
		}
	})
}

// comesBack is a source with an idle partition that loses its broker. When that is back, partition 1 is heard of first.
type comesBack struct{}

func (comesBack) Description() string { return "comes back" }

func (comesBack) Run(ctx context.Context, h Handler) error {
	assigned := []Partition{{ID: 0}, {ID: 1}}
	next := [2]int64{}
	batch := func(p int, seconds ...float64) {
		b := Batch{Partition: p, HighWatermark: 100}
		for _, s := range seconds {
			b.Records = append(b.Records, Record{Offset: next[p], Value: event(int64(p), p, s).Value})
			next[p]++
		}
		h.Batch(ctx, b)
	}
	h.Assigned(assigned)
	batch(0, 0)
	for range 7 {
		batch(0)
		time.Sleep(time.Second)
	}
	batch(1, 500)
	time.Sleep(2 * time.Second)
	h.Retry(errors.New("connection refused"), time.Second)
	h.Assigned(assigned)
	batch(1, 1000)
	time.Sleep(2 * time.Second)
	batch(0, 475)
	<-ctx.Done()
	return nil
}

// TestNobodyIsIdleWhileTheBrokerIsAway: what a partition has when the broker comes back is not known before it is heard of.
func TestNobodyIsIdleWhileTheBrokerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := start(t, by(comesBack{}, "city.id").MaxAhead(0))
		defer stop(t, running)
		for _, each := range []struct {
			after time.Duration
			want  string
		}{{8500 * time.Millisecond, "470"}, {2 * time.Second, "470"}, {3 * time.Second, "470"}} {
			time.Sleep(each.after)
			synctest.Wait()
			if got := watermarkSecond(running); got != each.want {
				t.Errorf("%v later: got watermark %s, want %s", each.after, got, each.want)
			}
		}
		if got := running.Totals(); got.Late != 0 || got.Records != 4 {
			t.Errorf("got %+v, want 4 records, none late", got)
		}
	})
}
