package stream

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"cancha/statsbomb/streaming"
	"cancha/stream"
	"cancha/stream/broker"
	kafkasource "cancha/stream/kafka"
)

const (
	topic      = "events"
	partitions = 4
	matches    = 32
	perMatch   = 10_000
	total      = matches * perMatch
)

// preload starts a broker and fills its topic; it returns the broker's address and the mean size of an event.
func preload(b *testing.B) (addr string, size int) {
	b.Helper()
	embedded, err := broker.Start(broker.Config{Partitions: partitions, RetentionBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { embedded.Close() })
	producer, err := kafkasource.NewProducer(kafkasource.ProducerConfig{Brokers: []string{embedded.Addr()}, Topic: topic, Partitions: partitions})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := producer.Partitions(b.Context()); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	for index := range perMatch {
		for match := range matches {
			value, _ := Event(random, match+1, index+1, start.Add(time.Duration(index)*600*time.Millisecond))
			size += len(value)
			if err := producer.Send(b.Context(), strconv.AppendInt(nil, int64(match+1), 10), value); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := producer.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	return embedded.Addr(), size / total
}

// windows is what either job computes.
type windows map[key]*sample

type key struct {
	match, team int64
	start       int64 // Unix seconds
}

// fields of a record whose statistics are kept, beside the keys and the time.
const fields = 4

var names = [fields]string{"x", "y", "duration", "pass_length"}

// sample is the statistics of a window, by Welford's method as the query has them.
type sample struct {
	n         float64
	mean, m2  [fields]float64
	low, high [fields]float64
}

func (s *sample) add(values [fields]float64) {
	s.n++
	for i, v := range values {
		if s.n == 1 {
			s.low[i], s.high[i] = v, v
		}
		s.low[i], s.high[i] = min(s.low[i], v), max(s.high[i], v)
		d := v - s.mean[i]
		s.mean[i] += d / s.n
		s.m2[i] += d * (v - s.mean[i])
	}
}

// BenchmarkStream is the same job twice: count, and the statistics of four fields, by match, team and minute. The two take
// turns, so that a busy machine is busy for both, and must compute the same.
func BenchmarkStream(b *testing.B) {
	addr, size := preload(b)
	var query, hand []float64
	for b.Loop() {
		begun := time.Now()
		rows := byQuery(b, addr)
		between := time.Now()
		want := byHand(b, addr)
		query = append(query, total/between.Sub(begun).Seconds())
		hand = append(hand, total/time.Since(between).Seconds())
		compare(b, byKey(rows), want)
	}
	b.ReportMetric(median(query), "query-events/s")
	b.ReportMetric(median(hand), "hand-events/s")
	b.ReportMetric(median(query)/median(hand), "times")
	b.ReportMetric(float64(size), "bytes/event")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}

func byQuery(b *testing.B, addr string) *stream.Rows {
	source := kafkasource.Source(kafkasource.Config{Brokers: []string{addr}, Topic: topic})
	running, err := streaming.Events(source).Watermark(30*time.Second).With("team_id", stream.Field("team.id")).GroupBy("match_id", "team_id").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("events"), stream.Stats("x", stream.Field("location[0]")), stream.Stats("y", stream.Field("location[1]")),
			stream.Stats("duration", stream.Field("duration")), stream.Stats("pass_length", stream.Field("pass.length"))).
		MaxRecords(total).Start(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := running.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	if t := running.Totals(); t.Bad+t.Late+t.Lost != 0 || t.Records != total {
		b.Fatalf("got %+v", t)
	}
	return running.Results()
}

// byKey puts the rows of a query into the form of the other job.
func byKey(rows *stream.Rows) windows {
	all := windows{}
	samples := make([]*sample, rows.Len())
	for i := range samples {
		row := rows.Row(i)
		samples[i] = &sample{n: row.Float("events")}
		all[key{row.Int("match_id"), row.Int("team_id"), row.Time("window_start").Unix()}] = samples[i]
	}
	for f, name := range names {
		for i, s := range samples {
			row := rows.Row(i)
			s.low[f], s.high[f], s.mean[f], s.m2[f] = row.Float(name+"_min"), row.Float(name+"_max"), row.Float(name+"_mean"), row.Float(name+"_var")*(s.n-1)
		}
	}
	return all
}

// compare requires the same windows, counts, least and greatest values, and means and squares to 1e-9.
func compare(b *testing.B, got, want windows) {
	b.Helper()
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(y)) }
	if len(got) != len(want) {
		b.Fatalf("got %d windows, want %d", len(got), len(want))
	}
	for k, w := range want {
		g := got[k]
		if g == nil || g.n != w.n || g.low != w.low || g.high != w.high {
			b.Fatalf("window %+v: got %+v, want %+v", k, g, w)
		}
		for f := range fields {
			if !near(g.mean[f], w.mean[f]) || w.n > 1 && !near(g.m2[f], w.m2[f]) {
				b.Fatalf("window %+v, %s: got %+v, want %+v", k, names[f], g, w)
			}
		}
	}
}

// byHand reads with one Reader for each partition, each in its goroutine with its own windows.
func byHand(b *testing.B, addr string) windows {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	type part struct {
		windows windows
		err     error
	}
	parts := make(chan part, partitions)
	for p := range partitions {
		go func() {
			found, err := readPartition(ctx, addr, p)
			parts <- part{found, err}
		}()
	}
	all := windows{}
	for range partitions {
		done := <-parts
		if done.err != nil {
			b.Fatal(done.err)
		}
		maps.Copy(all, done.windows) // keyed by match: no window has parts in two partitions
	}
	return all
}

func readPartition(ctx context.Context, addr string, partition int) (windows, error) {
	end, err := endOf(ctx, addr, partition)
	if err != nil {
		return nil, err
	}
	found := windows{}
	// Close waits for the fetch under way, up to MaxWait: 10 s by default, which would count against the peer.
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: topic, Partition: partition, MaxBytes: 10e6,
		QueueCapacity: 1000, MaxWait: 50 * time.Millisecond})
	defer reader.Close()
	for next := int64(0); next < end; {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			return nil, err
		}
		next = m.Offset + 1
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
		if err := json.Unmarshal(m.Value, &e); err != nil {
			return nil, err
		}
		if len(e.Event.Location) < 2 {
			return nil, errors.New("no location")
		}
		k := key{e.Event.MatchID, e.Event.Team.ID, e.Metadata.EventTime.Truncate(time.Minute).Unix()}
		if found[k] == nil {
			found[k] = &sample{}
		}
		found[k].add([fields]float64{e.Event.Location[0], e.Event.Location[1], e.Event.Duration, e.Event.Pass.Length})
	}
	return found, nil
}

func endOf(ctx context.Context, addr string, partition int) (int64, error) {
	conn, err := kafka.DialLeader(ctx, "tcp", addr, topic, partition)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	return conn.ReadLastOffset()
}
