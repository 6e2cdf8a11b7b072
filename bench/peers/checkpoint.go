package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/stream/file"
	"cancha/stream/kafka"
)

// fillKeys makes the topic of sums: a record touches one of the keys at random, a millisecond of event time behind the one before.
func (s settings) fillKeys(ctx context.Context) error {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: s.brokers, Topic: s.topic, Partitions: partitions})
	if err != nil {
		return err
	}
	random, start := rand.New(rand.NewPCG(1, 2)), time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	for i := range s.events {
		key, at := random.IntN(s.keys), start.Add(time.Duration(i)*time.Millisecond)
		value := fmt.Appendf(nil, `{"key":%d,"at":"%s","x":%d.5}`, key, at.Format("2006-01-02T15:04:05.000Z"), random.IntN(1000))
		if err := producer.Send(ctx, strconv.AppendInt(nil, int64(key), 10), value); err != nil {
			return err
		}
	}
	return producer.Close(ctx)
}

// sumsOf is the query of all engines: by key the number of records, and sum, least, greatest and mean of x, in one window that only the topic's end closes.
func sumsOf(source stream.Source) *stream.Query {
	x := stream.Field("x")
	return stream.From(source).EventTime(stream.Field("at").AsTime()).Watermark(30*time.Second).KeyedBy("key").
		GroupBy("key").Window(stream.Tumbling(100*24*time.Hour)).
		Agg(stream.Count("n"), stream.Sum("sum", x), stream.Min("least", x), stream.Max("greatest", x), stream.Mean("mean", x))
}

// sums runs the query from the first record of the topic to the last that is there, with a checkpoint each second if a folder for them is named.
func (s settings) sums(ctx context.Context) error {
	counted, place := &counter{}, &noted{}
	query, name := sumsOf(s.present()).KeepRows(1000).To(counted), "without"
	if s.rows != "" {
		query = query.To(file.CSV(s.rows))
	}
	if s.folder != "" {
		dir, err := os.MkdirTemp(s.folder, "checkpoint-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		place.Place = checkpoint.Folder(dir)
		query, name = query.Checkpoint(place).Epoch(time.Second), "with"
	}
	running, o, err := s.timed(ctx, name, query, counted)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(place.line(o, running))
}

// noted is a place that notes how large the snapshots are that it is given.
type noted struct {
	checkpoint.Place
	mu    sync.Mutex
	sizes []int64
}

// Write implements checkpoint.Place.
func (p *noted) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	size := int64(0)
	for _, piece := range pieces {
		size += int64(len(piece))
	}
	err := p.Place.Write(ctx, unit, epoch, pieces)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sizes = append(p.sizes, size)
	}
	return err
}

// kept is the line of a run of sums, as flink_checkpoint.py prints its own.
type kept struct {
	outcome
	State       int64 `json:"state"` // bytes in memory, at most
	Checkpoints int   `json:"checkpoints"`
	Middle      int64 `json:"checkpoint_bytes"` // of the median checkpoint
	Written     int64 `json:"written_bytes"`    // of all
	Pause       int64 `json:"pause_ms"`         // the longest that stopped the query
	Longest     int64 `json:"longest_ms"`       // that one took beside it
}

func (p *noted) line(o outcome, running *stream.Running) kept {
	k := kept{outcome: o, Checkpoints: len(p.sizes)}
	for _, size := range p.sizes {
		k.Written += size
	}
	if slices.Sort(p.sizes); len(p.sizes) > 0 {
		k.Middle = p.sizes[len(p.sizes)/2]
	}
	for _, progress := range running.Recent() {
		k.Pause, k.Longest = max(k.Pause, progress.DurationMs["snapshot"]), max(k.Longest, progress.DurationMs["walCommit"])
		for _, operator := range progress.StateOperators {
			k.State = max(k.State, operator.MemoryUsedBytes)
		}
	}
	return k
}
