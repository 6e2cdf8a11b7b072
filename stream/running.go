package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cancha/internal/running"
	"cancha/stream/checkpoint"
	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
)

// Running is a query that was started. Its methods may be called from anywhere, at any time, after its end too; but a sink or a function of the
// query that waits for Stop, Drain, Wait or Savepoint waits for itself. So does a function with Results and Totals (String has these too), and a sink with
// Results, unless the query has a Checkpoint.
//
// Locks: those of the keeper, then publishing, then the graph's, then a lane's, then mu, behind which no other of these is taken. It is held for a moment, in
// which a lane that is new may be made: New of a process finds it taken, and must ask the query nothing.
type Running struct {
	query     *Query
	graph     *graph
	work      worker          // who does the work
	calling   calling         // of what the query's user has handed to it
	ctx       context.Context // Start's: sinks see it
	reading   context.Context // ends when nothing more is to be read
	cancel    context.CancelFunc
	done      chan struct{}
	entry     *running.Entry
	bad       badRecords
	limited   bool
	remaining atomic.Int64
	elsewhere elsewhere

	publishing sync.Mutex // held while rows are taken out and given out: no older state of a row follows a newer one
	epoch      int64      // counts what was written to sinks
	lettered   int64      // counts what was written to sinks of dead letters
	changed    time.Time  // when changed rows were given out last

	keeper  *keeper // nil: there is no checkpoint
	looking bool    // what is given out now is for Results alone

	draining atomic.Bool // Drain was called
	whole    atomic.Bool // all partitions have been this process's once
	divided  atomic.Bool // other processes have some of the partitions
	started  atomic.Bool // a source has said where it begins, and no snapshot has that yet

	moves bell // rings when a lane has moved, or others need not wait for it any more

	given, total atomic.Int64 // rows given out, with each change and without: also asked for while a sink makes the query wait

	mu       sync.Mutex
	units    []*unit // at least one, but for a query whose partitions are shared; never changed in place
	lanes    map[*input]map[Partition]*lane
	assigned map[*input]map[Partition]bool
	away     map[*input]bool          // its source cannot look its partitions up
	ready    map[*input]chan struct{} // closed once a table's input has read what there was
	met      map[*input]bool          // a table's input has read what there was, and may have more to give out
	late     flow.Lateness            // of records
	notes    []string
	status   status
	history  history
	failure  error
	err      error
}

// keptNotes is how many sentences a run keeps.
const keptNotes = 20

// settleAfter is how long rows that have changed wait at most while more is there to be read, unless Trigger says otherwise.
const settleAfter = 100 * time.Millisecond

func newRunning(ctx context.Context, q *Query, g *graph) *Running {
	r := &Running{query: q, graph: g, ctx: ctx, done: make(chan struct{}), bad: badRecords{reasons: map[string]int64{}},
		history: newHistory(), status: status{message: waiting}, limited: q.limit > 0,
		lanes: map[*input]map[Partition]*lane{}, assigned: map[*input]map[Partition]bool{}, ready: map[*input]chan struct{}{}, met: map[*input]bool{},
		away: map[*input]bool{}}
	g.env.Reject = r.bad.count
	r.units = []*unit{r.newUnit(checkpoint.Whole)}
	g.unit = r.units[0]
	r.remaining.Store(q.limit)
	for _, in := range g.inputs {
		r.lanes[in] = map[Partition]*lane{}
		for _, w := range in.waits {
			r.ready[w] = make(chan struct{})
		}
	}
	r.reading, r.cancel = context.WithCancel(ctx)
	r.work = local{r}
	return r
}

func (r *Running) start() {
	r.entry = r.list()
	go r.work.read(r.reading)
}

// letterColumns are the columns of dead letters.
func letterColumns() []Column {
	return []Column{{Name: "reason", Kind: Text}, {Name: "topic", Kind: Text}, {Name: "partition", Kind: Int}, {Name: "offset", Kind: Int},
		{Name: "timestamp", Kind: Time}, {Name: "key", Kind: Text}, {Name: "value", Kind: Text}}
}

// read reads the sources to their end, and then ends the query.
func (w local) read(reading context.Context) {
	r := w.r
	defer close(r.done)
	defer r.cancel()
	var ticking, sources, ending sync.WaitGroup
	ticks, stop := context.WithCancel(context.Background())
	ticking.Go(func() { r.ticks(ticks) })
	if r.keeper != nil {
		ticking.Go(func() { r.keeper.run(ticks) })
	}
	for _, in := range r.toRead() {
		sources.Go(func() {
			r.graph.calls.Begin()
			err := r.calling.do(func() error { return runSource(reading, in.query.source, reader{r, in}) })
			r.graph.calls.End()
			stopped := reading.Err() != nil && errors.Is(err, context.Cause(reading)) // while a batch waited
			if err != nil && !errors.Is(err, errEnough) && !stopped {
				r.fail(fmt.Errorf("read %s: %w", describeSource(in.query.source), err))
			}
			r.over(in)
			r.caughtUp(in)
		})
	}
	over := make(chan struct{})
	ending.Go(func() { r.watchCalls(over) })
	defer ending.Wait()
	defer close(over)
	sources.Wait()
	natural := reading.Err() == nil || r.draining.Load()
	stop()
	ticking.Wait()
	r.finish(natural)
	r.entry.End(r.Err())
}

// toRead are the inputs to be read: none of a query that had come to its end before.
func (r *Running) toRead() []*input {
	if r.keeper != nil && r.keeper.over {
		return nil
	}
	return r.graph.inputs
}

// runSource runs a source, whose panic is its error.
func runSource(ctx context.Context, s Source, h Handler) (err error) {
	defer caught(&err)
	return s.Run(ctx, h)
}

// errEnough ends a source after MaxRecords.
var errEnough = errors.New("stream: enough records")

// over notes that an input has ended: it holds back no watermark any more. One that was ended, while it had more, does: a watermark that had passed what it
// has is saved, and a next run would take that for late.
func (r *Running) over(in *input) {
	if r.reading.Err() != nil {
		return
	}
	r.mu.Lock()
	r.assigned[in] = map[Partition]bool{ended: true} // none of its lanes counts
	r.mu.Unlock()
	r.moves.ring()
	r.settleAlone()
}

// ticks gives out what waits, sees idle partitions, runs timers of the clock, and watches the state's size.
func (r *Running) ticks(ctx context.Context) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.settleAlone()
			r.moves.ring() // partitions may have become idle
			if r.query.length > 0 && time.Since(r.history.started) >= r.query.length {
				r.end("It ended after MaxTime.")
			}
			if time.Since(last) >= epochLength {
				last = time.Now()
				r.collect()
			}
			lanes := r.all()
			r.graph.mu.Lock()
			bytes, most := r.graph.state(lanes)
			r.graph.mu.Unlock()
			if bytes > r.query.memory {
				r.fail(fmt.Errorf("the state takes about %d MiB, more than Memory(%d MiB) allows, most of it in %s: use shorter windows, a shorter TimeToLive or Watermark, or more memory",
					bytes>>20, r.query.memory>>20, most))
			}
		}
	}
}

// end ends the run in order, for a reason that a user reads.
func (r *Running) end(why string) {
	r.mu.Lock()
	if r.status.ending == "" {
		r.status.ending = why
	}
	r.mu.Unlock()
	r.cancel()
}

// fail ends the run with an error; the first one counts.
func (r *Running) fail(err error) {
	r.mu.Lock()
	if r.failure == nil {
		r.failure = err
	}
	r.mu.Unlock()
	r.cancel()
}

func (r *Running) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// broken is why the run does not end in order; nil if it does, or goes on.
func (r *Running) broken() error {
	if err := r.failed(); err != nil {
		return err
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return nil
}

// drain gives out what is left.
func (r *Running) drain() error {
	return r.giveOut(nil, func() {
		for _, t := range slices.Backward(r.graph.timelines) {
			r.graph.drain(t, r.all())
		}
	})
}

// look shows in Results how windows stand that are open, and leaves them to the next run.
func (r *Running) look() error {
	r.looking = true
	return r.drain()
}

// finish gives out what is left if the run ended in order, closes the sinks, and notes how it ended. natural tells that the sources had come to their
// ends.
func (r *Running) finish(natural bool) {
	err := r.calling.do(func() error { return r.giveRest(natural) })
	err = errors.Join(err, r.stoppable(r.closeSinks))
	r.unseen()
	r.unlike(1)
	r.collect()
	r.conclude(err)
}

// giveRest gives out what is left.
func (r *Running) giveRest(natural bool) error {
	switch err := r.broken(); {
	case err != nil:
		return err
	case r.keeper != nil:
		return r.keeper.finish(natural)
	case !natural && isShared(r.query.source) && r.graph.restarts():
		return r.look()
	}
	return r.drain()
}

// conclude notes how the run ended, after all else.
func (r *Running) conclude(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	unread := ""
	if r.status.away {
		unread = r.status.cause
	}
	r.status.end(err)
	if err == nil {
		r.notes = append(r.notes, r.ending())
	}
	if unread != "" {
		r.notes = append(r.notes, "A source could not be read in the end: "+unread)
	}
}

// closeSinks closes the sinks that the run has opened.
func (r *Running) closeSinks() error {
	if r.keeper == nil {
		return closeAll(r.query.outlets())
	}
	return r.keeper.close(r.keeper.opened)
}

// ending says why a run ended in order. The caller holds mu.
func (r *Running) ending() string {
	left := int64(0)
	if r.limited {
		left = r.remaining.Load()
	}
	source := "its source"
	if len(r.graph.inputs) > 1 {
		source = "its sources"
	}
	switch {
	case r.limited && left <= 0:
		return "It ended after MaxRecords."
	case r.status.ending != "" && !r.status.asked:
		return r.status.ending
	case r.status.asked && left > 0:
		return fmt.Sprintf("It was stopped %s records before MaxRecords.", wholeNumber(left))
	case r.status.asked:
		return "It was stopped."
	case left > 0:
		return fmt.Sprintf("It ended with %s, %s records before MaxRecords.", source, wholeNumber(left))
	}
	return "It ended with " + source + "."
}

// unseen notes the paths that no record has had.
func (r *Running) unseen() {
	for _, in := range r.graph.inputs {
		seen, records := map[string]bool{}, int64(0)
		for _, n := range r.of(in) {
			n.mu.Lock()
			records += n.records
			for i, s := range n.slots {
				seen[s.Path] = seen[s.Path] || n.decoder.Seen(i)
			}
			n.mu.Unlock()
		}
		optional := in.query.optional()
		for _, path := range slices.Sorted(maps.Keys(seen)) {
			if records > 0 && !seen[path] && !optional[path] {
				r.note(fmt.Sprintf("No record had %q: is the path spelled as in the records?", path))
			}
		}
	}
}

// optional are the paths that the query's expressions can do without.
func (q *Query) optional() map[string]bool {
	paths := map[string]bool{}
	found := func(path string) { paths[path] = true }
	q.time.Optional(found)
	for _, s := range q.steps {
		s.Expr.Optional(found)
		for _, a := range s.Aggregates {
			a.Expr.Optional(found)
			a.Condition.Optional(found)
		}
	}
	return paths
}

func (r *Running) note(sentence string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, sentence) && len(r.notes) < keptNotes {
		r.notes = append(r.notes, sentence)
	}
}

// ended is the one partition of an input that has none any more.
var ended = Partition{ID: -1}

func comparePartitions(a, b Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
}

// of returns an input's lanes by topic and partition, so that whatever is merged over them is merged in one order.
func (r *Running) of(in *input) []*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inOrder(in)
}

func (r *Running) inOrder(in *input) []*lane {
	var lanes []*lane
	for _, p := range slices.SortedFunc(maps.Keys(r.lanes[in]), comparePartitions) {
		lanes = append(lanes, r.lanes[in][p])
	}
	return lanes
}

func (r *Running) all() map[*input][]*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[*input][]*lane{}
	for in := range r.lanes {
		all[in] = r.inOrder(in)
	}
	return all
}

// reject counts a record that is bad, or late by a time that is not negative, and keeps it as a dead letter.
func (r *Running) reject(u *unit, topic string, rec *Record, reason string, late time.Duration) {
	if late < 0 {
		r.bad.add(topic, rec, reason)
	} else {
		reason = fmt.Sprintf("late by %v", late.Round(time.Millisecond))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if late >= 0 {
		r.late.Add(int64(late))
	}
	if len(r.query.letters) == 0 {
		return
	}
	u.refused.Append(value.TextOf(reason), value.TextOf(topic), value.IntOf(int64(rec.Partition)), value.IntOf(rec.Offset),
		value.TimeOf(rec.Time), bytesOf(rec.Key), bytesOf(rec.Value))
}

// Err returns why the query ended: nil while it runs, and when it ended in order.
func (r *Running) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Active reports whether the query has not ended yet.
func (r *Running) Active() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// Wait waits until the query has ended and returns Err, or until ctx ends and returns its error; the query then goes on.
func (r *Running) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop ends the query in order: it stops reading, gives out what is left, and waits for that. It returns Err, or ctx's error
// if ctx ends first; the query then ends by itself. Stopping twice is no error.
//
// What is left of a query that a next run goes on with, because it has a Checkpoint or its source a group, are the windows that are open: Results has
// them as they stand, sinks do not. Drain gives them out.
func (r *Running) Stop(ctx context.Context) error {
	r.mu.Lock()
	r.status.asked = r.status.asked || r.status.ended.IsZero()
	r.mu.Unlock()
	r.cancel()
	return r.Wait(ctx)
}

// Drain is Stop for good: windows that are open are closed and given out, to sinks too. A query with a Checkpoint is over then, as if its sources had
// ended. Spark closes none before its time: there Drain is an error, and the query goes on.
func (r *Running) Drain(ctx context.Context) error {
	if err := r.work.drains(); err != nil {
		return err
	}
	r.draining.Store(true)
	return r.Stop(ctx)
}
