package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"cancha/internal/callback"
	"cancha/internal/running"
	"cancha/stream/plan"
)

// remote follows a query that an engine runs elsewhere: it takes what comes back, and ends it there when the run ends here.
type remote struct {
	r      *Running
	engine Engine
	far    Remote
	here   []Sink // those that the engine does not write to itself
	epoch  int64  // the newest whose rows have been taken; Running.publishing guards it

	// Of limit, which Progress alone calls.
	full   int64 // the epoch that reached MaxRecords, whose rows are still owed; -1: none
	beyond int64 // records that were read beyond MaxRecords

	mu      sync.Mutex // guards what follows, and with it no other lock is taken
	counted Totals
	longest time.Duration // that a batch has taken
	offsets map[remotePartition]*running.Partition
}

// remotePartition is a partition of a source, by their names.
type remotePartition struct {
	source, topic string
	id            int
}

// stopPatience is how long an engine may take to end a query in order; then it is ended at once.
const stopPatience = 30 * time.Second

// slowBatch is for how long a query of another engine may report nothing and is not held up, beyond its longest batch. Spark reports when a batch is
// over, and each 10 s where no records come; 40,000 records with windows take it 18 s on a busy machine.
const slowBatch = time.Minute

func newRemote(r *Running, engine Engine, far Remote, here []Sink) *remote {
	return &remote{r: r, engine: engine, far: far, here: here, epoch: -1, full: -1, offsets: map[remotePartition]*running.Partition{}}
}

// read implements worker.
func (w *remote) read(reading context.Context) {
	r := w.r
	defer close(r.done)
	defer r.cancel()
	if r.query.length > 0 {
		defer time.AfterFunc(r.query.length, func() { r.end("It ended after MaxTime.") }).Stop()
	}
	working, abandon := context.WithCancelCause(r.ctx)
	defer abandon(nil)
	err := w.follow(reading, working, abandon)
	if err != nil && working.Err() == nil {
		r.fail(fmt.Errorf("on %s: %w", w.engine, err))
	}
	r.conclude(errors.Join(r.broken(), closeAll(w.here)))
	r.entry.End(r.Err())
}

// follow runs the query to its end. When reading ends before, the query is stopped in order, or abandoned where the run has failed.
func (w *remote) follow(reading, working context.Context, abandon context.CancelCauseFunc) error {
	over := make(chan struct{})
	var ending sync.WaitGroup
	sources, forget := context.WithCancel(reading)
	ending.Go(func() { w.untilSourcesEnd(sources) })
	ending.Go(func() {
		select {
		case <-over:
		case <-reading.Done():
			w.stop(over, abandon)
		}
	})
	err := w.call(working, func() error { return runRemote(working, w.far, w) })
	close(over)
	forget()
	ending.Wait()
	return err
}

// untilSourcesEnd ends the query once all of its sources have ended, and it has read them.
func (w *remote) untilSourcesEnd(reading context.Context) {
	far, ok := w.far.(CatcherUp)
	if !ok || w.r.query.now { // which ends by itself
		return
	}
	for _, in := range w.r.graph.inputs {
		of, ok := in.query.source.(Ending)
		if !ok || of.Ends() == nil {
			return
		}
		select {
		case <-of.Ends():
		case <-reading.Done():
			return
		}
	}
	switch err := w.call(reading, func() error { return catchUp(reading, far) }); {
	case err == nil:
		w.r.cancel()
	case reading.Err() == nil: // if the query has failed, Run says why
		w.r.note(fmt.Sprintf("Its sources have ended; %s does not say whether it has read them (%v).", w.engine, err))
	}
}

// caught, deferred, makes a panic inside an engine, or a source, its error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = callback.Err("a fault inside it", p)
	}
}

// catchUp waits for a query elsewhere, whose panic is its error.
func catchUp(ctx context.Context, far CatcherUp) (err error) {
	defer caught(&err)
	return far.CatchUp(ctx)
}

// stop ends the query elsewhere. over is closed when it has ended.
func (w *remote) stop(over <-chan struct{}, abandon context.CancelCauseFunc) {
	if err := w.r.broken(); err != nil {
		abandon(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.r.ctx), stopPatience)
	defer cancel()
	if err := w.call(ctx, func() error { return stopRemote(ctx, w.far) }); err != nil {
		w.give(fmt.Errorf("stop it on %s: %w", w.engine, err), abandon)
		return
	}
	select {
	case <-over:
	case <-w.r.ctx.Done(): // working ends with it
	case <-ctx.Done():
		w.give(fmt.Errorf("%s has not ended it %v after it was told to", w.engine, stopPatience), abandon)
	}
}

// give gives an orderly end up.
func (w *remote) give(err error, abandon context.CancelCauseFunc) {
	w.r.fail(err)
	abandon(err)
}

// call calls a method of the engine, which may be of a cell. It is stopped there once ctx has ended and it has not returned in a second; an
// engine of a program's heeds ctx, or is waited for.
func (w *remote) call(ctx context.Context, f func() error) error {
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		select {
		case <-over:
		case <-time.After(brokenPatience):
			w.r.calling.stopAll()
		}
	})
	defer watching.Wait()
	defer close(over)
	return w.r.calling.do(f)
}

// runRemote runs a query elsewhere, whose panic is its error.
func runRemote(ctx context.Context, far Remote, to Receiver) (err error) {
	defer caught(&err)
	return far.Run(ctx, to)
}

// stopRemote tells a query elsewhere to end, whose panic is its error.
func stopRemote(ctx context.Context, far Remote) (err error) {
	defer caught(&err)
	return far.Stop(ctx)
}

// Rows implements Receiver.
func (w *remote) Rows(_ context.Context, epoch int64, rows *Rows) error {
	w.heard()
	r := w.r
	arranged, err := arrange(rows, r.graph.columns)
	if err != nil {
		err = fmt.Errorf("on %s: %w", w.engine, err)
		r.fail(err)
		return err
	}
	r.publishing.Lock()
	defer r.publishing.Unlock()
	if err := r.broken(); err != nil {
		return err
	}
	if epoch <= w.epoch {
		return nil // they have been taken: the engine did not hear so
	}
	w.epoch = epoch
	if len(arranged) == 0 {
		return nil
	}
	if err := r.publish(r.units[0], arranged); err != nil {
		r.fail(err)
		return err
	}
	return nil
}

// arrange returns rows in the order of columns. The lists are the caller's.
func arrange(rows *Rows, columns []Column) ([][]Value, error) {
	at := make([]int, len(columns))
	for i, c := range columns {
		if at[i] = rows.Index(c.Name); at[i] < 0 {
			return nil, rows.without(c.Name)
		}
	}
	all := make([][]Value, len(rows.rows))
	for i, row := range rows.rows {
		all[i] = make([]Value, len(columns))
		for k, from := range at {
			v := row[from]
			if v.Kind() != columns[k].Kind && columns[k].Kind != Any && !v.IsNull() {
				return nil, fmt.Errorf("stream: column %q of the rows that came back has %v, and is %v in the plan", columns[k].Name, v.Kind(), columns[k].Kind)
			}
			all[i][k] = v
		}
	}
	return all, nil
}

// Progress implements Receiver.
func (w *remote) Progress(p Progress) {
	w.heard()
	w.complete(&p)
	w.add(p)
	r := w.r
	r.mu.Lock()
	h := &r.history
	if p.Sink.NumOutputRows < 0 { // Spark does not know of many sinks
		p.Sink.NumOutputRows = r.given.Load() - h.given
	}
	h.given = r.given.Load()
	h.id, h.runID = cmp.Or(p.ID, h.id), cmp.Or(p.RunID, h.runID)
	p.ID, p.RunID = h.id, h.runID
	r.status.epoch(p.NumInputRows)
	if n := len(h.latest); n > 0 && h.latest[n-1].BatchID >= p.BatchID {
		h.latest = h.latest[:n-1] // it was of the same batch, when that had not begun
	}
	h.keep(p)
	r.mu.Unlock()
	w.limit(p)
}

// complete fills in what a report from elsewhere does not have.
func (w *remote) complete(p *Progress) {
	p.Name = w.r.query.name
	p.DurationMs, p.EventTime = maps.Clone(p.DurationMs), maps.Clone(p.EventTime)
	if p.DurationMs == nil {
		p.DurationMs = map[string]int64{}
	}
	if p.EventTime == nil {
		p.EventTime = map[string]Instant{}
	}
	if at, ok := p.EventTime["watermark"]; ok && at.Unix() <= 0 {
		delete(p.EventTime, "watermark") // Spark's before there is one
	}
	if p.StateOperators == nil {
		p.StateOperators = []StateOperator{}
	}
	if d := p.DurationMs["triggerExecution"]; p.InputRowsPerSecond == 0 && d > 0 { // Spark's of a first batch: it counts from the start of the one before
		p.InputRowsPerSecond = float64(p.NumInputRows) / (float64(d) / 1000)
	}
	p.Sources = slices.Clone(p.Sources)
	for i := range p.Sources {
		w.completeSource(&p.Sources[i])
	}
	if p.Sink.Metrics == nil {
		p.Sink.Metrics = map[string]string{}
	}
}

func (w *remote) completeSource(s *SourceProgress) {
	s.Metrics = maps.Clone(s.Metrics)
	if s.Metrics == nil {
		s.Metrics = map[string]string{}
	}
	lag := int64(0)
	s.each(func(_ string, _ int, _, next, end int64) { lag += max(0, end-next) })
	s.Metrics["lag"] = strconv.FormatInt(lag, 10)
	s.Metrics["badRecords"] = strconv.FormatInt(w.r.bad.number(), 10)
	s.Metrics["lost"] = cmp.Or(s.Metrics["lost"], "0")
}

// each calls f for each partition of a report, with where the report began, where it ended, and the end of the partition as far as known.
func (s *SourceProgress) each(f func(topic string, partition int, from, next, end int64)) {
	for topic, partitions := range s.EndOffset {
		for text, next := range partitions {
			id, err := strconv.Atoi(text)
			if err != nil {
				continue
			}
			from, known := s.StartOffset[topic][text]
			if !known {
				from = next // it began somewhere in it
			}
			f(topic, id, from, next, max(next, s.LatestOffset[topic][text]))
		}
	}
}

// add counts a report.
func (w *remote) add(p Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counted.Records += p.NumInputRows
	w.counted.Late += p.LateRows()
	w.longest = max(w.longest, time.Duration(p.DurationMs["triggerExecution"])*time.Millisecond)
	w.counted.Bytes = 0
	for _, o := range p.StateOperators {
		w.counted.Bytes += o.MemoryUsedBytes
	}
	for _, s := range p.Sources {
		s.each(func(topic string, id int, from, next, end int64) {
			key := remotePartition{s.Description, topic, id}
			if w.offsets[key] == nil {
				w.offsets[key] = &running.Partition{Source: s.Description, Topic: topic, ID: id}
			}
			of := w.offsets[key]
			of.Records += max(0, next-from)
			of.Offset, of.Lag = next, end-next
		})
	}
}

// limit ends the query once it has read enough: with the batch that has come so far. Where rows wait for the watermark, those of a batch are given out with
// the one behind it, which Spark runs without records if it has none.
func (w *remote) limit(p Progress) {
	r := w.r
	if !r.limited {
		return
	}
	left := r.remaining.Load() - p.NumInputRows
	r.remaining.Store(max(0, left))
	w.beyond += max(0, -left)
	_, ran := p.DurationMs["addBatch"]
	switch {
	case left > 0 || r.reading.Err() != nil:
	case w.full < 0 && ran && r.query.waits():
		w.full = p.BatchID
	case w.full < 0 || p.BatchID > w.full || !ran:
		if w.beyond > 0 {
			r.note(fmt.Sprintf("%s records more than MaxRecords were read: %s ends with a whole batch.", wholeNumber(w.beyond), w.engine))
		}
		r.end("It ended after MaxRecords.")
	}
}

// waits tells whether rows are given out when the watermark has passed them, and not before.
func (q *Query) waits() bool {
	return q.mode == Append && slices.ContainsFunc(q.steps, func(s step) bool {
		return slices.Contains([]plan.Op{plan.Aggregation, plan.Join, plan.Top}, s.Op)
	})
}

// Bad implements Receiver.
func (w *remote) Bad(reason string, records int64) {
	w.heard()
	w.r.bad.countMany(reason, records)
}

// Retry implements Receiver.
func (w *remote) Retry(err error, wait time.Duration) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.status.retry(err, wait)
}

// Note implements Receiver.
func (w *remote) Note(sentence string) {
	w.heard()
	w.r.note(sentence)
}

// heard notes that the engine is back.
func (w *remote) heard() {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.status.back()
}

func (w *remote) sinks() []Sink { return w.here }

// count implements worker.
func (w *remote) count(t *Totals) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Records, t.Late, t.Bytes = w.counted.Records, w.counted.Late, w.counted.Bytes
}

// partitions implements worker.
func (w *remote) partitions(l *listed) []running.Partition {
	w.mu.Lock()
	all := make([]running.Partition, 0, len(w.offsets))
	for _, of := range w.offsets {
		all = append(all, *of)
	}
	w.mu.Unlock()
	slices.SortFunc(all, func(a, b running.Partition) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
	for i, p := range all {
		all[i].Rate = l.rate(remotePartition{p.Source, p.Topic, p.ID}, p.Records)
	}
	return all
}

func (w *remote) epochAge() time.Duration { return 0 }

func (w *remote) drains() error {
	return fmt.Errorf("stream: Drain: %s closes windows by their watermark alone: Stop ends the query, and leaves them open", w.engine)
}

func (w *remote) draws() bool { return false }

func (w *remote) at() string { return w.engine.String() }

// quiet implements worker. A batch may take as long as another has.
func (w *remote) quiet() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slowBatch + w.longest
}
