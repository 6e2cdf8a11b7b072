package stream

import (
	"encoding/json"
	"testing"
	"time"
)

// fourFields is the plan of the throughput figures: events a minute by match and team, with the statistics of pass length
// and of the place on the pitch.
func fourFields(source Source) *Query {
	return From(source).Watermark(30*time.Second).GroupBy("match_id", "team.id").Window(Tumbling(time.Minute)).
		Where(Has("team.id")).
		Agg(Count("events"), Stats("x", Field("location.0")), Stats("y", Field("location.1")),
			Stats("duration", Field("duration")), Stats("pass_length", Field("pass.length")))
}

func benchmarkRecords() ([]Record, int64) {
	all := season(1, 8, 2500)
	var size int64
	for _, r := range all {
		size += int64(len(r.Value))
	}
	return all, size
}

func BenchmarkDecode(b *testing.B) {
	all, size := benchmarkRecords()
	for _, plan := range []struct {
		name  string
		query func(Source) *Query
	}{{"four fields", fourFields}, {"minute statistics", MinuteStatistics}} {
		b.Run(plan.name, func(b *testing.B) {
			p, err := plan.query(Memory("t", nil)).compile(newDictionary())
			if err != nil {
				b.Fatal(err)
			}
			d := newDecoder(&p.projection, p.dict)
			b.SetBytes(size / int64(len(all)))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if reason := d.decode(all[i].Value); reason != "" {
					b.Fatal(reason)
				}
				if i++; i == len(all) {
					i = 0
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkQuery runs a query over a topic in memory: decoding and windows on one partition, that is on one core.
func BenchmarkQuery(b *testing.B) {
	all, size := benchmarkRecords()
	for _, plan := range []struct {
		name  string
		query func(Source) *Query
	}{{"four fields", fourFields}, {"minute statistics", MinuteStatistics}} {
		b.Run(plan.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				running, err := plan.query(Memory("events", [][]Record{all})).Start(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if err := running.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
				if t := running.Totals(); t.Bad > 0 || t.Late > 0 || t.Rows == 0 {
					b.Fatalf("bad %d, late %d, rows %d", t.Bad, t.Late, t.Rows)
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(all))/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkEncodingJSON is the peer: the same fields by encoding/json.
func BenchmarkEncodingJSON(b *testing.B) {
	all, size := benchmarkRecords()
	b.SetBytes(size / int64(len(all)))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
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
		if err := json.Unmarshal(all[i].Value, &e); err != nil {
			b.Fatal(err)
		}
		if i++; i == len(all) {
			i = 0
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkScore decodes events whole and calls a model that costs nothing.
func BenchmarkScore(b *testing.B) {
	all := scorable(1, 8, 2500)
	for b.Loop() {
		running := scored(b, Score(Memory("events", [][]Record{all}), newTally()))
		if got := running.Predictions().Total; got != int64(len(all)) {
			b.Fatalf("got %d predictions, want %d", got, len(all))
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(all))/b.Elapsed().Seconds(), "events/s")
}
