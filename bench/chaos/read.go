package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"cancha/stream"
	"cancha/stream/kafka"
)

// rows reads what is in the sink of a role: each line, with how often it is there.
func rows(r role) (map[string]int, error) {
	switch r.Sink {
	case "file":
		return lines(filepath.Join(r.Folder, "rows.jsonl"))
	case "epochs":
		paths, err := filepath.Glob(filepath.Join(r.Folder, "rows", "*.jsonl"))
		if err != nil {
			return nil, err
		}
		return lines(paths...)
	case "kafka":
		return committed(r)
	}
	return table(r)
}

func lines(paths ...string) (map[string]int, error) {
	count := map[string]int{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		in := bufio.NewScanner(f)
		for in.Scan() {
			count[in.Text()]++
		}
		if err := errors.Join(in.Err(), f.Close()); err != nil {
			return nil, err
		}
	}
	return count, nil
}

// committed reads the committed records of a topic.
func committed(r role) (map[string]int, error) {
	end := make(chan struct{})
	close(end)
	h := &collector{count: map[string]int{}}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := kafka.Source(kafka.Config{Brokers: r.Brokers, Topic: r.Output, Until: end, Committed: true}).Run(ctx, h)
	return h.count, err
}

// collector counts the values of records.
type collector struct {
	mutex
	count map[string]int
}

// Assigned implements stream.Handler.
func (c *collector) Assigned([]stream.Partition) {}

// Retry implements stream.Handler.
func (c *collector) Retry(error, time.Duration) {}

// Batch implements stream.Handler.
func (c *collector) Batch(_ context.Context, b stream.Batch) error {
	c.Lock()
	defer c.Unlock()
	for i := range b.Records {
		c.count[string(b.Records[i].Value)]++
	}
	return nil
}

// table asks psql for the rows of a table.
func table(r role) (map[string]int, error) {
	c := exec.Command("psql", "-X", "-q", "-t", "-A", "-c", fmt.Sprintf("SELECT t::text FROM %q AS t", r.Output), r.Postgres)
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("psql: %w", err)
	}
	count := map[string]int{}
	start := 0
	for i, b := range out {
		if b == '\n' {
			if i > start {
				count[string(out[start:i])]++
			}
			start = i + 1
		}
	}
	return count, nil
}
