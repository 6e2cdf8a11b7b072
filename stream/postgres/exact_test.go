package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

var errKilled = errors.New("killed")

// TestExact: a query that appends rows is killed again and again, as kill -9 would; each row is there once.
func TestExact(t *testing.T) {
	const n = 20_000
	d := server(t)
	var records []stream.Record
	for i := range n {
		records = append(records, stream.Record{Value: fmt.Appendf(nil, `{"id":%d,"x":%v}`, i, float64(i)/7)})
	}
	dir := t.TempDir()
	dice := rand.New(rand.NewPCG(1, 2))
	for ends := 0; ; ends++ {
		ctx, kill := context.WithCancelCause(t.Context())
		q := stream.From(stream.Memory("ids", [][]stream.Record{records}).BatchSize(50)).Select("id", "x").
			Checkpoint(checkpoint.Folder(dir)).Epoch(10 * time.Millisecond).
			To(Sink(Config{URL: d.url, Table: "ids", Create: true}))
		r, err := q.Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if ends < 12 {
			time.AfterFunc(time.Duration(dice.IntN(60)+5)*time.Millisecond, func() { kill(errKilled) })
		}
		err = r.Wait(context.Background())
		kill(nil)
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
	d.want("SELECT count(*), count(DISTINCT id), min(id::int), max(id::int) FROM ids", fmt.Sprintf("%d|%d|0|%d", n, n, n-1))
}

// TestGoneBackBeforeARow: a query that has gone back, and ends before it has written a row, goes on from its own checkpoint.
func TestGoneBackBeforeARow(t *testing.T) {
	d := server(t)
	sink := newSink(Config{URL: d.url, Table: "sold", Create: true, Key: []string{"shop"}})
	open := func(mark stream.Mark) (written int64) {
		t.Helper()
		mark.Query, mark.Unit, mark.Known = "q", checkpoint.Whole, true
		written, err := sink.Resume(t.Context(), shops().Columns, mark)
		if err != nil {
			t.Fatal(err)
		}
		return written
	}
	resume := func(mark stream.Mark) {
		t.Helper()
		written := open(mark)
		if _, err := sink.Revert(t.Context(), checkpoint.Whole); err != nil {
			t.Fatal(err)
		}
		if written != mark.Snapshot.Number && written != mark.Epoch {
			t.Errorf("got epoch %d, want %d or %d", written, mark.Snapshot.Number, mark.Epoch)
		}
	}
	write := func(run string, epoch, sales int64) {
		t.Helper()
		rows := shops("a", sales)
		rows.Unit, rows.Run = checkpoint.Whole, run
		if err := sink.Write(t.Context(), epoch, rows); err != nil {
			t.Fatal(err)
		}
	}
	end := func() {
		t.Helper()
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
	resume(stream.Mark{Run: "first"})
	write("first", 6, 1)
	write("first", 9, 2)
	end()
	savepoint := stream.EpochID{Run: "first", Number: 6}
	resume(stream.Mark{Run: "second", Epoch: 5, Wrote: stream.EpochID{Run: "first", Number: 5}, Snapshot: savepoint})
	end()
	resume(stream.Mark{Run: "third", Epoch: 6, Wrote: savepoint, Snapshot: stream.EpochID{Run: "second", Number: 8}})
	write("third", 10, 3)
	end()
	d.want("SELECT epoch, runs FROM cancha_epochs", "10|first:6 second:8 third:*")
	d.want("SELECT * FROM sold", "a|3")

	open(stream.Mark{Run: "fourth", Epoch: 6, Wrote: savepoint, Snapshot: savepoint}) // it takes a snapshot of epoch 7, and dies before it goes back
	end()
	resume(stream.Mark{Run: "fifth", Epoch: 6, Wrote: savepoint, Snapshot: stream.EpochID{Run: "fourth", Number: 7}})
	d.want("SELECT epoch, runs FROM cancha_epochs", "6|first:6")
	write("fourth", 7, 4)
	write("fifth", 8, 5)
	end()
	d.want("SELECT epoch, runs FROM cancha_epochs", "8|first:6 fourth:7 fifth:*")
	d.want("SELECT * FROM sold", "a|5")
}

// TestUnitsOfTwoProcesses: partitions that one process has now were begun by others, each with a checkpoint of its own name. Each epoch of a unit is there
// once.
func TestUnitsOfTwoProcesses(t *testing.T) {
	d := server(t)
	sink := Sink(Config{URL: d.url, Table: "sold", Create: true})
	for i, query := range []string{"begun here", "begun elsewhere"} {
		rows := shops(fmt.Sprint("shop ", i), int64(7))
		rows.Unit = fmt.Sprint("partition ", i)
		for try := range int64(2) {
			mark := stream.Mark{Query: query, Unit: rows.Unit, Snapshot: stream.EpochID{Number: try}}
			if written, err := sink.(stream.Resumer).Resume(t.Context(), rows.Columns, mark); err != nil {
				t.Fatal(written, err)
			}
			if err := sink.Write(t.Context(), 1, rows); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := stream.Mark{Query: "another", Unit: "partition 2", Run: "another"}
	if _, err := sink.(stream.Resumer).Resume(t.Context(), shops().Columns, other); err == nil || !strings.Contains(err.Error(), "make one of its own for each query") {
		t.Errorf("another query: got %v", err)
	}
	if err := sink.(stream.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sink.(stream.Resumer).Resume(t.Context(), shops().Columns, other); err != nil {
		t.Errorf("another query, when the first has ended: got %v", err)
	}
	if err := sink.(stream.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	d.want("SELECT count(*), count(DISTINCT shop) FROM sold", "2|2")
}

// TestPartitionWhileTheServerIsAway: a query that runs waits for the server when it gets a partition, the first or another, longer than a start does; one
// that starts fails soon, and what the query is told to end with ends the wait.
func TestPartitionWhileTheServerIsAway(t *testing.T) {
	d := server(t)
	g := newGate(t, d.url)
	cfg := Config{URL: g.url, Table: "sold", Create: true, Patience: 200 * time.Millisecond}
	runs, standby, late := newSink(cfg), newSink(cfg), newSink(cfg)
	rows := shops("a", 1)
	resume := func(ctx context.Context, s *sink, unit string) error {
		_, err := s.Resume(ctx, rows.Columns, stream.Mark{Query: "q", Unit: unit, Run: "r"})
		return err
	}
	if err := errors.Join(resume(t.Context(), runs, "u"), standby.Probe(t.Context(), rows.Columns, "r")); err != nil {
		t.Fatal(err)
	}
	g.shut()
	for name, err := range map[string]error{"Resume": resume(t.Context(), late, "u"), "Probe": late.Probe(t.Context(), rows.Columns, "r")} {
		if err == nil || !strings.Contains(err.Error(), "tried for 200ms: no server answers") {
			t.Errorf("a query that starts, in %s: got %v", name, err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if err := resume(ctx, runs, "w"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a query that is told to end: got %v", err)
	}
	done := make(chan error, 2)
	go func() { done <- resume(t.Context(), runs, "w") }()
	go func() { done <- resume(t.Context(), standby, "v") }()
	time.Sleep(time.Second) // more than a query that starts would wait
	g.open()
	for range 2 {
		if err := <-done; err != nil {
			t.Errorf("a query that runs: %v", err)
		}
	}
	rows.Unit = "v"
	if err := errors.Join(standby.Write(t.Context(), 1, rows), standby.Close(), runs.Close(), late.Close()); err != nil {
		t.Errorf("what it writes then: %v", err)
	}
	d.want("SELECT * FROM sold", "a|1")
}

// TestProcessesThatStartTogether make the tables at one time, of which PostgreSQL lets one pass.
func TestProcessesThatStartTogether(t *testing.T) {
	d := server(t)
	for i := range 10 {
		var starting errgroup.Group
		for range 6 {
			starting.Go(func() error {
				sink := Sink(Config{URL: d.url, Table: fmt.Sprint("sold ", i), Create: true})
				_, err := sink.(stream.Resumer).Resume(t.Context(), shops().Columns, stream.Mark{Query: "begun", Unit: "partition 0", Run: "run"})
				return errors.Join(err, sink.(stream.Closer).Close())
			})
		}
		if err := starting.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
