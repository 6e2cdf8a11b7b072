package stream

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// blank is a progress report without anything done.
func (r *run) blank(at time.Time) Progress {
	p := Progress{ID: r.id, RunID: r.runID, Name: r.name, Timestamp: Instant{at}, DurationMs: map[string]int64{},
		EventTime: map[string]Instant{}}
	r.job.describe(&p, noTimes())
	return p
}

// collect ends the epoch with a progress report.
func (r *run) collect() {
	var reports []laneReport
	for _, l := range r.inOrder() {
		reports = append(reports, l.report())
	}
	watermark := r.lowest()
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.blank(r.since)
	elapsed := now.Sub(r.since)
	sum, busiest := noTimes(), time.Duration(0)
	r.sum.Records, r.sum.Lost = 0, 0
	for _, l := range reports {
		p.NumInputRows += l.records
		busiest = max(busiest, l.busy)
		sum.add(l.work)
		r.sum.Records += l.total
		r.sum.Lost += l.lost
	}
	r.sum.Late += sum.late
	r.sum.Filtered += sum.filtered
	r.sum.Future += sum.future
	p.BatchID = r.batchID
	p.BatchDuration = busiest.Milliseconds()
	p.InputRowsPerSecond = rate(p.NumInputRows, elapsed)
	p.ProcessedRowsPerSecond = rate(p.NumInputRows, busiest)
	p.DurationMs = map[string]int64{"addBatch": busiest.Milliseconds(), "triggerExecution": elapsed.Milliseconds()}
	p.EventTime = eventTimes(sum.minTime, sum.maxTime, watermark)
	p.Sources = []SourceProgress{r.sourceProgress(reports, p)}
	r.job.describe(&p, sum)
	r.note(p, now)
}

// note keeps a report. The caller holds mu.
func (r *run) note(p Progress, now time.Time) {
	r.batchID++
	r.since = now
	r.lastRead = p.NumInputRows
	if len(r.latest) == 1 && r.latest[0].DurationMs["triggerExecution"] == 0 && r.batchID == 1 {
		r.latest = nil // the blank one of the start
	}
	r.latest = append(r.latest, p)
	if n := len(r.latest) - recentProgress; n > 0 {
		r.latest = slices.Delete(r.latest, 0, n)
	}
	switch {
	case r.away: // that is the news, also if records came before
	case p.NumInputRows > 0:
		r.message = "Processing new data"
	default:
		r.message = "Waiting for data to arrive"
	}
}

func (s *workReport) add(o workReport) {
	s.minTime, s.maxTime = min(s.minTime, o.minTime), max(s.maxTime, o.maxTime)
	s.rows += o.rows
	s.changed += o.changed
	s.removed += o.removed
	s.late += o.late
	s.filtered += o.filtered
	s.future += o.future
	s.decoding += o.decoding
	s.scoring += o.scoring
}

func (r *run) sourceProgress(reports []laneReport, p Progress) SourceProgress {
	s := SourceProgress{Description: r.source.Description(), StartOffset: Offsets{}, EndOffset: Offsets{},
		LatestOffset: Offsets{}, NumInputRows: p.NumInputRows, InputRowsPerSecond: p.InputRowsPerSecond,
		ProcessedRowsPerSecond: p.ProcessedRowsPerSecond}
	var lag int64
	for _, l := range reports {
		if !l.started {
			continue
		}
		s.StartOffset.set(l.topic, l.partition, l.from)
		s.EndOffset.set(l.topic, l.partition, l.next)
		s.LatestOffset.set(l.topic, l.partition, max(l.high, l.next))
		lag += max(0, l.high-l.next)
	}
	s.Metrics = map[string]string{"lag": strconv.FormatInt(lag, 10), "lost": strconv.FormatInt(r.sum.Lost, 10),
		"badRecords": strconv.FormatInt(r.bad.count(), 10)}
	return s
}

func (o Offsets) set(topic string, partition int, offset int64) {
	if o[topic] == nil {
		o[topic] = map[string]int64{}
	}
	o[topic][strconv.Itoa(partition)] = offset
}

// Progress returns the newest progress report; before the first second has passed, one with nothing done.
func (r *run) Progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest[len(r.latest)-1]
}

// Recent returns the newest progress reports, at most 100, the oldest of them first.
func (r *run) Recent() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.latest)
}

// Status tells what the query is doing now; while its broker is away, why and when it tries again.
func (r *run) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Message: r.message, IsDataAvailable: r.lastRead > 0, IsTriggerActive: r.ended.IsZero()}
	if r.cause != "" {
		s.Message += ": " + r.cause
	}
	return s
}

// Notes are sentences about this run that a user should read: that a consumer group goes on behind records that were read before, and, after
// the end, what ended it.
func (r *run) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// Totals tells what the query did from its start to the newest progress report, or to its end.
func (r *run) Totals() Totals {
	rows := r.job.outputRows()
	bad := r.bad.count()
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.sum
	t.Bad, t.Rows, t.Retries = bad, rows, r.retries
	t.Elapsed = time.Since(r.started)
	if !r.ended.IsZero() {
		t.Elapsed = r.ended.Sub(r.started)
	}
	return t
}

// BadRecords tells how many records were bad, why, and shows the newest.
func (r *run) BadRecords() *BadRecords { return r.bad.report() }

// Err returns why the query ended: nil while it runs, and when it ended in order.
func (r *run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Active reports whether the query has not ended yet.
func (r *run) Active() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// Wait waits until the query has ended and returns Err, or until ctx ends and returns its error; the query then goes on.
func (r *run) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop ends the query in order: it stops reading, gives out what is left, and waits for that. It returns Err, or ctx's error
// if ctx ends first; the query then ends by itself. Stopping twice is no error.
func (r *run) Stop(ctx context.Context) error {
	r.mu.Lock()
	r.asked = r.asked || r.ended.IsZero()
	r.mu.Unlock()
	r.cancel()
	return r.Wait(ctx)
}
