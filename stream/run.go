package stream

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// epochLength is how often progress is taken, and rows are given out in update mode.
const epochLength = time.Second

// recentProgress is how many progress reports are kept: Spark's spark.sql.streaming.numRecentProgressUpdates.
const recentProgress = 100

// keptNotes is how many sentences of its source a run shows.
const keptNotes = 10

// errEnough ends a source after MaxRecords.
var errEnough = errors.New("stream: enough records")

// job is what one kind of query does with what a run reads.
type job interface {
	worker(partition int) worker
	// settle follows each batch, outside the lane's lock.
	settle(ctx context.Context, l *lane) error
	// tick follows each epoch.
	tick(ctx context.Context) error
	// drain follows the last batch of a run that ends in order.
	drain(ctx context.Context) error
	// describe completes a progress report.
	describe(p *Progress, sum workReport)
	outputRows() int64
}

// run reads a source and keeps count: the part that all kinds of running queries share.
//
// Locks: mu, bad's and history's own are held for a moment and alone; a lane's lock is held while a batch is handled, and
// nothing but bad's and the owners' is taken under it.
type run struct {
	id, runID, name string
	source          Source
	job             job
	idleAfter       time.Duration
	limited         bool
	remaining       atomic.Int64 // records until MaxRecords, if limited
	started         time.Time
	bad             badRecords

	ctx    context.Context // Start's: sinks and scorers see it
	cancel context.CancelFunc
	done   chan struct{}

	mu        sync.Mutex
	lanes     map[Partition]*lane
	assigned  map[Partition]bool
	watermark int64
	message   string
	cause     string // why it stopped, or cannot read; empty: it can
	away      bool   // the source said so last
	notes     []string
	asked     bool // Stop was called
	failure   error
	err       error
	ended     time.Time
	retries   int64
	sum       Totals
	latest    []Progress
	batchID   int64
	since     time.Time
	lastRead  int64 // records of the last epoch
}

// prepare sets what a run is made of, before start.
func (r *run) prepare(name string, source Source, idleAfter time.Duration, limit int64) {
	r.id, r.runID, r.name = uuid(), uuid(), name
	r.source, r.idleAfter = source, idleAfter
	r.bad.reasons = map[string]int64{}
	r.done = make(chan struct{})
	r.lanes = map[Partition]*lane{}
	r.watermark, r.message = noWatermark, "Waiting for data to arrive"
	r.limited = limit > 0
	r.remaining.Store(limit)
}

// uuid returns a random UUID, version 4 (RFC 9562).
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// start runs the job; two goroutines, both ended when done is closed.
func (r *run) start(ctx context.Context, j job) {
	r.job, r.ctx = j, ctx
	r.started = time.Now()
	r.since = r.started
	reading, cancel := context.WithCancel(ctx)
	r.cancel = cancel
	r.latest = []Progress{r.blank(r.started)}
	go r.read(reading)
}

// read reads the source to its end, and then ends the query.
func (r *run) read(reading context.Context) {
	defer close(r.done)
	defer r.cancel()
	var ticking sync.WaitGroup
	ticks, stop := context.WithCancel(context.Background())
	ticking.Go(func() { r.ticks(ticks) })
	err := r.source.Run(reading, reader{r})
	stop()
	ticking.Wait()
	r.finish(err)
}

func (r *run) ticks(ctx context.Context) {
	ticker := time.NewTicker(epochLength)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := r.job.tick(r.ctx); err != nil {
			r.fail(err)
		}
		r.collect()
	}
}

// fail ends the run with an error; the first one counts.
func (r *run) fail(err error) {
	r.mu.Lock()
	if r.failure == nil {
		r.failure = err
	}
	r.mu.Unlock()
	r.cancel()
}

// finish drains the job if the run ended in order, and notes how it ended.
func (r *run) finish(err error) {
	r.mu.Lock()
	failure := r.failure
	r.mu.Unlock()
	switch {
	case failure != nil:
		err = failure
	case r.ctx.Err() != nil:
		err = context.Cause(r.ctx)
	case err == nil || errors.Is(err, errEnough):
		err = r.job.drain(r.ctx)
	default:
		err = fmt.Errorf("read %s: %w", r.source.Description(), err)
	}
	r.collect()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.ended = err, time.Now()
	r.message, r.cause = "Stopped", ""
	if err != nil {
		r.cause = err.Error()
		return
	}
	r.notes = append(r.notes, r.ending())
}

// ending says why a run ended in order. The caller holds mu.
func (r *run) ending() string {
	left := int64(0)
	if r.limited {
		left = r.remaining.Load()
	}
	switch {
	case r.limited && left == 0:
		return "It ended after MaxRecords."
	case r.asked && left > 0:
		return fmt.Sprintf("It was stopped %s records before MaxRecords.", wholeNumber(left))
	case r.asked:
		return "It was stopped."
	case left > 0:
		return fmt.Sprintf("It ended with its source, %s records before MaxRecords.", wholeNumber(left))
	}
	return "It ended with its source."
}

// reader is the run as its source sees it: a type of its own keeps these methods out of what a user completes.
type reader struct{ *run }

// Assigned implements Handler.
func (r reader) Assigned(partitions []Partition) {
	r.mu.Lock()
	r.assigned = map[Partition]bool{}
	for _, p := range partitions {
		r.assigned[p] = true
	}
	r.mu.Unlock()
	for _, p := range partitions {
		r.lane(p).unknown()
	}
}

func (r *run) lane(partition Partition) *lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[partition]
	if l == nil {
		l = newLane(partition.ID, r.job.worker(partition.ID))
		r.lanes[partition] = l
	}
	return l
}

// inOrder returns the lanes by topic and partition, so that whatever is merged over them is merged in one order.
func (r *run) inOrder() []*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	lanes := make([]*lane, 0, len(r.lanes))
	for _, p := range slices.SortedFunc(maps.Keys(r.lanes), comparePartitions) {
		lanes = append(lanes, r.lanes[p])
	}
	return lanes
}

func comparePartitions(a, b Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
}

// Batch implements Handler.
func (r reader) Batch(_ context.Context, b Batch) error {
	l := r.lane(Partition{b.Topic, b.Partition})
	r.heard()
	n := r.reserve(len(b.Records))
	err := l.take(b, n, r.idleAfter, &r.bad)
	if err == nil {
		err = r.job.settle(r.ctx, l)
	}
	if err != nil {
		r.fail(err)
		return err
	}
	if r.limited && r.remaining.Load() == 0 {
		r.cancel()
		return &Partial{Handled: n, Err: errEnough}
	}
	return nil
}

// Note implements Noter.
func (r reader) Note(sentence string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, sentence) && len(r.notes) < keptNotes {
		r.notes = append(r.notes, sentence)
	}
}

// reserve returns how many of n records may still be handled.
func (r *run) reserve(n int) int {
	if !r.limited {
		return n
	}
	for {
		left := r.remaining.Load()
		take := min(left, int64(n))
		if r.remaining.CompareAndSwap(left, left-take) {
			return int(take)
		}
	}
}

// Retry implements Handler.
func (r reader) Retry(err error, wait time.Duration) {
	for _, l := range r.inOrder() {
		l.unknown()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retries++
	r.away = true
	r.message, r.cause = fmt.Sprintf("Cannot read, trying again in %v", wait.Round(time.Millisecond)), err.Error()
}

// heard notes that the source is back.
func (r *run) heard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		r.away, r.message, r.cause = false, "Waiting for data to arrive", ""
	}
}

// lowest raises the run's watermark to the least of all assigned partitions that are not idle, and returns it. It waits for
// a partition that has not had a record yet, and never goes back. When all are idle nobody is waited for, and it is the
// greatest of them, as in Flink: the result must not depend on which of them fell idle last.
func (r *run) lowest() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	low, high, active := int64(math.MaxInt64), int64(noWatermark), false
	for p, l := range r.lanes {
		if r.assigned != nil && !r.assigned[p] {
			continue
		}
		w := l.watermark.Load()
		high = max(high, w)
		if !l.idle.Load() {
			low, active = min(low, w), true
		}
	}
	if !active {
		low = high
	}
	r.watermark = max(r.watermark, low)
	return r.watermark
}
