package stream

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// worker does a query's work on the records of one partition. Only its lane calls it, under the lane's lock.
type worker interface {
	// handle takes one record, which it may keep until flush returns; the reason says why it is bad, "" if it is not.
	handle(r *Record) (reason string)
	// flush ends a batch of records.
	flush() error
	// advanced returns the worker's watermark: noWatermark if it has none.
	advanced() int64
	// report tells what happened since the call before.
	report() workReport
}

// workReport is a worker's part of a progress report. All but rows are counted since the report before.
type workReport struct {
	minTime, maxTime       int64
	rows, changed, removed int64
	late, filtered, future int64
	decoding, scoring      time.Duration
}

// lane is one partition's way through a query.
type lane struct {
	partition int
	mu        sync.Mutex // held while a batch is handled
	work      worker
	topic     string
	started   bool
	next      int64 // offset after the last record handled
	from      int64 // next at the start of the epoch
	high      int64
	records   int64 // since the start
	lost      int64
	counted   int64         // records at the start of the epoch
	busy      time.Duration // of the epoch
	quiet     time.Time     // of the first batch without records after the last with some; zero while there are records

	// For the query's watermark, which is computed without taking locks.
	idle      atomic.Bool
	watermark atomic.Int64
}

func newLane(partition int, work worker) *lane {
	l := &lane{partition: partition, work: work}
	l.watermark.Store(noWatermark)
	return l
}

// take handles n records of a batch.
func (l *lane) take(b Batch, n int, idleAfter time.Duration, bad *badRecords) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.topic, l.high = b.Topic, max(l.high, b.HighWatermark)
	l.lost += b.Lost
	if len(b.Records) == 0 {
		l.rest(now, idleAfter)
		return nil
	}
	l.quiet = time.Time{}
	l.idle.Store(false)
	if !l.started {
		l.started, l.from, l.next = true, b.Records[0].Offset, b.Records[0].Offset
	}
	for i := range b.Records[:n] {
		r := &b.Records[i]
		if reason := l.work.handle(r); reason != "" {
			bad.add(b.Topic, r, reason)
		}
		l.next = r.Offset + 1
	}
	err := l.work.flush()
	l.records += int64(n)
	l.watermark.Store(l.work.advanced())
	l.busy += time.Since(now)
	return err
}

// rest notes that the partition had nothing new.
func (l *lane) rest(now time.Time, idleAfter time.Duration) {
	if l.quiet.IsZero() {
		l.quiet = now
	}
	if now.Sub(l.quiet) >= idleAfter {
		l.idle.Store(true)
	}
}

// unknown notes that nobody knows whether the partition has new records.
func (l *lane) unknown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = time.Time{}
	l.idle.Store(false)
}

// laneReport is a lane's part of a progress report.
type laneReport struct {
	partition        int
	topic            string
	from, next, high int64
	started          bool
	records          int64 // of the epoch
	total, lost      int64 // since the start
	busy             time.Duration
	work             workReport
}

// report ends the lane's epoch.
func (l *lane) report() laneReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := laneReport{partition: l.partition, topic: l.topic, from: l.from, next: l.next, high: l.high, started: l.started,
		records: l.records - l.counted, total: l.records, lost: l.lost, busy: l.busy, work: l.work.report()}
	l.from, l.counted, l.busy = l.next, l.records, 0
	return r
}

// noTimes is a work report without event times.
func noTimes() workReport {
	return workReport{minTime: math.MaxInt64, maxTime: math.MinInt64}
}
