package stream

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// MemorySource is a topic in memory: for tests, and for cells that try a query on records of their own. It can be read more
// than once; each run starts at the beginning. Settings come before the first run; Append and End may come at any time.
type MemorySource struct {
	topic     string
	batchSize int
	idleEvery time.Duration

	mu         sync.Mutex
	partitions [][]Record
	ended      bool
	grown      chan struct{} // closed and renewed when records come or the topic ends
}

// Memory returns a topic that holds these records, one slice for each partition, and then ends. Partition numbers and
// offsets are given by position; the records are not copied and must not change.
func Memory(topic string, partitions [][]Record) *MemorySource {
	m := &MemorySource{topic: topic, batchSize: 500, idleEvery: 500 * time.Millisecond, ended: true, grown: make(chan struct{}),
		partitions: make([][]Record, len(partitions))}
	for p, records := range partitions {
		m.add(p, records)
	}
	return m
}

// BatchSize sets how many records a batch has at most: 500 unless set.
func (m *MemorySource) BatchSize(n int) *MemorySource {
	m.batchSize = max(1, n)
	return m
}

// Follow keeps the topic open for Append: runs wait for more until End, and report batches without records while they do.
func (m *MemorySource) Follow() *MemorySource {
	m.ended = false
	return m
}

// Append adds records to a partition, which must be one of those that Memory was given.
func (m *MemorySource) Append(partition int, records ...Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(partition, records)
	m.wake()
}

// End ends a topic that was open for Append.
func (m *MemorySource) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.wake()
}

func (m *MemorySource) add(partition int, records []Record) {
	for _, r := range records {
		r.Partition, r.Offset = partition, int64(len(m.partitions[partition]))
		m.partitions[partition] = append(m.partitions[partition], r)
	}
}

func (m *MemorySource) wake() {
	close(m.grown)
	m.grown = make(chan struct{})
}

// Description implements Source.
func (m *MemorySource) Description() string {
	return fmt.Sprintf("memory %s, %d partitions", m.topic, len(m.partitions))
}

// Run implements Source: one goroutine for each partition.
func (m *MemorySource) Run(ctx context.Context, h Handler) error {
	partitions := make([]Partition, len(m.partitions))
	for p := range partitions {
		partitions[p] = Partition{m.topic, p}
	}
	next, err := begin(h, partitions)
	if err != nil {
		return err
	}
	h.Assigned(partitions)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	errs := make([]error, len(partitions))
	for p := range partitions {
		running.Go(func() {
			if errs[p] = m.read(ctx, h, p, int(next[p])); errs[p] != nil {
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

// Replayable implements Replayable.
func (m *MemorySource) Replayable() {}

// begin asks a handler where to begin with each partition: at 0, if it does not say.
func begin(h Handler, partitions []Partition) ([]int64, error) {
	next := make([]int64, len(partitions))
	b, ok := h.(Beginner)
	if !ok {
		return next, nil
	}
	for i, p := range partitions {
		at, known, err := b.Begin(p, Found{Committed: -1})
		if err != nil {
			return nil, err
		}
		if known {
			next[i] = at
		}
	}
	return next, nil
}

// align waits until a handler that aligns partitions lets one go on. It returns false if ctx has ended.
func align(ctx context.Context, h Handler, p Partition) bool {
	if a, ok := h.(Aligner); ok {
		a.Align(ctx, p)
	}
	return ctx.Err() == nil
}

// finished tells a handler that wants to know it that a partition has ended, unless ctx has.
func finished(ctx context.Context, h Handler, p Partition) {
	if f, ok := h.(Finisher); ok && ctx.Err() == nil {
		f.Finished(p)
	}
}

// read hands over one partition until it ends or ctx does.
func (m *MemorySource) read(ctx context.Context, h Handler, p, next int) error {
	ticker := time.NewTicker(m.idleEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		records, high, ended, grown := m.after(p, next)
		if len(records) == 0 && ended {
			return nil
		}
		if len(records) == 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-grown:
				continue
			case <-ticker.C:
			}
		}
		if len(records) > 0 && !align(ctx, h, Partition{m.topic, p}) {
			return nil
		}
		b := Batch{Topic: m.topic, Partition: p, Records: records, HighWatermark: high}
		if err := h.Batch(ctx, b); err != nil {
			return err
		}
		next += len(records)
	}
	return nil
}

// after returns the next records of a partition, in a slice of their own.
func (m *MemorySource) after(p, next int) (records []Record, high int64, ended bool, grown <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.partitions[p]
	return slices.Clip(all[min(next, len(all)):min(len(all), next+m.batchSize)]), int64(len(all)), m.ended, m.grown
}
