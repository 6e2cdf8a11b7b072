package streaming_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/statsbomb/streaming"
	"cancha/stream"
)

// memory takes what a replay sends, by match.
type memory struct{ partitions [][]stream.Record }

func (m *memory) Send(_ context.Context, key, value []byte) error {
	p := int(key[len(key)-1]) % len(m.partitions)
	m.partitions[p] = append(m.partitions[p], stream.Record{Key: bytes.Clone(key), Value: bytes.Clone(value)})
	return nil
}

func (m *memory) Flush(context.Context) error { return nil }

// season replays simulated matches into partitions.
func season(t testing.TB, matches, partitions int) [][]stream.Record {
	t.Helper()
	m := &memory{make([][]stream.Record, partitions)}
	err := replay.Run(t.Context(), simulate.New(simulate.Config{Seed: 5}), m, replay.Config{Start: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), Seed: 3,
		Matches: matches, Partitions: partitions, PartitionOf: func(key []byte) int { return int(key[len(key)-1]) % partitions }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.partitions
}

// damaged changes some records: some to what is no JSON, some to what no event is.
func damaged(partitions [][]stream.Record) [][]stream.Record {
	for _, records := range partitions {
		for i := range records {
			switch v := string(records[i].Value); i % 97 {
			case 13:
				records[i].Value = []byte(v[:len(v)/2])
			case 31:
				records[i].Value = []byte(strings.Replace(v, `"team":{"id":`, `"team":{"id":"x`, 1))
			case 47:
				records[i].Value = []byte(strings.Replace(v, `"match_id"`, `"no_id"`, 1))
			case 61:
				records[i].Value = []byte(strings.Replace(v, `"event_time"`, `"no_time"`, 1))
			case 71:
				records[i].Value = []byte(`[1]`)
			}
		}
	}
	return partitions
}

func wait(t testing.TB, running *stream.Running) {
	t.Helper()
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// tally is a model whose answer depends on all events of a match so far and on their order.
type tally struct {
	classes []string
	state   map[int64]float64
	fail    error
}

func newTally() *tally {
	return &tally{classes: []string{"draw", "home", "away"}, state: map[int64]float64{}}
}

func (m *tally) Classes() []string { return m.classes }

func (m *tally) Score(events []statsbomb.MatchEvent, probabilities [][]float64) error {
	for i, e := range events {
		_, s := math.Modf(m.state[e.Event.MatchID]*3 + float64(e.Event.Index)/7 + float64(e.Event.Type.ID)/100 + float64(e.Home.ID)/10)
		m.state[e.Event.MatchID] = s
		copy(probabilities[i], []float64{(1 - s) / 4, s, (1 - s) * 3 / 4})
	}
	return m.fail
}

func TestAModelThatFailsEndsTheQuery(t *testing.T) {
	model := newTally()
	model.fail = errors.New("out of trees")
	board, err := streaming.NewBoard(model, 0)
	if err != nil {
		t.Fatal(err)
	}
	running, err := streaming.Score(stream.Memory("events", season(t, 4, 1)), board).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "out of trees") {
		t.Errorf("got %v", err)
	}
	model.classes = []string{"home", "away"}
	if _, err := streaming.NewBoard(model, 0); err == nil || !strings.Contains(err.Error(), "want home, draw and away") {
		t.Errorf("got %v", err)
	}
}

func TestFlattenedRowsHaveTheTypesName(t *testing.T) {
	const rows = `{"match_id":7,"period":1,"type":"Pass","team":"Racing","team_id":3,"location":[0,0],"pass_end_location":[3,4],"event_time":"2026-03-01T15:00:01Z"}`
	running, err := streaming.MinuteStatistics(stream.Memory("rows", [][]stream.Record{{{Value: []byte(rows)}}})).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wait(t, running)
	got := running.Results()
	if got.Len() != 1 || got.Row(0).Int("passes") != 1 || got.Row(0).Float("pass_length_mean") != 5 || got.Row(0).Int("team_id") != 3 {
		t.Errorf("got %d rows; bad %v; %s", got.Len(), running.BadRecords(), got.AppendJSON(nil, 0))
	}
}

// BenchmarkScore scores from memory with a model that costs nothing.
func BenchmarkScore(b *testing.B) {
	records := season(b, 8, 2)
	n := float64(len(records[0]) + len(records[1]))
	for b.Loop() {
		board, err := streaming.NewBoard(newTally(), 0)
		if err != nil {
			b.Fatal(err)
		}
		running, err := streaming.Score(stream.Memory("events", records).BatchSize(4096), board).Start(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		wait(b, running)
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "events/s")
}
