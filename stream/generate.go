package stream

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"cancha/internal/callback"
)

// Generator is a source of records that a function makes, for trials: as many a second as it is told, or as fast as they are taken.
type Generator struct {
	name       string
	partitions int
	rate       float64
	limit      int64
	make       func(partition int, n int64) Record
}

// Generate returns a source whose record n (from 0 on) of a partition is what make returns; it is called from one goroutine a partition. rate
// is records a second in all, 0 for as many as are taken.
func Generate(name string, partitions int, rate float64, make func(partition int, n int64) Record) *Generator {
	return &Generator{name: name, partitions: max(1, partitions), rate: rate, limit: math.MaxInt64, make: make}
}

// Records ends each partition after n records.
func (g *Generator) Records(n int64) *Generator {
	c := *g
	c.limit = n
	return &c
}

// Description implements Source.
func (g *Generator) Description() string {
	if g.rate == 0 {
		return fmt.Sprintf("generated %s, %d partitions", g.name, g.partitions)
	}
	return fmt.Sprintf("generated %s, %d partitions, %v records a second", g.name, g.partitions, g.rate)
}

// Check implements Checker.
func (g *Generator) Check() error {
	switch {
	case g.make == nil:
		return fmt.Errorf("generate %s: without a function that makes records", g.name)
	case !(g.rate >= 0): // NaN too
		return fmt.Errorf("generate %s: %v records a second: want 0, which is as many as are taken, or more", g.name, g.rate)
	}
	return nil
}

// Replayable implements Replayable: make is called again for what comes behind a checkpoint, and so must give the same for the same n.
func (g *Generator) Replayable() {}

// Run implements Source: one goroutine for each partition.
func (g *Generator) Run(ctx context.Context, h Handler) error {
	partitions := make([]Partition, g.partitions)
	for p := range partitions {
		partitions[p] = Partition{Topic: g.name, ID: p}
	}
	next, err := begin(h, partitions)
	if err != nil {
		return err
	}
	h.Assigned(partitions)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	errs, calling := make([]error, g.partitions), callback.Context()
	for p := range g.partitions {
		running.Go(func() {
			errs[p] = callback.Do(calling, func() error { return g.read(ctx, h, p, next[p]) })
			if errs[p] != nil {
				cancel()
			} else {
				finished(ctx, h, partitions[p])
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// generatedBatch is how many records a batch has at most; pause how long a partition waits between two where a rate is set.
const (
	generatedBatch = 1000
	pause          = 10 * time.Millisecond
)

func (g *Generator) read(ctx context.Context, h Handler, p int, from int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = callback.Err("a fault in the function that makes records", p)
		}
	}()
	began := time.Now()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	records := make([]Record, 0, generatedBatch)
	for next := from; next < g.limit && ctx.Err() == nil; {
		n := min(generatedBatch, g.limit-next)
		if g.rate > 0 {
			n = min(n, int64(g.rate/float64(g.partitions)*time.Since(began).Seconds())-(next-from))
			if n <= 0 {
				select {
				case <-ctx.Done():
				case <-ticker.C:
				}
				continue
			}
		}
		records = records[:0]
		for i := range n {
			r := g.make(p, next+i)
			r.Partition, r.Offset = p, next+i
			records = append(records, r)
		}
		if !align(ctx, h, Partition{g.name, p}) {
			return nil
		}
		next += n
		high := next
		if g.rate == 0 && g.limit < math.MaxInt64 {
			high = g.limit // all can be had at once
		}
		if err := h.Batch(ctx, Batch{Topic: g.name, Partition: p, Records: records, HighWatermark: high}); err != nil {
			return err
		}
	}
	return nil
}
