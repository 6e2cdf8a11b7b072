package monitor

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cancha/internal/running"
	"cancha/stream"
	"cancha/stream/checkpoint"
)

// gate is a sink that takes rows while it is open.
type gate struct{ sync.RWMutex }

func (g *gate) Write(context.Context, int64, *stream.Rows) error {
	g.RLock()
	defer g.RUnlock()
	return nil
}

// TestHungSink: a query that is held up by its sink answers at once, with old numbers; it counts as held up all the same, and has no rates. It
// takes seconds of the real clock: that of synctest stands still while somebody waits for a lock, as the query does.
func TestHungSink(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	var sink gate
	shots := stream.Generate("shots", 1, 100, func(int, int64) stream.Record { return stream.Record{Value: []byte(`{"shop":1}`)} })
	q, err := stream.From(shots).Select("shop").To(&sink).Name("with a hung sink").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live := running.Process().Live()
	p, e := newPuller(running.Process()), live[len(live)-1]
	await(t, "it runs", p, e, func(q query) bool {
		return q.HeldUp == 0 && q.RecentInputRate > 0 && q.ProcessRate > 0 && q.Busy != nil && q.Status == "Processing new data"
	})
	sink.Lock()
	await(t, "it is held up", p, e, func(q query) bool {
		return q.HeldUp >= 5000 && !q.Late && q.RecentInputRate == 0 && q.ProcessRate == 0 && q.Busy == nil && strings.HasSuffix(q.Status, "s: held up by its sink or a function")
	})
	i := p.item(e)
	if rate := i.Progress.Sources[0].InputRowsPerSecond + i.Sources[0].Rate; rate != 0 {
		t.Errorf("its source: got %v records a second, want 0", rate)
	}
	if got := q.Progress(); got.InputRowsPerSecond == 0 || got.Sources[0].InputRowsPerSecond == 0 {
		t.Errorf("the query's own report was changed: %+v", got)
	}
	sink.Unlock()
	await(t, "it runs again", p, e, func(q query) bool { return q.HeldUp == 0 && q.RecentInputRate > 0 })
	if err := q.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// await looks until a query is as it should be.
func await(t *testing.T, what string, p *puller, e *running.Entry, is func(query) bool) {
	t.Helper()
	var q query
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if q = queryOf(p.item(e)); is(q) {
			return
		}
	}
	t.Fatalf("%s: got %+v", what, q)
}

// mute is a query that does not answer until it is let go.
type mute struct{ until chan struct{} }

func (m mute) Kind() running.Kind { return running.Query }
func (m mute) Name() string       { return "mute" }
func (m mute) Work() running.Work { <-m.until; return running.Work{} }

// TestMute: one that does not answer is held up when that has taken too long.
func TestMute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &running.Registry{}
		m := mute{until: make(chan struct{})}
		p, e := newPuller(r), r.Add(m)
		if i := p.item(e); !i.Late || i.Hold.Is() {
			t.Errorf("at first: got late %v, %+v, want late alone", i.Late, i.Hold)
		}
		time.Sleep(5 * time.Second)
		if i := p.item(e); i.Hold.Silent < 5*time.Second || !strings.HasPrefix(queryOf(i).Status, "No report for 5s: held up") {
			t.Errorf("later: got %+v and %q, want it held up", i.Hold, queryOf(i).Status)
		}
		close(m.until)
		e.End(nil)
		if i := p.item(e); i.Hold.Is() {
			t.Errorf("after its end: got %+v, want none", i.Hold)
		}
	})
}

// TestHungSinkOfACheckpoint: a query with a checkpoint reads on and reports while its sink hangs. It counts as held up all the same, by its epoch, and its
// rates are those of now.
func TestHungSinkOfACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		sink := stream.SinkFunc(func(int64, *stream.Rows) error { <-open; return nil })
		shots := stream.Generate("shots", 1, 100, func(int, int64) stream.Record { return stream.Record{Value: []byte(`{"shop":1}`)} })
		q, err := stream.From(shots).Select("shop").To(sink).Checkpoint(checkpoint.Folder(t.TempDir())).Name("with epochs").Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		live := running.Process().Live()
		p, e := newPuller(running.Process()), live[len(live)-1]
		time.Sleep(5 * time.Second)
		if got := queryOf(p.item(e)); got.HeldEpoch != 0 || got.HeldUp != 0 || got.Status != "Processing new data" {
			t.Errorf("at first: got %+v, want it not held up", got)
		}
		time.Sleep(10 * time.Second)
		got := queryOf(p.item(e))
		if got.HeldEpoch < 10_000 || got.HeldUp != 0 || !strings.HasPrefix(got.Status, "An epoch has been on its way for 1") || got.RecentInputRate == 0 || got.Busy == nil {
			t.Errorf("later: got %+v, want it held up by its epoch, with the rates of now", got)
		}
		close(open)
		time.Sleep(2 * time.Second)
		if got := queryOf(p.item(e)); got.HeldEpoch != 0 || got.Status != "Processing new data" {
			t.Errorf("behind that: got %+v, want it not held up", got)
		}
		if err := q.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
