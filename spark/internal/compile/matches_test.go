package compile

import (
	"bytes"
	"context"
	"testing"
	"time"

	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/statsbomb/streaming"
	"cancha/stream"
)

// taken takes what a replay sends.
type taken struct{ records []stream.Record }

func (m *taken) Send(_ context.Context, key, value []byte) error {
	m.records = append(m.records, stream.Record{Key: bytes.Clone(key), Value: bytes.Clone(value)})
	return nil
}

func (m *taken) Flush(context.Context) error { return nil }

// TestSameMatches: the statistics a minute of notebook 03 are the same on both engines.
func TestSameMatches(t *testing.T) {
	c := server(t)
	m := &taken{}
	err := replay.Run(t.Context(), simulate.New(simulate.Config{Seed: 5}), m, replay.Config{Start: time.Date(2026, 3, 1, 15, 0, 0, 0,
		time.UTC), Seed: 3, Matches: 1,
		Partitions: 1, PartitionOf: func([]byte) int { return 0 }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	source := held("events", m.records[:min(len(m.records), 1200)])
	q := streaming.MinuteStatistics(source)
	r, want, totals := localRows(t, q)
	if totals.Bad > 0 || totals.Late > 0 {
		t.Fatalf("%d bad, %d late records: they are told apart elsewhere", totals.Bad, totals.Late)
	}
	of, err := Query(q.Plan(), Options{Records: given(source)})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, r.Columns, rowsOf(t, c, of), want)
}
