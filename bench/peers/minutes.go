package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	bench "cancha/bench/stream"
	"cancha/statsbomb/streaming"
	"cancha/stream"
	"cancha/stream/file"
	"cancha/stream/kafka"
)

// Shape of the topic: each match in one partition, its events 0.6 s apart.
const (
	matches    = 64
	partitions = 4
	step       = 600 * time.Millisecond
)

// fill makes the topic, and the same records as a file.
func (s settings) fill(ctx context.Context) error {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: s.brokers, Topic: s.topic, Partitions: partitions})
	if err != nil {
		return err
	}
	keep, err := lines(s.file)
	if err != nil {
		return err
	}
	random, start, size := rand.New(rand.NewPCG(1, 2)), time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), 0
	for i := range s.events {
		match := i%matches + 1
		value, _ := bench.Event(random, match, i/matches+1, start.Add(time.Duration(i/matches)*step))
		size += len(value)
		if err := errors.Join(producer.Send(ctx, strconv.AppendInt(nil, int64(match), 10), value), keep.add(value)); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "%d records of %d bytes\n", s.events, size/s.events)
	return errors.Join(producer.Close(ctx), keep.close())
}

// linesFile is a file of records, one a line; none if it is nil.
type linesFile struct {
	file *os.File
	out  *bufio.Writer
}

func lines(path string) (*linesFile, error) {
	if path == "" {
		return nil, nil
	}
	to, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &linesFile{to, bufio.NewWriterSize(to, 1<<20)}, nil
}

func (l *linesFile) add(value []byte) error {
	if l == nil {
		return nil
	}
	l.out.Write(value) // an error is kept for the next call
	return l.out.WriteByte('\n')
}

func (l *linesFile) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.out.Flush(), l.file.Close())
}

// statistics is the query of all engines: by match, team and minute the number of events, and least, greatest, mean and sample variance of the place.
func statistics(source stream.Source) *stream.Query {
	x, y := stream.Field("location[0]"), stream.Field("location[1]")
	return streaming.Events(source).Watermark(30*time.Second).Filter(stream.Has("team.id")).With("team_id", stream.Field("team.id")).
		GroupBy("match_id", "team_id").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("n"), stream.Min("x0", x), stream.Max("x1", x), stream.Mean("x2", x), stream.Variance("x3", x),
			stream.Min("y0", y), stream.Max("y1", y), stream.Mean("y2", y), stream.Variance("y3", y))
}

// counter is a sink that counts rows.
type counter struct{ rows int64 }

func (c *counter) Write(_ context.Context, _ int64, rows *stream.Rows) error {
	c.rows += int64(rows.Len())
	return nil
}

// minutes runs the query from the first record of the topic to the last that is there.
func (s settings) minutes(ctx context.Context) error {
	counted := &counter{}
	query := statistics(s.present()).KeepRows(1000).To(counted)
	if s.rows != "" {
		query = query.To(file.CSV(s.rows))
	}
	_, o, err := s.timed(ctx, "minutes", query, counted)
	if err != nil {
		return err
	}
	return o.print()
}

// present is the topic from its first record to the last that is there now.
func (s settings) present() stream.Source {
	return kafka.Source(kafka.Config{Brokers: s.brokers, Topic: s.topic, AvailableNow: true})
}

// timed runs a query over all of the topic, none of whose records may be bad or late.
func (s settings) timed(ctx context.Context, name string, query *stream.Query, to *counter) (*stream.Running, outcome, error) {
	m, err := measure()
	if err != nil {
		return nil, outcome{}, err
	}
	running, err := query.Start(ctx)
	if err == nil {
		err = running.Wait(ctx)
	}
	if err != nil {
		return nil, outcome{}, err
	}
	o, err := m.outcome(name, int64(s.events), to.rows)
	if t := running.Totals(); t.Records != int64(s.events) || t.Bad+t.Late+t.Lost > 0 {
		err = errors.Join(err, fmt.Errorf("%d records of %d, %d bad, %d late, %d lost: the topic has others; fill a new one (-topic)", t.Records, s.events, t.Bad, t.Late, t.Lost))
	}
	return running, o, err
}
