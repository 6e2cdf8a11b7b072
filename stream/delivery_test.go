package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// TestSameRecordsSameBytes: one history of records, many ways to deliver it, one result.
func TestSameRecordsSameBytes(t *testing.T) {
	all := disordered(market(11, 8, 400))
	want := csvOf(t, finish(t, minutes(Memory("orders", partitioned(all, 1)))))
	for _, partitions := range []int{1, 2, 4, 7} {
		for _, batch := range []int{1, 13, 500, 100_000} {
			for _, mode := range []OutputMode{Append, Update, Complete} {
				t.Run(fmt.Sprintf("%d partitions, batches of %d, %v", partitions, batch, mode), func(t *testing.T) {
					source := Memory("orders", partitioned(all, partitions)).BatchSize(batch)
					running := finish(t, minutes(source).Output(mode))
					if late := running.Totals().Late; late != 0 {
						t.Errorf("got %d late orders, want 0", late)
					}
					if csvOf(t, running) != want {
						t.Error("the result differs")
					}
				})
			}
		}
	}
}

// TestLatenessDependsOnTheOrderOfRecordsAlone: with shops that lie in one partition each, what is late is so however records are delivered.
func TestLatenessDependsOnTheOrderOfRecordsAlone(t *testing.T) {
	all := market(13, 6, 300)
	random := rand.New(rand.NewPCG(3, 3))
	for i := 0; i+300 < len(all); i += 7 { // disorder of minutes, which half a minute of delay does not forgive
		k := i + random.IntN(300)
		all[i], all[k] = all[k], all[i]
	}
	const partitions = 3
	one := finish(t, minutes(Memory("orders", partitioned(all, partitions))))
	late := one.Totals().Late
	if late == 0 {
		t.Fatal("nothing is late: this test tests nothing")
	}
	for _, batch := range []int{1, 13, 5000} {
		running := finish(t, minutes(Memory("orders", partitioned(all, partitions)).BatchSize(batch)))
		if got := running.Totals().Late; got != late || csvOf(t, running) != csvOf(t, one) {
			t.Errorf("batches of %d: got %d late, want %d, and the same bytes", batch, got, late)
		}
	}
}

// TestOperatorsBehindLanesSeeOneHistory: sessions, joins, deduplication, tops and processes give the same rows for every way to deliver
// records that come in time.
func TestOperatorsBehindLanesSeeOneHistory(t *testing.T) {
	all := disordered(market(17, 6, 200))
	type count struct{ n int }
	orders := func(source Source) *Query {
		return From(source).EventTime(Field("at").AsTime()).Watermark(time.Minute)
	}
	for _, each := range []struct {
		name string
		make func(source Source) *Query
	}{
		{"sessions", func(s Source) *Query {
			return orders(s).Filter(Has("seller.id")).GroupBy("seller.id").Window(Session(3*time.Second)).Agg(Count("n"), Stats("total", Field("total")))
		}},
		{"deduplication", func(s Source) *Query {
			return orders(s).With("kind", Field("kind.id")).Deduplicate("shop", "kind", "total").Select("shop", "kind", "total").
				Filter(Field("total").Lt(0.5))
		}},
		{"a join", func(s Source) *Query {
			right := orders(s).Filter(Field("express").Eq(true)).With("express_id", Field("id")).Select("shop", "express_id")
			return orders(s).Filter(Field("total").Lt(9)).Select("id", "shop").FullJoin(right, Same("shop"), Within{Before: time.Second, After: 2 * time.Second})
		}},
		{"the top", func(s Source) *Query {
			return orders(s).Explode("items", "item").With("sku", Field("item.sku")).GroupBy("sku").Window(Tumbling(time.Minute)).
				Agg(Sum("sold", Field("item.n"))).TopTies(2, "sold")
		}},
		{"two aggregations", func(s Source) *Query {
			return orders(s).GroupBy("shop").Window(Tumbling(10*time.Second)).Agg(Count("n")).
				Window(Tumbling(time.Minute)).Agg(Max("busiest", Field("n")), Count("busy"))
		}},
		{"a process", func(s Source) *Query {
			return orders(s).Process(Processing{Name: "ends", Keys: []string{"shop"}, TimeToLive: time.Hour,
				Columns: []Column{{Name: "shop", Kind: Int}, {Name: "n", Kind: Int}}, State: func() any { return &count{} },
				Row: func(c *Context, state any, _ Row) error {
					if state.(*count).n++; state.(*count).n == 1 {
						c.SetTimer(threeOClock.Add(time.Hour))
					}
					return nil
				},
				Timer: func(c *Context, state any, _ time.Time) error { return c.Emit(c.Key()[0], state.(*count).n) }})
		}},
	} {
		t.Run(each.name, func(t *testing.T) {
			first := finish(t, each.make(Memory("orders", partitioned(all, 1))))
			if first.Results().Len() < 6 || first.Totals().Late != 0 {
				t.Fatalf("got %d rows, %+v, want some rows and none late", first.Results().Len(), first.Totals())
			}
			for _, partitions := range []int{1, 3} {
				for _, batch := range []int{1, 37, 5000} {
					running := finish(t, each.make(Memory("orders", partitioned(all, partitions)).BatchSize(batch)))
					if got, want := csvOf(t, running), csvOf(t, first); got != want {
						t.Errorf("%d partitions, batches of %d: %d rows, %d late, other than %d rows", partitions, batch,
							running.Results().Len(), running.Totals().Late, first.Results().Len())
					}
				}
			}
		})
	}
}

// TestReconnects: a source that loses its broker, and goes on where it was, changes nothing.
func TestReconnects(t *testing.T) {
	all := market(12, 4, 500)
	want := csvOf(t, finish(t, minutes(Memory("orders", partitioned(all, 2)))))
	running := finish(t, minutes(&shaky{partitioned(all, 2)}))
	if got := csvOf(t, running); got != want {
		t.Error("the result differs after reconnects")
	}
	if got := running.Totals().Retries; got < 3 {
		t.Errorf("got %d retries, want at least 3", got)
	}
}

// shaky hands over batches of uneven size, partitions by turns, and is assigned its partitions anew after each retry.
type shaky struct{ partitions [][]Record }

func (s *shaky) Description() string { return "shaky" }

func (s *shaky) Run(ctx context.Context, h Handler) error {
	assigned := []Partition{{Topic: "orders", ID: 0}, {Topic: "orders", ID: 1}}
	h.Assigned(assigned)
	next := [2]int{}
	for turn := 0; next[0] < len(s.partitions[0]) || next[1] < len(s.partitions[1]); turn++ {
		p := turn % 2
		batch := Batch{Topic: "orders", Partition: p, HighWatermark: 1 << 20}
		for i, r := range s.partitions[p][next[p]:min(len(s.partitions[p]), next[p]+turn%37)] {
			r.Partition, r.Offset = p, int64(next[p]+i)
			batch.Records = append(batch.Records, r)
		}
		if err := h.Batch(ctx, batch); err != nil {
			return err
		}
		next[p] += len(batch.Records)
		if turn%20 == 19 {
			h.Retry(errors.New("connection refused"), time.Second)
			h.Assigned(assigned)
		}
	}
	return nil
}

// TestRevokedPartitionsHoldNothingBack: a partition that another reader has taken over is not waited for.
func TestRevokedPartitionsHoldNothingBack(t *testing.T) {
	running := start(t, by(revoking{}, "city.id"))
	defer stop(t, running)
	for deadline := time.Now().Add(10 * time.Second); running.Results().Len() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("partition 1, which is no longer assigned, holds back the watermark")
		}
	}
	if got, want := counts(running.Results()), "1@0=1 2@0=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// revoking has two partitions, and soon only one.
type revoking struct{}

func (revoking) Description() string { return "revoking" }

func (revoking) Run(ctx context.Context, h Handler) error {
	h.Assigned([]Partition{{ID: 0}, {ID: 1}})
	for p, second := range []float64{10, 5} {
		if err := h.Batch(ctx, Batch{Partition: p, Records: []Record{event(1, 1+p, second)}, HighWatermark: 1}); err != nil {
			return err
		}
	}
	h.Assigned([]Partition{{ID: 0}})
	if err := h.Batch(ctx, Batch{Partition: 0, Records: []Record{{Offset: 1, Value: event(1, 1, 200).Value}}, HighWatermark: 2}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// TestAPanicOfASink ends the query with an error that names the sink.
func TestAPanicOfASink(t *testing.T) {
	running := start(t, timed(orders).Select("id").To(SinkFunc(func(int64, *Rows) error { panic("no paper") })))
	err := running.Wait(t.Context())
	if err == nil || !strings.Contains(err.Error(), "rows to stream.sinkFunc: panic: no paper") {
		t.Errorf("got %v, want the sink's panic", err)
	}
}
