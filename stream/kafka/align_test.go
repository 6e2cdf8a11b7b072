package kafka

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
)

// stayed is a handler that lets no partition go on before free is closed.
type stayed struct {
	*recorder
	free    chan struct{}
	waiting atomic.Int64
}

func (h *stayed) Align(ctx context.Context, _ stream.Partition) {
	h.waiting.Add(1)
	defer h.waiting.Add(-1)
	select {
	case <-h.free:
	case <-ctx.Done():
	}
}

// TestPartitionsThatWaitGoToAnotherMember: a partition that is held back stands in the way of nobody, neither of the group nor of the end.
func TestPartitionsThatWaitGoToAnotherMember(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 4, 0, 2000)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, IdleInterval: 100 * time.Millisecond}
	first, second := &stayed{recorder: &recorder{}, free: make(chan struct{})}, &recorder{}
	a := begin(t, cfg, first)
	eventually(t, "four partitions that wait", func() bool { return first.has(4) && first.waiting.Load() == 4 })
	b := begin(t, cfg, second)
	eventually(t, "two partitions each", func() bool { return first.has(2) && second.has(2) })
	eventually(t, "what the second member has", func() bool { return second.count() > 0 && first.waiting.Load() == 2 })
	if got := first.count(); got != 0 {
		t.Errorf("got %d records of partitions that were held back, want 0", got)
	}
	a.stop(t)
	eventually(t, "all records", func() bool { return second.count() == 2000 })
	b.stop(t)
	second.check(t, 2000)
}

// TestBacklogAsLive: what a topic gave while it was written, it gives from its first record on when all is there, rows and late ones.
func TestBacklogAsLive(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	p := producer(t, addr, topic, 4)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	query := func(until <-chan struct{}) *stream.Query {
		return stream.From(Source(Config{Brokers: []string{addr}, Topic: topic, Until: until, IdleInterval: 50 * time.Millisecond})).
			EventTime(stream.Field("ts").UnixMillis()).Watermark(2 * time.Second).IdleAfter(time.Hour)
	}
	shapes := []func(q *stream.Query) *stream.Query{
		func(q *stream.Query) *stream.Query { return q.Deduplicate("k").Select("k", "id") },
		func(q *stream.Query) *stream.Query {
			return q.GroupBy("k").Window(stream.Session(3*time.Second)).Agg(stream.Count("n"), stream.Sum("ids", stream.Field("id")))
		},
	}
	until := make(chan struct{})
	var live []*stream.Running
	for _, shape := range shapes {
		running, err := shape(query(until)).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, running)
	}
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3000 {
		at = at.Add(time.Duration(random.IntN(200)) * time.Millisecond)
		key := fmt.Sprintf("k%d", random.IntN(30))
		ts := at.Add(-time.Duration(random.IntN(9000)) * time.Millisecond).UnixMilli()
		if err := p.Send(t.Context(), []byte(key), fmt.Appendf(nil, `{"k":%q,"id":%d,"ts":%d}`, key, i, ts)); err != nil {
			t.Fatal(err)
		}
		if random.IntN(100) == 0 {
			if err := p.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(until)
	for i, shape := range shapes {
		if err := live[i].Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		backlog, err := shape(query(closed())).Start(t.Context())
		if err == nil {
			err = backlog.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		got, want := backlog.Totals(), live[i].Totals()
		if got.Records != 3000 || want.Records != 3000 || got.Late != want.Late || got.Late == 0 {
			t.Errorf("query %d: got %d late of %d, live %d of %d", i, got.Late, got.Records, want.Late, want.Records)
		}
		if got, want := backlog.Results().String(), live[i].Results().String(); got != want {
			t.Errorf("query %d: got %s\nlive %s", i, got, want)
		}
	}
}
