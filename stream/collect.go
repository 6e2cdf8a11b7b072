package stream

import (
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/stream/internal/flow"
)

const (
	// epochLength is how often progress is taken.
	epochLength = time.Second
	// recentProgress is how many progress reports are kept: Spark's spark.sql.streaming.numRecentProgressUpdates.
	recentProgress = 100
)

// history is the progress reports of a run. The run's mu guards it.
type history struct {
	id, runID string
	started   time.Time
	since     time.Time
	batch     int64
	latest    []Progress
	given     int64
	late      int64
	future    int64
	filtered  int64
}

func newHistory() history {
	now := time.Now()
	return history{id: uuid(), runID: uuid(), started: now, since: now}
}

// uuid returns a random UUID, version 4 (RFC 9562).
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// epoch is what the lanes of an input did since the report before.
type epoch struct {
	records  int64
	lag      int64
	lost     int64
	late     int64
	future   int64
	filtered int64
	busiest  time.Duration
	min, max int64
	offsets  [3]Offsets // start, end, latest
}

// report ends the epoch of an input's lanes.
func report(lanes []*lane) epoch {
	e := epoch{min: math.MaxInt64, max: math.MinInt64, offsets: [3]Offsets{{}, {}, {}}}
	for _, n := range lanes {
		n.mu.Lock()
		e.records += n.records - n.counted
		e.busiest = max(e.busiest, n.busy)
		e.lost += n.lost
		e.late += n.env.Late
		e.future += n.clock.Future
		e.filtered += n.env.Filtered
		e.min, e.max = min(e.min, n.clock.Min), max(e.max, n.clock.Max)
		if n.records > 0 {
			e.lag += max(0, n.high-n.next)
			for i, offset := range []int64{n.from, n.next, max(n.high, n.next)} {
				set(e.offsets[i], n.topic, n.partition, offset)
			}
		}
		n.counted, n.from, n.busy = n.records, n.next, 0
		n.clock.Min, n.clock.Max = math.MaxInt64, math.MinInt64
		n.mu.Unlock()
	}
	return e
}

func set(o Offsets, topic string, partition int, offset int64) {
	if o[topic] == nil {
		o[topic] = map[string]int64{}
	}
	o[topic][strconv.Itoa(partition)] = offset
}

// collect ends the epoch with a progress report.
func (r *Running) collect() {
	r.unlike(manyUnlike)
	lanes := r.all()
	now := time.Now()
	watermark := r.lowest(r.graph.timelines[0])
	bad := r.bad.number()
	r.graph.mu.Lock()
	operators := r.graph.operators(lanes)
	late, filtered := r.graph.env.Late, r.graph.env.Filtered
	r.graph.mu.Unlock()
	epochs := make([]epoch, len(r.graph.inputs))
	for i, in := range r.graph.inputs {
		epochs[i] = report(lanes[in]) // before mu: a lane that rejects a record holds its own lock and waits for mu
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.history
	elapsed := now.Sub(h.since)
	p := Progress{ID: h.id, RunID: h.runID, Name: r.query.name, Timestamp: Instant{Time: h.since}, BatchID: h.batch,
		EventTime: map[string]Instant{}, StateOperators: operators}
	low, high, future := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
	busiest := time.Duration(0)
	for i, in := range r.graph.inputs {
		e := epochs[i]
		p.NumInputRows += e.records
		busiest = max(busiest, e.busiest)
		low, high = min(low, e.min), max(high, e.max)
		late, future, filtered = late+e.late, future+e.future, filtered+e.filtered
		p.Sources = append(p.Sources, e.progress(in, elapsed, bad))
	}
	if len(p.StateOperators) > 0 {
		p.StateOperators[0].NumRowsDroppedByWatermark = late - h.late
		p.StateOperators[0].CustomMetrics = map[string]int64{"numRowsFuture": future - h.future, "numRowsFiltered": filtered - h.filtered}
	}
	h.late, h.future, h.filtered = late, future, filtered
	p.BatchDuration = busiest.Milliseconds()
	p.InputRowsPerSecond, p.ProcessedRowsPerSecond = rate(p.NumInputRows, elapsed), rate(p.NumInputRows, busiest)
	p.DurationMs = map[string]int64{"addBatch": busiest.Milliseconds(), "triggerExecution": elapsed.Milliseconds()}
	if k := r.keeper; k != nil {
		p.DurationMs["walCommit"] = time.Duration(k.write.Load()).Milliseconds()
		p.DurationMs["snapshot"] = time.Duration(k.pause.Load()).Milliseconds()
	}
	p.EventTime = eventTimes(low, high, watermark)
	p.Sink = SinkProgress{Description: fmt.Sprintf("results (%s) and %d sinks", r.query.mode, len(r.query.sinks)), NumOutputRows: r.given.Load() - h.given, Metrics: map[string]string{}}
	h.given += p.Sink.NumOutputRows
	r.status.epoch(p.NumInputRows)
	h.batch++
	h.since = now
	h.keep(p)
}

// keep adds a report to those that are kept.
func (h *history) keep(p Progress) {
	h.latest = append(h.latest, p)
	if n := len(h.latest) - recentProgress; n > 0 {
		h.latest = slices.Delete(h.latest, 0, n)
	}
}

func (e epoch) progress(in *input, elapsed time.Duration, bad int64) SourceProgress {
	return SourceProgress{Description: describeSource(in.query.source), StartOffset: e.offsets[0], EndOffset: e.offsets[1],
		LatestOffset: e.offsets[2], NumInputRows: e.records, InputRowsPerSecond: rate(e.records, elapsed),
		ProcessedRowsPerSecond: rate(e.records, e.busiest), Metrics: map[string]string{"lag": strconv.FormatInt(e.lag, 10),
			"lost": strconv.FormatInt(e.lost, 10), "badRecords": strconv.FormatInt(bad, 10)}}
}

// operators tells what the operators with memory keep. The caller holds the graph's lock.
func (g *graph) operators(lanes map[*input][]*lane) []StateOperator {
	list := []StateOperator{} // in JSON a list too, as Spark's
	for _, m := range g.merges {
		o := StateOperator{OperatorName: "windows", CustomMetrics: map[string]int64{}}
		for _, n := range lanes[m.in] {
			n.mu.Lock()
			o.NumRowsTotal += n.windows.Rows
			changed, removed := n.windows.Report()
			o.NumRowsUpdated += changed
			o.NumRowsRemoved += removed
			o.MemoryUsedBytes += n.windows.Size()
			n.mu.Unlock()
		}
		list = append(list, o)
	}
	for _, s := range g.ops {
		rows, bytes := s.State()
		list = append(list, StateOperator{OperatorName: operatorName(s.Op), NumRowsTotal: rows, MemoryUsedBytes: bytes, CustomMetrics: map[string]int64{}})
	}
	return list
}

func operatorName(op flow.Op) string {
	name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", op), "*flow."))
	if step := map[string]string{"joiner": "join", "looker": "lookup", "deduplicator": "deduplicate", "tops": "top", "processor": "process"}[name]; step != "" {
		return step
	}
	return name
}

// Progress returns the newest progress report; before the first second has passed, one with nothing done.
func (r *Running) Progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.history.latest); n > 0 {
		return r.history.latest[n-1]
	}
	return r.blank()
}

// Recent returns the newest progress reports, at most 100, the oldest of them first.
func (r *Running) Recent() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.history.latest) == 0 {
		return History{r.blank()}
	}
	return slices.Clone(r.history.latest)
}

// blank is a report without anything done. The caller holds mu.
func (r *Running) blank() Progress {
	return Progress{ID: r.history.id, RunID: r.history.runID, Name: r.query.name, Timestamp: Instant{Time: r.history.started},
		DurationMs: map[string]int64{}, EventTime: map[string]Instant{}, StateOperators: []StateOperator{}, Sources: []SourceProgress{},
		Sink: SinkProgress{Metrics: map[string]string{}}}
}

// Totals tells what the query did from its start to now, or to its end.
func (r *Running) Totals() Totals {
	t := Totals{Bad: r.bad.number(), Rows: r.total.Load()}
	r.work.count(&t)
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Retries, t.Elapsed = r.status.retries, time.Since(r.history.started)
	if !r.status.ended.IsZero() {
		t.Elapsed = r.status.ended.Sub(r.history.started)
	}
	return t
}

// BadRecords tells how many records were bad, why, and shows the newest.
func (r *Running) BadRecords() *BadRecords { return r.bad.report() }
