package stream

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
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
