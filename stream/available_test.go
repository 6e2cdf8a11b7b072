package stream_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "cancha/stream"
)

// told is an open source that hands over what a test says and then waits.
type told func(ctx context.Context, h Handler) error

func (told) Description() string { return "told" }

func (s told) Run(ctx context.Context, h Handler) error {
	if err := s(ctx, h); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// batch is records from an offset on of a partition that ends at high.
func batch(partition int, from, n, high int64) Batch {
	b := Batch{Topic: "t", Partition: partition, HighWatermark: high}
	for i := range n {
		r := event(1, 1, float64(from+i))
		r.Partition, r.Offset = partition, from+i
		b.Records = append(b.Records, r)
	}
	return b
}

func give(ctx context.Context, h Handler, batches ...Batch) error {
	for _, b := range batches {
		if err := h.Batch(ctx, b); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// TestAvailableNowEnds where the last record is not the one before the partition's end, and where partitions go to others.
func TestAvailableNowEnds(t *testing.T) {
	p0, p1 := Partition{Topic: "t", ID: 0}, Partition{Topic: "t", ID: 1}
	for name, each := range map[string]struct {
		source told
		want   int64
	}{
		"nothing new since the group read last": {func(ctx context.Context, h Handler) error {
			h.Assigned([]Partition{p0})
			return give(ctx, h, batch(0, 0, 0, 1000))
		}, 0},
		"a marker of a transaction at the end": {func(ctx context.Context, h Handler) error {
			h.Assigned([]Partition{p0})
			return give(ctx, h, batch(0, 0, 9, 10), batch(0, 9, 0, 10))
		}, 9},
		"a partition goes to another member": {func(ctx context.Context, h Handler) error {
			h.Assigned([]Partition{p0, p1})
			if err := give(ctx, h, batch(1, 0, 5, 10)); err != nil {
				return err
			}
			h.Assigned([]Partition{p0})
			return give(ctx, h, batch(0, 0, 5, 10), batch(0, 5, 5, 12))
		}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				running := start(t, counting(each.source).AvailableNow())
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := running.Wait(ctx); err != nil {
					t.Errorf("%s: got %v, want its end", name, err)
				}
				stop(t, running)
				if got := running.Totals().Records; got != each.want {
					t.Errorf("%s: got %d records, want %d", name, got, each.want)
				}
			})
		})
	}
}

// unmeasured is a source whose batches do not tell where its partition ends.
type unmeasured struct{ told }

func (unmeasured) Unmeasured() {}

// TestUnmeasured: what is behind the first batch of a source that does not know its ends is waited for, by AvailableNow and by what looks up a table.
func TestUnmeasured(t *testing.T) {
	names := func(from, n int64) Batch {
		b := batch(0, from, n, from+n)
		for i := range b.Records {
			b.Records[i].Value = event(from+int64(i), 1, 0).Value
		}
		return b
	}
	source := unmeasured{func(ctx context.Context, h Handler) error {
		h.Assigned([]Partition{{Topic: "t"}})
		if err := give(ctx, h, names(0, 4)); err != nil {
			return err
		}
		time.Sleep(time.Second)
		return give(ctx, h, names(4, 4), names(8, 0))
	}}
	synctest.Test(t, func(t *testing.T) {
		running := finish(t, counting(source).AvailableNow())
		if got := running.Totals().Records; got != 8 {
			t.Errorf("AvailableNow: got %d records, want 8", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		table := Latest("shops", From(source).Select("shop", "city.id"), "shop")
		running := finish(t, From(Memory("t", [][]Record{events(7, 0, 3)})).Select("shop").Lookup(table, Same("shop")).MaxRecords(11))
		if got := running.Results().Len(); got != 3 {
			t.Errorf("a table: got %d rows, want 3", got)
		}
	})
}
