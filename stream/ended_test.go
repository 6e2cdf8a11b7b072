package stream

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestEndedPartitionsCloseWindows: one that has ended is as one that is idle.
func TestEndedPartitionsCloseWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := func(id, second int) Record {
			return Record{Value: fmt.Appendf(nil, `{"id":%d}`, id), Time: time.Date(2026, 3, 1, 15, 0, second, 0, time.UTC)}
		}
		open := Memory("t", [][]Record{{record(1, 0)}, {record(2, 0), record(2, 600)}})
		q := From(halfEnded{open}).KeyedBy("id").GroupBy("id").Window(Tumbling(time.Minute)).Agg(Count("n"))
		running, err := q.Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := running.Results().Len(); got != 2 {
			t.Errorf("got %d rows, want the first minute of both partitions", got)
		}
		if err := running.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// halfEnded hands over the records of a source that ends, of which partition 1 does not: it falls silent.
type halfEnded struct{ Source }

func (s halfEnded) Run(ctx context.Context, h Handler) error {
	if err := s.Source.Run(ctx, onlyFirst{h}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

type onlyFirst struct{ Handler }

func (h onlyFirst) Finished(p Partition) {
	if p.ID == 0 {
		h.Handler.(Finisher).Finished(p)
	}
}
