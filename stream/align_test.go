package stream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

// gated is a source of which one partition is not handed over before gate is closed. It counts the records of the others.
type gated struct {
	*MemorySource
	partition int
	gate      chan struct{}
	count     *atomic.Int64
}

func gatedMemory(partition int, records ...[]Record) gated {
	return gated{Memory("t", records).BatchSize(10), partition, make(chan struct{}), new(atomic.Int64)}
}

func (g gated) Run(ctx context.Context, h Handler) error {
	return g.MemorySource.Run(ctx, gatedHandler{h, h.(Finisher), h.(Aligner), g})
}

type gatedHandler struct {
	Handler
	Finisher
	Aligner
	g gated
}

func (h gatedHandler) Batch(ctx context.Context, b Batch) error {
	if b.Partition != h.g.partition {
		h.g.count.Add(int64(len(b.Records)))
	} else {
		select {
		case <-h.g.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return h.Handler.Batch(ctx, b)
}

// TestAPartitionThatIsAheadWaits: not for a moment, but until the one that is behind has come closer.
func TestAPartitionThatIsAheadWaits(t *testing.T) {
	for _, test := range []struct {
		name  string
		drift time.Duration
		want  int64 // of the first partition, before the second has moved
	}{
		{"unless set", -1, 10},
		{"a minute", time.Minute, 10},
		{"any distance", 0, 600},
	} {
		synctest.Test(t, func(t *testing.T) {
			source := gatedMemory(1, events(1, 0, 600), events(2, 0, 600))
			q := by(source, "city.id").MaxAhead(0)
			if test.drift >= 0 {
				q = q.MaxDrift(test.drift)
			}
			running := start(t, q)
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := source.count.Load(); got != test.want {
				t.Errorf("%s: got %d records of the partition that is ahead, want %d", test.name, got, test.want)
			}
			close(source.gate)
			if err := running.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			if totals := running.Totals(); totals.Records != 1200 || totals.Late != 0 {
				t.Errorf("%s: got %d records and %d late, want 1200 and 0", test.name, totals.Records, totals.Late)
			}
		})
	}
}

// TestPartitionsThatCloseTheirOwnWindowsDoNotWait: they have nothing to do with each other.
func TestPartitionsThatCloseTheirOwnWindowsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := gatedMemory(1, events(1, 0, 600), events(2, 0, 600))
		running := start(t, counting(source).MaxAhead(0))
		synctest.Wait()
		if got := source.count.Load(); got != 600 {
			t.Errorf("got %d records of the partition that is ahead, want 600", got)
		}
		close(source.gate)
		if err := running.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestPartitionsAreReadInStep: each is at most the drift and two batches ahead of the other, as long as that has more.
func TestPartitionsAreReadInStep(t *testing.T) {
	const batch, drift, n = 7, 20, 900
	var at [2]atomic.Int64
	step := func(r Row) (bool, error) {
		shop, second := r.Int("shop"), int64(r.Time("at").Sub(threeOClock).Seconds())
		at[shop].Store(second)
		if other := at[1-shop].Load(); second-other > drift+2*batch && other < n-batch {
			t.Errorf("shop %d is at %d s, and the other at %d s", shop, second, other)
		}
		return true, nil
	}
	q := From(Memory("t", [][]Record{events(0, 0, n), events(1, 0, n)}).BatchSize(batch)).EventTime(Field("at").AsTime()).
		MaxDrift(drift*time.Second).With("at", Field("at").AsTime()).FilterFunc("step", step, "shop", "at").Select("shop", "at").
		Watermark(time.Second).Deduplicate("shop", "at")
	if rows := finish(t, q).Totals().Rows; rows != 2*n {
		t.Errorf("got %d rows, want %d", rows, 2*n)
	}
}

// TestNobodyWaitsForAPartitionWithoutRecords: one that has been read to its end, or is empty, holds no other back.
func TestNobodyWaitsForAPartitionWithoutRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := gatedMemory(-1, events(1, 0, 600), events(2, 0, 1), nil)
		source.Follow()
		running := start(t, by(source, "city.id").MaxAhead(0).IdleAfter(time.Hour))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := source.count.Load(); got != 601 {
			t.Errorf("got %d records, want 601", got)
		}
		stop(t, running)
	})
}

// TestStopWhileAPartitionWaits: a query that is stopped ends at once.
func TestStopWhileAPartitionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := gatedMemory(1, events(1, 0, 600), events(2, 0, 600))
		running := start(t, by(source, "city.id").MaxAhead(0))
		synctest.Wait()
		began := time.Now()
		stop(t, running)
		if got := source.count.Load(); got != 10 || time.Since(began) > time.Second {
			t.Errorf("got %d records of the partition that is ahead after %v, want 10, at once", got, time.Since(began))
		}
	})
}

// TestAlignmentOfTwoTopics: a topic waits for the one that it is joined with.
func TestAlignmentOfTwoTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ahead, behind := gatedMemory(-1, events(1, 0, 600)), gatedMemory(0, events(1, 0, 600))
		of := func(s Source) *Query { return From(s).EventTime(Field("at").AsTime()).MaxAhead(0).Select("shop") }
		running := start(t, of(ahead).Join(of(behind), Same("shop"), Within{}))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := ahead.count.Load(); got != 10 {
			t.Errorf("got %d records of the topic that is ahead, want 10", got)
		}
		close(behind.gate)
		if err := running.Wait(t.Context()); err != nil || running.Totals().Rows != 600 {
			t.Errorf("got %d rows and %v, want 600", running.Totals().Rows, err)
		}
	})
}

// untold is a source that hands over batches without telling which partitions it reads.
type untold struct{ records []Record }

func (untold) Description() string { return "untold" }

func (s untold) Run(ctx context.Context, h Handler) error {
	for i, r := range s.records {
		b := Batch{Topic: "untold", Records: []Record{r}, HighWatermark: int64(i + 1)}
		if err := h.Batch(ctx, b); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// TestNobodyWaitsForPartitionsThatAreNotTold: what a source has handed over tells enough.
func TestNobodyWaitsForPartitionsThatAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := gatedMemory(1, events(1, 0, 600))
		q := From(source).Select("shop").Union(From(untold{events(2, 0, 10)}).Select("shop")).Watermark(time.Second).Deduplicate("shop")
		running := start(t, q)
		synctest.Wait()
		if got := source.count.Load(); got != 600 {
			t.Errorf("got %d records beside a source that has none to come, want 600", got)
		}
		if err := running.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
