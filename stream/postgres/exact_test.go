package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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

// TestUnitsOfTwoProcesses: partitions that one process has now were begun by others, each with a checkpoint of its own name. Each epoch of a unit is there
// once.
func TestUnitsOfTwoProcesses(t *testing.T) {
	d := server(t)
	sink := Sink(Config{URL: d.url, Table: "sold", Create: true})
	for i, query := range []string{"begun here", "begun elsewhere"} {
		rows := shops(fmt.Sprint("shop ", i), int64(7))
		rows.Unit = fmt.Sprint("partition ", i)
		for range 2 {
			if written, err := sink.(stream.Resumer).Resume(t.Context(), rows.Columns, stream.Mark{Query: query, Unit: rows.Unit}); err != nil {
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
