package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	bench "cancha/bench/stream"
	"cancha/stream"
	"cancha/stream/kafka"
)

// Shape of the topic: each match in one partition, its events 0.6 s apart.
const (
	matches    = 64
	partitions = 4
	step       = 600 * time.Millisecond
	closing    = 40 // records without a team, a day later, some in each partition: behind them all windows are over
)

// fill makes the topic.
func (s settings) fill(ctx context.Context) error {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: s.brokers, Topic: s.topic, Partitions: partitions})
	if err != nil {
		return err
	}
	random, start := rand.New(rand.NewPCG(1, 2)), time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	for i := range s.events {
		match := i%matches + 1
		value, _ := bench.Event(random, match, i/matches+1, start.Add(time.Duration(i/matches)*step))
		if err := producer.Send(ctx, strconv.AppendInt(nil, int64(match), 10), value); err != nil {
			return err
		}
	}
	end := start.Add(time.Duration(s.events/matches)*step + 24*time.Hour).Format(time.RFC3339)
	for i := range closing {
		if err := producer.Send(ctx, fmt.Append(nil, "end-", i), fmt.Appendf(nil, `{"metadata":{"event_time":%q}}`, end)); err != nil {
			return err
		}
	}
	return producer.Close(ctx)
}

// statistics is the plan: by match, team and minute the number of events, and mean, sample variance, least and greatest of four fields.
func statistics(source stream.Source) *stream.Query {
	list := []stream.Aggregate{stream.Count("n")}
	for _, path := range []string{"event.location[0]", "event.location[1]", "event.duration", "event.pass.length"} {
		f, name := stream.Field(path), fmt.Sprintf("f%d", len(list)/4)
		list = append(list, stream.Mean(name+"_mean", f), stream.Variance(name+"_variance", f), stream.Min(name+"_min", f), stream.Max(name+"_max", f))
	}
	return stream.From(source).EventTime(stream.Field("metadata.event_time").AsTime()).Watermark(10*time.Minute).
		Filter(stream.Has("event.team.id")).With("match", stream.Field("event.match_id")).With("team", stream.Field("event.team.id")).
		GroupBy("match", "team").Window(stream.Tumbling(time.Minute)).Agg(list...).Name("minutes")
}

// summed is a sink that counts rows and adds up each of their columns that are numbers.
type summed struct {
	rows int64
	sums []float64
}

// Write implements stream.Sink.
func (s *summed) Write(_ context.Context, _ int64, rows *stream.Rows) error {
	if s.sums == nil {
		s.sums = make([]float64, len(rows.Columns))
	}
	if len(s.sums) != len(rows.Columns) {
		return errors.New("rows of another form")
	}
	s.rows += int64(rows.Len())
	for i := range rows.Len() {
		for k := range rows.Columns {
			if x, ok := rows.At(i, k).Number(); ok {
				s.sums[k] += x
			}
		}
	}
	return nil
}
