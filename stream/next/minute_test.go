package next_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	. "cancha/stream/next"
)

// matches makes the events of some matches, in the envelope, flattened and bare, out of order by some seconds, with gaps in their fields.
func matches(n, perMatch int) [][]stream.Record {
	random := rand.New(rand.NewPCG(3, 4))
	start := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	partitions := make([][]stream.Record, 2)
	for i := range perMatch {
		for m := 1; m <= n; m++ {
			at := start.Add(time.Duration(i)*700*time.Millisecond - time.Duration(random.IntN(40_000))*time.Millisecond)
			partitions[m%2] = append(partitions[m%2], stream.Record{Value: event(random, m, i, at)})
		}
	}
	return partitions
}

func event(random *rand.Rand, match, index int, at time.Time) []byte {
	team, holder := match*2+random.IntN(2), match*2+random.IntN(2)
	kinds := []string{`{"id":30,"name":"Pass"}`, `{"id":43,"name":"Carry"}`, `{"id":42,"name":"Ball Receipt*"}`}
	kind := random.IntN(3)
	detail := [...]string{fmt.Sprintf(`,"pass":{"length":%g,"end_location":[%g,%g]}`, random.Float64()*60, random.Float64()*120, random.Float64()*80),
		fmt.Sprintf(`,"carry":{"end_location":[%g,%g]}`, random.Float64()*120, random.Float64()*80), ""}[kind]
	place := fmt.Sprintf(`,"location":[%g,%g]`, random.Float64()*120, random.Float64()*80)
	if index%17 == 0 {
		place = ""
	}
	body := fmt.Sprintf(`"id":"%08x","index":%d,"period":%d,"match_id":%d`, random.Uint32(), index, 1+index%6, match)
	nested := fmt.Sprintf(`{%s,"type":%s,"possession_team":{"id":%d},"team":{"id":%d,"name":"Racing"}%s,"duration":%g%s`,
		body, kinds[kind], holder, team, place, random.Float64(), detail)
	stamp := at.Format("2006-01-02T15:04:05.000Z")
	if index%5 == 0 {
		return fmt.Appendf(nil, `%s,"event_time":%q}`, nested, stamp)
	}
	return fmt.Appendf(nil, `{"event":%s},"metadata":{"event_time":%q,"source":"simulator"}}`, nested, stamp)
}

// minute is the query of the statistics a minute.
func minute(source stream.Source) *Query {
	pass, carry := Field("type.id").Eq(30), Field("type.id").Eq(43)
	return From(source).Format(JSONFormat().Envelope("event", "metadata").Flattened("_")).
		EventTime(Field("metadata.event_time").AsTime().OrElse(Field("event_time").AsTime())).
		Watermark(30*time.Second).KeyedBy("match_id").
		Filter(Field("period").Between(1, 5)).Filter(Has("team.id")).
		GroupBy("match_id", "team.id").Window(Tumbling(time.Minute)).
		Agg(Count("events"), CountIf("passes", pass),
			Stats("pass_length", Distance("location", "pass.end_location")).If(pass),
			Stats("carry_distance", Distance("location", "carry.end_location")).If(carry),
			Stats("x", Field("location[0]")), Stats("y", Field("location[1]")),
			Share("possession", "possession_team.id", "team.id"))
}

// TestMinuteStatisticsAsBefore compares the statistics with those of the engine that was written for them: to the last digit, and what is
// late with them.
func TestMinuteStatisticsAsBefore(t *testing.T) {
	records := matches(6, 1500)
	before, err := stream.MinuteStatistics(stream.Memory("events", records)).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := stream.WriteWindowsCSV(&want, before.Results()); err != nil {
		t.Fatal(err)
	}
	_, running := run(t, minute(stream.Memory("events", records)))
	rows, err := running.Results().Select(slices.DeleteFunc(running.Results().Names(), func(n string) bool { return n == "window_end" })...)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := rows.WriteCSV(&got); err != nil {
		t.Fatal(err)
	}
	if g, w := strings.Replace(got.String(), "team.id", "team_id", 1), want.String(); g != w {
		t.Errorf("got %d bytes, want %d:\n%.600s\n%.600s", len(g), len(w), g, w)
	}
	if g, w := running.Totals(), before.Totals(); g.Late != w.Late || g.Late == 0 || g.Bad != w.Bad || g.Records != w.Records || g.Rows != w.Rows {
		t.Errorf("got %+v, want %+v", g, w)
	}
}

// BenchmarkMinute runs the statistics a minute from memory, by the new engine and by the one before.
func BenchmarkMinute(b *testing.B) {
	records := matches(8, 5000)
	source := stream.Memory("events", records).BatchSize(4096)
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			running, err := minute(source).Start(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := running.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)*40_000/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("before", func(b *testing.B) {
		for b.Loop() {
			running, err := stream.MinuteStatistics(source).Start(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := running.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)*40_000/b.Elapsed().Seconds(), "events/s")
	})
}
