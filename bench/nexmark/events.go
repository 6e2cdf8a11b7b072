package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"cancha/stream"
	"cancha/stream/kafka"
)

// Live is a source that makes each record when it is asked for.
func (g Generator) Live() stream.Source {
	return stream.Generate("nexmark", g.Partitions, 0, func(partition int, n int64) stream.Record {
		return stream.Record{Value: g.Append(nil, g.at(n*int64(g.Partitions)+int64(partition)))}
	}).Records(g.Events / int64(g.Partitions))
}

// Memory makes all records, about 170 bytes each, and returns a source of them, so that a run does not pay for making them.
func (g Generator) Memory() stream.Source {
	texts, ends := make([][]byte, g.Partitions), make([][]int, g.Partitions)
	var making sync.WaitGroup
	for p := range g.Partitions {
		making.Go(func() { texts[p], ends[p] = g.partition(p) })
	}
	making.Wait()
	return stream.Generate("nexmark", g.Partitions, 0, func(partition int, n int64) stream.Record {
		from := 0
		if n > 0 {
			from = ends[partition][n-1]
		}
		return stream.Record{Value: texts[partition][from:ends[partition][n]]}
	}).Records(g.Events / int64(g.Partitions))
}

// partition is the records of a partition, one behind another, and where each ends.
func (g Generator) partition(p int) (text []byte, ends []int) {
	ends = make([]int, 0, g.Events/int64(g.Partitions))
	text = make([]byte, 0, 180*cap(ends))
	for n := int64(p); n < g.Events; n += int64(g.Partitions) {
		text = g.Append(text, g.at(n))
		ends = append(ends, len(text))
	}
	return text, ends
}

// WriteFiles writes each partition into a file of JSON lines, partition-0.jsonl and so on, in a folder that is made.
func (g Generator) WriteFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var writing sync.WaitGroup
	errs := make([]error, g.Partitions)
	for p := range g.Partitions {
		writing.Go(func() { errs[p] = g.writeFile(filepath.Join(dir, fmt.Sprintf("partition-%d.jsonl", p)), p) })
	}
	writing.Wait()
	return errors.Join(errs...)
}

func (g Generator) writeFile(path string, p int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	var line []byte
	for n := int64(p); n < g.Events; n += int64(g.Partitions) {
		line = append(g.Append(line[:0], g.at(n)), '\n')
		out.Write(line) // an error is kept for Flush
	}
	return errors.Join(out.Flush(), file.Close())
}

// Produce sends all events to a topic, in the order in which they come. The key is the auction of a bid and of an auction, and a person's own id.
func (g Generator) Produce(ctx context.Context, to *kafka.Producer) error {
	for n := range g.Events {
		value := g.Append(nil, g.at(n))
		if err := to.Send(ctx, key(value), value); err != nil {
			return err
		}
	}
	return to.Flush(ctx)
}

// key is the first number behind the kind of a record.
func key(value []byte) []byte {
	colons, from := 0, 0
	for i, c := range value {
		if c == ':' {
			colons++
			from = i + 1
		}
		if c == ',' && colons == 2 {
			return value[from:i]
		}
	}
	return nil
}

// describe is the generator in a line, which tells files of one generator from those of another.
func (g Generator) describe() string {
	return "nexmark events=" + strconv.FormatInt(g.Events, 10) + fmt.Sprintf(" partitions=%d seed=%d rate=%d disorder=%d start=%s", g.Partitions, g.Seed, g.Rate, g.Disorder, g.Start.Format("2006-01-02T15:04:05Z"))
}
