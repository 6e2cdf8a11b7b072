package stream_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// upserts is a table that keeps the newest row of each shop and window, as a database does: each unit's epochs once. Shops lie in two partitions.
type upserts struct {
	mu     sync.Mutex
	epochs map[string]int64
	events map[string]int64
	astray []string // rows that came with the epoch of another partition than theirs
	opened int      // how often Resume was called
}

func newUpserts() *upserts { return &upserts{epochs: map[string]int64{}, events: map[string]int64{}} }

func (u *upserts) String() string { return "upserts" }

func (u *upserts) Resume(_ context.Context, _ []Column, mark Mark) (int64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.opened++
	return u.epochs[mark.Unit], nil
}

func (u *upserts) Position() []byte { return nil }

func (u *upserts) Write(_ context.Context, epoch int64, rows *Rows) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.epochs[rows.Unit] >= epoch {
		return fmt.Errorf("%s: epoch %d after %d", rows.Unit, epoch, u.epochs[rows.Unit])
	}
	u.epochs[rows.Unit] = epoch
	for i := range rows.Len() {
		row := rows.Row(i)
		key := fmt.Sprint(row.Int("shop"))
		if rows.Index("window_start") >= 0 {
			key += "@" + row.Time("window_start").Format(time.TimeOnly)
		}
		u.events[key] = row.Int("events")
		if own := fmt.Sprintf("partition %d shops", row.Int("shop")%2); rows.Unit != own {
			u.astray = append(u.astray, key+" in "+rows.Unit)
		}
	}
	return nil
}

// has tells whether the table is this one.
func (u *upserts) has(want map[string]int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Equal(u.events, want)
}

// home checks that each row came with the epoch of its own partition.
func (u *upserts) home(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := len(u.astray); n > 0 {
		t.Errorf("%d rows came with another partition's epochs: %q", n, u.astray[:min(n, 5)])
	}
}

// TestSharedUpdateKilled: where partitions are shared, rows that change come with their own partition's epochs, and a table is right in the end.
func TestSharedUpdateKilled(t *testing.T) {
	parts := [][]Record{}
	for p := range int64(2) {
		var all []Record
		for i := range 4000 {
			all = append(all, event(p+2*int64(i%5), 1, float64(i)))
		}
		parts = append(parts, all)
	}
	query := func(sink Sink, dir string) *Query {
		return counting(group{Memory("shops", parts).BatchSize(7)}).Output(Update).Trigger(time.Millisecond).To(sink).Checkpoint(checkpoint.Folder(dir)).Epoch(10 * time.Millisecond)
	}
	want, got, dir := newUpserts(), newUpserts(), t.TempDir()
	lives(t, query(want, t.TempDir()), 0, nil)
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range 12 {
		lives(t, query(got, dir), time.Duration(dice.IntN(20)+1)*time.Millisecond, []func(*Running, context.CancelCauseFunc){killed, stopped}[i%2])
	}
	lives(t, query(got, dir), 0, nil)
	if got.home(t); !got.has(want.events) {
		maps.DeleteFunc(got.events, func(key string, n int64) bool { return n == want.events[key] })
		t.Errorf("of %d rows these are wrong, or some are not there: %v", len(want.events), got.events)
	}
}

// TestSharedUpdateGoesOn: what had changed and had not been told when a run ended is told by the next, though no more records come.
func TestSharedUpdateGoesOn(t *testing.T) {
	source := Memory("shops", [][]Record{events(0, 0, 20), events(1, 0, 30)}).BatchSize(1).Follow()
	sink, dir := newUpserts(), t.TempDir()
	query := func() *Query {
		return counting(group{source}).Output(Update).To(sink).Checkpoint(checkpoint.Folder(dir)).Epoch(10 * time.Millisecond)
	}
	running := start(t, query().Trigger(time.Hour))
	until(t, func() bool { return running.Totals().Records == 50 })
	stop(t, running)
	running = start(t, query())
	until(t, func() bool { return sink.has(map[string]int64{"0@15:00:00": 20, "1@15:00:00": 30}) })
	stop(t, running)
	sink.home(t)
}

// TestSharedGroupsExpire: groups of an idle partition that are forgotten are given out with its own epoch.
func TestSharedGroupsExpire(t *testing.T) {
	source := Memory("shops", [][]Record{events(0, 0, 1), events(1, 0, 1)}).Follow()
	sink := newUpserts()
	running := start(t, From(group{source}).EventTime(Field("at").AsTime()).KeyedBy("shop").IdleAfter(100*time.Millisecond).
		GroupBy("shop").TimeToLive(time.Minute).Agg(Count("events")).
		Output(Update).Trigger(time.Hour).To(sink).Checkpoint(checkpoint.Folder(t.TempDir())).Epoch(10*time.Millisecond))
	until(t, func() bool { return running.Totals().Records == 2 && running.Totals().Rows > 0 }) // what changes from now on is told when it is forgotten
	source.Append(0, events(0, 1, 19)...)
	source.Append(1, events(1, 1, 29)...)
	until(t, func() bool { return running.Totals().Records == 50 })
	source.Append(1, event(3, 1, 200))
	until(t, func() bool { return sink.has(map[string]int64{"0": 20, "1": 30}) })
	stop(t, running)
	sink.home(t)
}

// scripted is a topic whose one partition is assigned and read as a test says.
type scripted struct {
	shared bool
	script func(begin func() (next int64, err error), read func(...Record) error) error
}

func (scripted) Description() string { return "scripted" }
func (s scripted) Shared() bool      { return s.shared }
func (scripted) Replayable()         {}

func (s scripted) Run(ctx context.Context, h Handler) error {
	p, end := Partition{Topic: "shops"}, int64(0)
	return s.script(func() (int64, error) {
		next, _, err := h.(Beginner).Begin(p, Found{ID: "the first", Committed: -1})
		h.Assigned([]Partition{p})
		return next, err
	}, func(records ...Record) error {
		for i := range records {
			records[i].Offset, end = end, end+1
		}
		return h.Batch(ctx, Batch{Topic: p.Topic, Records: records, HighWatermark: end})
	})
}

// held is a place that keeps its first snapshot and does not say so before the partition has been assigned again, or waits for that.
type held struct {
	checkpoint.Place
	kept, again chan struct{}
	once        sync.Once
}

func (p *held) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	err := p.Place.Write(ctx, unit, epoch, pieces)
	p.once.Do(func() {
		close(p.kept)
		select {
		case <-p.again:
		case <-time.After(100 * time.Millisecond):
		}
	})
	return err
}

// TestSharedAssignedInAnEpoch: a partition that is assigned again while its snapshot is there and its sinks have not got the rows stays this process's: its
// sinks are not opened anew in the middle of that.
func TestSharedAssignedInAnEpoch(t *testing.T) {
	place := &held{Place: checkpoint.Folder(t.TempDir()), kept: make(chan struct{}), again: make(chan struct{})}
	source := scripted{true, func(begin func() (int64, error), read func(...Record) error) error {
		begin()
		read(event(0, 1, 0))
		<-place.kept
		next, err := begin()
		close(place.again)
		if next != 1 || err != nil {
			t.Errorf("goes on from %d, %v, want 1", next, err)
		}
		return read(event(0, 1, 1))
	}}
	sink := newUpserts()
	finish(t, counting(source).Output(Update).To(sink).Checkpoint(place).Epoch(10*time.Millisecond))
	if want := map[string]int64{"0@15:00:00": 2}; !sink.has(want) || sink.opened != 1 {
		t.Errorf("got %v, sinks opened %d times, want %v and once", sink.events, sink.opened, want)
	}
}

// TestAssignedBesideEpochs assigns a partition again and again while epochs end: it goes on from where it is. It is for the race detector, too.
func TestAssignedBesideEpochs(t *testing.T) {
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			source := scripted{shared, func(begin func() (int64, error), read func(...Record) error) error {
				began := time.Now()
				for i := int64(0); i < 100 || time.Since(began) < 200*time.Millisecond; i++ {
					for range 20 {
						if next, err := begin(); err != nil || i > 0 && next != i {
							return fmt.Errorf("goes on from %d, %v, want %d", next, err, i)
						}
					}
					if err := read(event(0, 1, 0)); err != nil {
						return err
					}
				}
				return nil
			}}
			finish(t, counting(source).Output(Update).Checkpoint(checkpoint.Folder(t.TempDir())).Epoch(10*time.Millisecond))
		})
	}
}

// TestSharedStaysOver: a run that begins after the end of a query, and is stopped, does not make it one that goes on: all windows are closed.
func TestSharedStaysOver(t *testing.T) {
	place := checkpoint.Folder(t.TempDir())
	query := func(source *MemorySource) *Query { return counting(group{source}).Checkpoint(place) }
	finish(t, query(Memory("shops", [][]Record{events(0, 0, 20), events(1, 0, 30)})))
	stop(t, start(t, query(Memory("shops", [][]Record{events(0, 0, 20), events(1, 0, 30)}).Follow())))
	err := start(t, query(Memory("shops", [][]Record{events(0, 0, 21), events(1, 0, 30)}))).Wait(t.Context())
	if err == nil || !strings.Contains(err.Error(), "had come to its end") {
		t.Errorf("a new record after the end: %v, want an error", err)
	}
}
