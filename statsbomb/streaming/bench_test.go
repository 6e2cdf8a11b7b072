package streaming_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/streaming"
	"cancha/stream"
)

// fourFields is the plan of the throughput figures: events a minute by match and team, with the statistics of pass length
// and of the place on the pitch.
func fourFields(source stream.Source) *stream.Query {
	return streaming.Events(source).Watermark(30*time.Second).Filter(stream.Has("team.id")).
		GroupBy("match_id", "team.id").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("events"), stream.Stats("x", stream.Field("location[0]")), stream.Stats("y", stream.Field("location[1]")),
			stream.Stats("duration", stream.Field("duration")), stream.Stats("pass_length", stream.Field("pass.length")))
}

func benchmarkRecords() ([]stream.Record, int64) {
	all := season(1, 8, 2500)
	var size int64
	for _, r := range all {
		size += int64(len(r.Value))
	}
	return all, size
}

// eventsPerSecond reports how fast a benchmark went whose every turn took n events.
func eventsPerSecond(b *testing.B, n int) {
	b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkDecode decodes alone: the fields of a query, whose filter lets no event pass, and whole events as the scoring reads them.
func BenchmarkDecode(b *testing.B) {
	all, size := benchmarkRecords()
	source := stream.Memory("events", [][]stream.Record{all})
	none := func(q *stream.Query) *stream.Query {
		return q.Filter(stream.Field("location[0]").Add(stream.Field("location[1]")).Add(stream.Field("duration")).Add(stream.Field("pass.length")).Lt(-1)).
			Filter(stream.Has("match_id", "team.id")).Select("match_id", "team.id")
	}
	b.Run("four fields", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			running := finish(b, none(streaming.Events(source)))
			if t := running.Totals(); t.Bad > 0 || t.Filtered != int64(len(all)) {
				b.Fatalf("bad %d, filtered %d", t.Bad, t.Filtered)
			}
		}
		eventsPerSecond(b, len(all))
	})
	b.Run("whole events", func(b *testing.B) {
		all := scorable(1, 8, 2500)
		b.SetBytes(size)
		b.ReportAllocs()
		read := streaming.NewReader()
		for b.Loop() {
			for _, r := range all {
				if reason := read(r.Value); reason != "" {
					b.Fatal(reason)
				}
			}
		}
		eventsPerSecond(b, len(all))
	})
}

// BenchmarkQuery runs a query over a topic in memory: decoding and windows on one partition, that is on one core.
func BenchmarkQuery(b *testing.B) {
	all, size := benchmarkRecords()
	source := stream.Memory("events", [][]stream.Record{all})
	for _, plan := range []struct {
		name  string
		query func(stream.Source) *stream.Query
	}{{"four fields", fourFields}, {"minute statistics", streaming.MinuteStatistics}} {
		b.Run(plan.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				running := finish(b, plan.query(source))
				if t := running.Totals(); t.Bad > 0 || t.Late > 0 || t.Rows == 0 {
					b.Fatalf("bad %d, late %d, rows %d", t.Bad, t.Late, t.Rows)
				}
			}
			eventsPerSecond(b, len(all))
		})
	}
}

// BenchmarkEncodingJSON is the peer: the same fields by encoding/json.
func BenchmarkEncodingJSON(b *testing.B) {
	all, size := benchmarkRecords()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range all {
			var e struct {
				Event struct {
					MatchID  int64 `json:"match_id"`
					Team     struct{ ID int64 }
					Location []float64
					Duration float64
					Pass     struct{ Length float64 }
				}
				Metadata struct {
					EventTime time.Time `json:"event_time"`
				}
			}
			if err := json.Unmarshal(r.Value, &e); err != nil {
				b.Fatal(err)
			}
		}
	}
	eventsPerSecond(b, len(all))
}

// free is a model that costs nothing.
type free struct{}

func (free) Classes() []string { return []string{"home", "draw", "away"} }

func (free) Score(_ context.Context, _ []statsbomb.MatchEvent, probabilities [][]float64) error {
	for _, p := range probabilities {
		p[0], p[1], p[2] = .5, .25, .25
	}
	return nil
}

// BenchmarkScore decodes events whole, of simulated matches in two partitions, and calls a model that costs nothing.
func BenchmarkScore(b *testing.B) {
	records := simulated(b, 8, 2)
	source := stream.Memory("events", records).BatchSize(4096)
	n := len(records[0]) + len(records[1])
	b.ReportAllocs()
	for b.Loop() {
		board := newBoard(b, free{}, 0)
		finish(b, streaming.Score(source, board))
		if got := board.Latest().Total; got != 8 {
			b.Fatalf("got %d matches, want 8", got)
		}
	}
	eventsPerSecond(b, n)
}
