package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"cancha/stream"
	"cancha/stream/file"
)

// entry is a query of the benchmark.
type entry struct {
	name  string
	reads int // how many sources it reads to their end
	build func(s Sources) *stream.Query
}

// entries are the queries of the benchmark, in the order of their numbers.
func entries(g Generator) []entry {
	return []entry{{"q0", 1, Q0}, {"q1", 1, Q1}, {"q2", 1, Q2}, {"q3", 2, Q3},
		{"q4", 2, func(s Sources) *stream.Query { return Q4(s, g.MaxLife()) }},
		{"q5", 1, Q5}, {"q7", 1, Q7}, {"q7join", 2, Q7Join}, {"q8", 2, Q8}, {"q11", 1, Q11}, {"q12", 1, Q12}, {"q13", 1, Q13}}
}

// chosen are the entries that a list of names, parted by commas, wants; all if it is empty.
func chosen(all []entry, list string) ([]entry, error) {
	if list == "" {
		return all, nil
	}
	var some []entry
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(e entry) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no query %q; there are q0 to q5, q7, q7join, q8 and q11 to q13", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// outcome is how a run of a query went.
type outcome struct {
	Query   string  `json:"query"`
	Events  int64   `json:"events"`
	Rows    int64   `json:"rows"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"` // of the process, user and system; -1 where the system does not tell
	Heap    uint64  `json:"peak_heap"`   // bytes that were live at some garbage collection, above what was live before
}

// run runs a query to its end. With a folder its rows are written there as CSV. Records that are bad, late, or not as many as the events are an
// error: the rows would be others.
func (e entry) run(ctx context.Context, s Sources, events int64, folder string) (outcome, error) {
	counted := &counter{}
	q := e.build(s).To(counted).KeepRows(1000)
	final := q.Plan().Output != stream.Append.String()
	if folder != "" && !final {
		q = q.To(file.CSV(filepath.Join(folder, e.name+".csv")))
	}
	runtime.GC()
	heap := watch()
	cpu, began := cpuSeconds(), time.Now()
	running, err := q.Start(ctx)
	if err == nil {
		err = running.Wait(ctx)
	}
	o := outcome{Query: e.name, Events: events, Seconds: time.Since(began).Seconds(), CPU: cpuSeconds() - cpu, Heap: heap.stop()}
	if err != nil {
		return o, fmt.Errorf("%s: %w", e.name, err)
	}
	o.Rows = counted.rows
	if final { // the rows are the last state of each
		rows := running.Results()
		o.Rows = int64(rows.Len())
		if folder != "" {
			err = writeCSV(filepath.Join(folder, e.name+".csv"), rows)
		}
	}
	return o, errors.Join(err, e.complete(running, events))
}

// complete tells whether a run has used all events.
func (e entry) complete(running *stream.Running, events int64) error {
	t := running.Totals()
	if want := int64(e.reads) * events; t.Records != want {
		return fmt.Errorf("%s: read %d records, want %d: the source has others than -events says", e.name, t.Records, want)
	}
	if t.Bad+t.Late+t.Lost+t.Future > 0 {
		return fmt.Errorf("%s: %d bad records, %d late, %d lost, %d in the future; want none; reasons %v", e.name, t.Bad, t.Late, t.Lost, t.Future, running.BadRecords().Reasons)
	}
	return nil
}

func writeCSV(path string, rows *stream.Rows) error {
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(rows.WriteCSV(to), to.Close())
}

// counter is a sink that counts rows.
type counter struct{ rows int64 }

// Write implements stream.Sink.
func (c *counter) Write(_ context.Context, _ int64, rows *stream.Rows) error {
	c.rows += int64(rows.Len())
	return nil
}

// heapWatch looks at the heap while something runs.
type heapWatch struct {
	before, most uint64
	end          chan struct{}
	looking      sync.WaitGroup
}

func watch() *heapWatch {
	h := &heapWatch{before: heapBytes(), end: make(chan struct{})}
	h.looking.Go(func() {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			h.most = max(h.most, heapBytes())
			select {
			case <-ticker.C:
			case <-h.end:
				return
			}
		}
	})
	return h
}

// stop ends the watch and returns by how many bytes the heap had grown at most.
func (h *heapWatch) stop() uint64 {
	close(h.end)
	h.looking.Wait()
	return max(h.most, h.before) - h.before
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
