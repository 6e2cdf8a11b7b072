package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"cancha/stream/checkpoint"
)

// TestNoWatermarkOvertakesItsRows: lanes have taken records and set watermarks before the operators behind have got their rows. A lane that
// comes first must not advance event time over rows that wait in others.
func TestNoWatermarkOvertakesItsRows(t *testing.T) {
	const lanes, each = 3, 100
	parts := make([][]Record, lanes)
	for p := range parts {
		for i := range each {
			parts[p] = append(parts[p], Record{Value: fmt.Appendf(nil, `{"id":%d}`, p*each+i), Time: time.Unix(int64(i), 0)})
		}
	}
	var running *Running
	started, once := make(chan struct{}), sync.Once{}
	wait := func(Row) (bool, error) { // the first row of the first lane waits until all lanes have taken their records
		once.Do(func() {
			<-started
			for taken(running) < lanes*each {
				runtime.Gosched()
			}
		})
		return true, nil
	}
	q := From(Memory("t", parts)).Watermark(time.Second).Deduplicate("id").FilterFunc("wait", wait, "id").Select("id")
	running, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	close(started)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := running.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if got := running.Totals(); got.Late != 0 || got.Rows != lanes*each {
		t.Errorf("got %+v, want %d rows, none late", got, lanes*each)
	}
}

// TestNoWatermarkOvertakesItsWindows: lanes that close their own windows have taken records, and have not given out the windows yet. Another lane must not
// move the operators behind past them.
func TestNoWatermarkOvertakesItsWindows(t *testing.T) {
	const lanes, each, windows = 3, 100, 10 // windows of a lane
	parts := make([][]Record, lanes)
	for p := range parts {
		for i := range each {
			parts[p] = append(parts[p], Record{Value: fmt.Appendf(nil, `{"k":%d,"one":1}`, p), Time: time.Unix(int64(i), 0)})
		}
	}
	other := From(Memory("other", [][]Record{nil})).With("z", Literal(1)).Select("k", "z")
	for _, row := range []struct {
		name   string
		behind func(q *Query) *Query
		rows   int64
	}{
		{"windows", func(q *Query) *Query {
			return q.GroupBy("k").Window(Tumbling(20 * time.Second)).Agg(Sum("n", Field("n")))
		}, lanes * windows / 2},
		{"sessions", func(q *Query) *Query {
			return q.GroupBy("k").Window(Session(15 * time.Second)).Agg(Sum("n", Field("n")))
		}, lanes},
		{"top", func(q *Query) *Query { return q.Top(lanes, "n", "window_start") }, lanes * windows},
		{"deduplicated", func(q *Query) *Query { return q.Deduplicate("k", "window_start") }, lanes * windows},
		{"joined", func(q *Query) *Query {
			return q.Select("k", "n").LeftJoin(other, Same("k"), Within{time.Second, time.Second})
		}, lanes * windows},
	} {
		t.Run(row.name, func(t *testing.T) {
			var running *Running
			started, once := make(chan struct{}), sync.Once{}
			wait := func(Row) (bool, error) { // the first window of the first lane waits until all lanes have taken their records
				once.Do(func() {
					<-started
					for taken(running) < lanes*each {
						runtime.Gosched()
					}
				})
				return true, nil
			}
			q := row.behind(From(Memory("t", parts)).Watermark(time.Second).KeyedBy("k").GroupBy("k").Window(Tumbling(10*time.Second)).Agg(Count("n")).
				FilterFunc("wait", wait, "k"))
			running, err := q.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			close(started)
			if err := running.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := running.Totals(); got.Late != 0 || got.Rows != row.rows {
				t.Errorf("got %d rows, %d late, want %d rows, none late", got.Rows, got.Late, row.rows)
			}
		})
	}
}

// taken is how many records lanes have taken, whatever has become of them.
func taken(r *Running) (n int64) {
	for _, l := range r.of(r.graph.inputs[0]) {
		l.mu.Lock()
		n += l.records
		l.mu.Unlock()
	}
	return n
}

// TestATableIsReadBeforeItIsLookedIn: a partition of the table is not taken for read while its rows wait for another's.
func TestATableIsReadBeforeItIsLookedIn(t *testing.T) {
	parts := make([][]Record, 4)
	for p := range parts {
		for i := range 200 {
			parts[p] = append(parts[p], Record{Value: fmt.Appendf(nil, `{"id":%d,"name":"n"}`, i*len(parts)+p), Time: time.Unix(1, 0)})
		}
	}
	for range 20 {
		names := Latest("names", From(Memory("names", parts)).Select("id", "name"), "id")
		stream := Generate("ids", 1, 0, func(_ int, n int64) Record {
			return Record{Value: fmt.Appendf(nil, `{"id":%d}`, n), Time: time.Unix(1, 0)}
		})
		running, err := From(stream.Records(800)).Select("id").Lookup(names, Same("id")).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := running.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := running.Totals().Rows; got != 800 {
			t.Fatalf("got %d rows, want 800", got)
		}
	}
}

// going is a topic that a group shares, whose one partition goes to another process while rows of it are being made.
type going struct{ armed, making, gone chan struct{} }

func (going) Description() string { return "going" }
func (going) Shared() bool        { return true }
func (going) Replayable()         {}

func (g going) Run(ctx context.Context, h Handler) error {
	p := Partition{Topic: "t"}
	_, _, err := h.(Beginner).Begin(p, Found{Committed: -1})
	h.Assigned([]Partition{p})
	for i := range int64(2) { // the first is told at once, the other when Trigger says so
		err = errors.Join(err, h.Batch(ctx, Batch{Topic: p.Topic, Records: []Record{{Value: fmt.Appendf(nil, `{"k":%d}`, i), Offset: i}}, HighWatermark: i + 1}))
		if i == 0 {
			close(g.armed)
		}
	}
	<-g.making
	h.Assigned(nil)
	close(g.gone)
	return err
}

// make is called for each row.
func (g going) make(Row) (bool, error) {
	select {
	case <-g.armed:
	default:
		return true, nil
	}
	select {
	case <-g.making: // it was another row
		return true, nil
	default:
		close(g.making)
	}
	select {
	case <-g.gone:
	case <-time.After(100 * time.Millisecond):
	}
	return true, nil
}

// TestGoesWhileRowsAreMade: rows that time has made ready of a partition that goes are given out before it goes, and not counted after that.
func TestGoesWhileRowsAreMade(t *testing.T) {
	g := going{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	running, err := From(g).KeyedBy("k").GroupBy("k").TimeToLive(time.Hour).Agg(Count("n")).FilterFunc("make", g.make, "n").Output(Update).
		Trigger(100 * time.Millisecond).Checkpoint(checkpoint.Folder(t.TempDir())).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if rows, total := running.given.Load(), running.total.Load(); rows != 2 || total != 0 {
		t.Errorf("%d rows given out, %d counted, want 2 and none", rows, total)
	}
}
