package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Running is a query that was started. Its methods may be called from anywhere, at any time, after its end too.
type Running struct {
	run
	query   *Query
	plan    *plan
	owners  matchOwners
	results *results
	// publishing is held while rows are taken out of the windows and given out, so that a row's newer state never comes
	// before an older one. Lanes' locks are taken under it, never the other way round.
	publishing sync.Mutex
	epoch      int64
	closedTo   int64 // by the query's watermark; under publishing
}

func startQuery(ctx context.Context, q *Query, p *plan) *Running {
	r := &Running{query: q, plan: p, owners: matchOwners{partition: map[int64]int{}},
		results: newResults(q.mode, q.keep), closedTo: noWatermark}
	r.prepare(q.name, q.source, q.idleAfter, q.limit)
	r.start(ctx, queryJob{r})
	return r
}

// queryJob is a Running as its run sees it: a type of its own keeps these methods out of what a user completes.
type queryJob struct{ *Running }

func (r queryJob) worker(partition int) worker {
	return newPartitionWindows(r.plan, partition, &r.owners)
}

// settle closes the windows that the watermark has passed.
func (r queryJob) settle(ctx context.Context, l *lane) error {
	if r.plan.match < 0 {
		return r.closeShared(ctx)
	}
	w := l.work.(*partitionWindows)
	l.mu.Lock()
	closable := w.closable(w.watermark)
	l.mu.Unlock()
	if !closable {
		return nil
	}
	r.publishing.Lock()
	defer r.publishing.Unlock()
	l.mu.Lock()
	closed := w.close(w.watermark)
	l.mu.Unlock()
	var rows []Row
	for _, window := range closed {
		rows = append(rows, r.plan.rowsOf([]*openWindow{window})...)
	}
	return r.publish(ctx, rows)
}

// closeShared closes windows of which several partitions may hold parts, by the query's watermark.
func (r queryJob) closeShared(ctx context.Context) error {
	watermark := r.lowest()
	r.publishing.Lock()
	defer r.publishing.Unlock()
	if watermark <= r.closedTo {
		return nil
	}
	r.closedTo = watermark
	return r.publish(ctx, r.takeAll(watermark))
}

// takeAll takes the windows up to a watermark out of all partitions, and returns their rows: windows in order of time, the
// rows of each in order of their keys.
func (r queryJob) takeAll(watermark int64) []Row {
	parts := map[int64][]*openWindow{}
	for _, l := range r.inOrder() {
		w := l.work.(*partitionWindows)
		l.mu.Lock()
		w.closed = max(w.closed, watermark)
		for _, window := range w.close(watermark) {
			parts[window.start] = append(parts[window.start], window)
		}
		l.mu.Unlock()
	}
	return r.rowsByTime(parts)
}

func (r queryJob) rowsByTime(parts map[int64][]*openWindow) []Row {
	var rows []Row
	for _, start := range slices.Sorted(maps.Keys(parts)) {
		rows = append(rows, r.plan.rowsOf(parts[start])...)
	}
	return rows
}

// tick gives out changed rows in update mode.
func (r queryJob) tick(ctx context.Context) error {
	if r.plan.match < 0 {
		if err := r.closeShared(ctx); err != nil {
			return err
		}
	}
	if r.query.mode != Update {
		return nil
	}
	r.publishing.Lock()
	defer r.publishing.Unlock()
	return r.publish(ctx, r.changedRows())
}

// changedRows returns the rows of the open windows in which something changed since the call before. Of a window all rows
// come: an event changes the shares of the others too.
func (r queryJob) changedRows() []Row {
	parts := map[int64][]*openWindow{}
	changed := map[int64]bool{}
	for _, l := range r.inOrder() {
		w := l.work.(*partitionWindows)
		l.mu.Lock()
		for _, window := range w.open {
			changed[window.start] = changed[window.start] || window.epoch == w.epoch
			parts[window.start] = append(parts[window.start], window.clone())
		}
		w.epoch++
		l.mu.Unlock()
	}
	for start := range parts {
		if !changed[start] {
			delete(parts, start)
		}
	}
	return r.rowsByTime(parts)
}

func (o *openWindow) clone() *openWindow {
	c := &openWindow{start: o.start, epoch: o.epoch}
	for _, each := range o.order {
		c.order = append(c.order, each.clone())
	}
	return c
}

// publish gives rows to the results and the sinks. The caller holds publishing.
func (r queryJob) publish(ctx context.Context, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	r.results.put(rows)
	r.epoch++
	for _, sink := range r.query.sinks {
		if err := sink.Write(ctx, r.epoch, r.wrap(slices.Clone(rows), int64(len(rows)))); err != nil {
			return fmt.Errorf("write %d rows to a sink: %w", len(rows), err)
		}
	}
	return nil
}

// drain closes all windows.
func (r queryJob) drain(ctx context.Context) error {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	return r.publish(ctx, r.takeAll(maxEventTime+2*int64(maxSpan)))
}

func (r queryJob) outputRows() int64 { return r.results.count() }

func (r queryJob) describe(p *Progress, sum workReport) {
	p.StateOperators = []StateOperator{{OperatorName: "windows", NumRowsTotal: sum.rows, NumRowsUpdated: sum.changed,
		NumRowsRemoved: sum.removed, NumRowsDroppedByWatermark: sum.late, MemoryUsedBytes: sum.rows * r.plan.cellBytes(),
		CustomMetrics: map[string]int64{"numRowsFiltered": sum.filtered, "numRowsFuture": sum.future}}}
	p.Sink = SinkProgress{Description: fmt.Sprintf("results (%s) and %d sinks", r.query.mode, len(r.query.sinks)),
		NumOutputRows: r.results.count()}
}

// cellBytes is about what a row of an open window takes.
func (p *plan) cellBytes() int64 {
	return int64(160 + 8*len(p.counts) + 40*len(p.measures) + 8*len(p.shares))
}

func (r *Running) wrap(rows []Row, total int64) *Rows {
	return &Rows{KeyNames: slices.Clone(r.plan.keyNames), Columns: slices.Clone(r.plan.columns), Rows: rows, Total: total}
}

// Results returns the rows given out so far, the newest KeepRows of them, sorted by keys and window: in append mode those of
// closed windows, in update mode also the rows of open windows as they are now. After the end it is the final result.
func (r *Running) Results() *Rows {
	if r.query.mode == Update && r.publishing.TryLock() {
		r.results.put(queryJob{r}.allRows())
		r.publishing.Unlock()
	}
	rows, total := r.results.snapshot()
	return r.wrap(rows, total).Sort()
}

// allRows returns the rows of all open windows, as they are.
func (r queryJob) allRows() []Row {
	parts := map[int64][]*openWindow{}
	for _, l := range r.inOrder() {
		w := l.work.(*partitionWindows)
		l.mu.Lock()
		for _, window := range w.open {
			parts[window.start] = append(parts[window.start], window.clone())
		}
		l.mu.Unlock()
	}
	return r.rowsByTime(parts)
}
