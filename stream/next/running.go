package next

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cancha/stream"
	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
)

// Running is a query that was started. Its methods may be called from anywhere, at any time, after its end too.
//
// Locks: publishing, then the graph's, then a lane's; mu is held for a moment and alone.
type Running struct {
	query     *Query
	graph     *graph
	ctx       context.Context // Start's: sinks see it
	cancel    context.CancelFunc
	done      chan struct{}
	bad       reasons
	limited   bool
	remaining atomic.Int64
	late      atomic.Int64
	owners    owners

	publishing sync.Mutex // held while rows are taken out and given out: no older state of a row follows a newer one
	results    results
	epoch      int64
	given      time.Time // when changed rows were given out last

	mu       sync.Mutex
	lanes    map[*input]map[stream.Partition]*lane
	assigned map[*input]map[stream.Partition]bool
	ready    map[*input]chan struct{} // closed once a table's input has read what there was
	letters  *Rows
	notes    []string
	history  history
	failure  error
	err      error
}

// settleAfter is how long rows that have changed wait at most while more is there to be read, unless Trigger says otherwise.
const settleAfter = 100 * time.Millisecond

func startQuery(ctx context.Context, q *Query, g *graph) *Running {
	r := &Running{query: q, graph: g, ctx: ctx, done: make(chan struct{}), bad: reasons{by: map[string]int64{}}, owners: owners{of: map[string]owner{}}, history: newHistory(), limited: q.limit > 0,
		lanes: map[*input]map[stream.Partition]*lane{}, assigned: map[*input]map[stream.Partition]bool{}, ready: map[*input]chan struct{}{}}
	g.env.Reject = r.bad.add
	r.results = results{keep: q.keep, identity: g.identity}
	if g.identity != nil {
		r.results.at = map[string]int{}
	}
	r.remaining.Store(q.limit)
	for _, in := range g.inputs {
		r.lanes[in] = map[stream.Partition]*lane{}
		for _, w := range in.waits {
			r.ready[w] = make(chan struct{})
		}
	}
	r.letters = NewRows(letterColumns()...)
	reading, cancel := context.WithCancel(ctx)
	r.cancel = cancel
	go r.read(reading)
	return r
}

// letterColumns are the columns of dead letters.
func letterColumns() []Column {
	return []Column{{Name: "reason", Kind: Text}, {Name: "topic", Kind: Text}, {Name: "partition", Kind: Int}, {Name: "offset", Kind: Int},
		{Name: "timestamp", Kind: Time}, {Name: "key", Kind: Text}, {Name: "value", Kind: Text}}
}

// read reads the sources to their end, and then ends the query.
func (r *Running) read(reading context.Context) {
	defer close(r.done)
	defer r.cancel()
	var ticking, sources sync.WaitGroup
	ticks, stop := context.WithCancel(context.Background())
	ticking.Go(func() { r.ticks(ticks) })
	for _, in := range r.graph.inputs {
		sources.Go(func() {
			err := in.query.source.Run(reading, reader{r, in})
			r.caughtUp(in)
			if err != nil && !errors.Is(err, errEnough) {
				r.fail(fmt.Errorf("read %s: %w", in.query.source.Description(), err))
			}
			r.over(in)
		})
	}
	sources.Wait()
	stop()
	ticking.Wait()
	r.finish()
}

// errEnough ends a source after MaxRecords.
var errEnough = errors.New("stream: enough records")

// over notes that an input has ended: it holds back no watermark any more.
func (r *Running) over(in *input) {
	for _, n := range r.of(in) {
		n.mu.Lock()
		n.idle.Store(true)
		n.watermark.Store(math.MaxInt64)
		n.mu.Unlock()
	}
	r.mu.Lock()
	r.assigned[in] = map[stream.Partition]bool{ended: true} // none of its lanes counts
	r.mu.Unlock()
	r.settle(nil)
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
			r.settle(nil)
			r.owners.expire(r.lowest())
			if time.Since(last) >= epochLength {
				last = time.Now()
				r.collect()
			}
			if bytes, most := r.graph.state(r.all()); bytes > r.query.memory {
				r.fail(fmt.Errorf("the state takes about %d MiB, more than Memory(%d MiB) allows, most of it in %s: use shorter windows, a shorter TimeToLive or Watermark, or more memory",
					bytes>>20, r.query.memory>>20, most))
			}
		}
	}
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

// finish gives out what is left if the run ended in order, closes the sinks, and notes how it ended.
func (r *Running) finish() {
	err := r.broken()
	if err == nil {
		err = r.giveOut(func() { r.graph.drain(r.all()) })
	}
	err = errors.Join(err, closeAll(append(slices.Clone(r.query.sinks), r.query.letters...)))
	r.unseen()
	r.collect()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
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
		for _, path := range slices.Sorted(maps.Keys(seen)) {
			if records > 0 && !seen[path] {
				r.note(fmt.Sprintf("No record had %q: is the path spelled as in the records?", path))
			}
		}
	}
}

func (r *Running) note(sentence string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, sentence) {
		r.notes = append(r.notes, sentence)
	}
}

// ended is the one partition of an input that has none any more.
var ended = stream.Partition{ID: -1}

func comparePartitions(a, b stream.Partition) int {
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

// reader is a run as the source of an input sees it.
type reader struct {
	*Running
	in *input
}

// Assigned implements stream.Handler.
func (r reader) Assigned(partitions []stream.Partition) {
	r.mu.Lock()
	assigned := map[stream.Partition]bool{}
	for _, p := range partitions {
		assigned[p] = true
	}
	r.assigned[r.in] = assigned
	r.mu.Unlock()
	for _, p := range partitions {
		if n, err := r.lane(p); err == nil {
			n.unknown()
		}
	}
}

func (r reader) lane(partition stream.Partition) (*lane, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.lanes[r.in][partition]; n != nil {
		return n, nil
	}
	var claim func(key string, end int64) string
	if m := r.in.merge; m != nil && m.keyed {
		claim = func(key string, end int64) string { return r.owners.claim(r.in, partition, key, end) }
	}
	n, err := r.in.lane(partition.ID, claim)
	if err == nil {
		r.lanes[r.in][partition] = n
	}
	return n, err
}

// Batch implements stream.Handler. A panic in it ends the query, not the program.
func (r reader) Batch(ctx context.Context, b stream.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a fault inside the query: %v", p)
			r.fail(err)
		}
	}()
	for _, in := range r.in.waits {
		select {
		case <-r.ready[in]:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	n, err := r.lane(stream.Partition{Topic: b.Topic, ID: b.Partition})
	if err != nil {
		r.fail(err)
		return err
	}
	count := r.reserve(len(b.Records))
	if err = n.take(b, count, r.in.query.idle, func(rec *stream.Record, reason string, late bool) { r.reject(b.Topic, rec, reason, late) }); err == nil {
		err = r.settle(n)
	}
	if err != nil {
		r.fail(err)
		return err
	}
	r.align(ctx, n)
	if r.ready[r.in] != nil && r.atEnd(r.in) {
		r.caughtUp(r.in)
	}
	if r.limited && r.remaining.Load() == 0 {
		r.cancel()
		return &stream.Partial{Handled: count, Err: errEnough}
	}
	return nil
}

// A lane that is ahead of the query's watermark by more than its delay, and a second, waits for the others after each batch, but not longer than
// alignTime: a source that reads its partitions one after another goes on.
const (
	alignDrift = time.Second
	alignTime  = 50 * time.Millisecond
	alignPause = time.Millisecond
)

// align holds back a lane that is far ahead: what it brings would have to be kept until the others are there too.
func (r reader) align(ctx context.Context, n *lane) {
	if len(r.graph.ops) == 0 && (r.in.merge == nil || r.in.merge.keyed) {
		return
	}
	ahead := func() bool {
		low := r.lowest()
		return low != flow.NoWatermark && n.watermark.Load()-int64(max(r.in.query.delay, 0)+alignDrift) > low
	}
	if !ahead() {
		return
	}
	ticker := time.NewTicker(alignPause)
	defer ticker.Stop()
	for until := time.Now().Add(alignTime); ahead() && time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Retry implements stream.Handler.
func (r reader) Retry(error, time.Duration) {
	for _, n := range r.of(r.in) {
		n.unknown()
	}
}

// Note implements stream.Noter.
func (r reader) Note(sentence string) { r.note(sentence) }

// atEnd tells whether all partitions of an input have been read to where they end now.
func (r *Running) atEnd(in *input) bool {
	lanes := r.of(in)
	for _, n := range lanes {
		if !n.caughtUp.Load() {
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(lanes) >= len(r.assigned[in])
}

func (r *Running) caughtUp(in *input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.ready[in]; c != nil {
		select {
		case <-c:
		default:
			close(c)
		}
	}
}

// reserve returns how many of n records may still be handled.
func (r *Running) reserve(n int) int {
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

// reject counts a record that is bad or late, and keeps it as a dead letter.
func (r *Running) reject(topic string, rec *stream.Record, reason string, late bool) {
	if late {
		r.late.Add(1)
	} else {
		r.bad.add(reason)
	}
	if len(r.query.letters) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.letters.Append(value.TextOf(reason), value.TextOf(topic), value.IntOf(int64(rec.Partition)), value.IntOf(rec.Offset),
		value.TimeOf(rec.Time), bytesOf(rec.Key), bytesOf(rec.Value))
}

// lowest is the query's watermark: the least of all assigned partitions that are not idle. It waits for a partition that has not had a
// record yet. When all are idle nobody is waited for, and it is the greatest of them, as in Flink: the result must not depend on which of
// them fell idle last. Inputs that have ended do not count.
func (r *Running) lowest() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	low, high, active := int64(math.MaxInt64), int64(flow.NoWatermark), false
	for in, lanes := range r.lanes {
		var counted []*lane
		for p, n := range lanes {
			if r.assigned[in] == nil || r.assigned[in][p] {
				counted = append(counted, n)
			}
		}
		if len(lanes) == 0 && !r.assigned[in][ended] {
			return flow.NoWatermark // nothing of this input is known yet
		}
		l, h, a := watermarkOf(counted)
		high = max(high, h)
		if a {
			low, active = min(low, l), true
		}
	}
	if !active {
		return high
	}
	return low
}

// settle gives out what a batch of a lane has made ready; without a lane, what time has.
func (r *Running) settle(n *lane) error {
	return r.giveOut(func() {
		g := r.graph
		if n != nil && n.in.entry != nil {
			n.deliver(n.in.entry)
		}
		if n != nil && n.windows != nil && n.in.merge.keyed {
			g.closeMerged(n.in.merge, []*lane{n}, n.watermark.Load())
		}
		lanes := r.all()
		g.advance(r.lowest(), lanes)
		g.runClocks(time.Now())
		if g.identity != nil && r.dueNow(n) {
			g.changed(lanes)
			r.given = time.Now()
		}
	})
}

// dueNow tells whether rows that have changed are to be given out.
func (r *Running) dueNow(n *lane) bool {
	since := time.Since(r.given)
	if r.query.trigger > 0 {
		return since >= r.query.trigger
	}
	return n != nil && n.caughtUp.Load() || since >= settleAfter
}

// giveOut calls work, which makes rows ready, and gives these to the results and the sinks.
func (r *Running) giveOut(work func()) (err error) {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	if err := r.broken(); err != nil {
		return err // a query that does not end in order gives out no window before its time
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a fault inside the query: %v", p)
		}
		if err != nil {
			r.fail(err)
		}
	}()
	g := r.graph
	g.mu.Lock()
	work()
	rows := g.out
	g.out = nil
	err = g.env.Err
	g.mu.Unlock()
	if err != nil {
		return err
	}
	return r.publish(rows)
}

// publish gives rows to the results and the sinks. The caller holds publishing.
func (r *Running) publish(rows [][]Value) error {
	r.mu.Lock()
	letters := r.letters
	r.letters = NewRows(letters.Columns...)
	r.mu.Unlock()
	if len(rows) == 0 && letters.Len() == 0 {
		return nil
	}
	r.epoch++
	if len(rows) > 0 {
		r.results.put(rows)
		out := rows
		if r.query.mode == Complete {
			out = r.results.newest()
		}
		if err := r.write(r.query.sinks, &Rows{Columns: r.graph.columns, rows: out, Total: int64(len(out))}); err != nil {
			return err
		}
	}
	if letters.Len() > 0 {
		return r.write(r.query.letters, letters)
	}
	return nil
}

func (r *Running) write(sinks []Sink, rows *Rows) error {
	for _, sink := range sinks {
		if err := sink.Write(r.ctx, r.epoch, rows.part(slices.Clone(rows.rows))); err != nil {
			return fmt.Errorf("write %d rows to %s: %w", rows.Len(), describeSink(sink), err)
		}
	}
	return nil
}

// Results returns the rows given out so far, the newest KeepRows of them, in the order of their columns' values.
func (r *Running) Results() *Rows {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	return (&Rows{Columns: slices.Clone(r.graph.columns), rows: r.results.newest(), Total: r.results.total}).Sort()
}

// Totals tells what a query did from its start to now.
type Totals struct {
	Records int64 // read, bad ones included
	Bad     int64 // records that could not be used
	Late    int64 // rows dropped because they came too late
	Lost    int64 // records that retention removed before they could be read
	Future  int64 // events far ahead of all others, which do not move the watermark
	Rows    int64 // rows given out
	Bytes   int64 // of state, about
}

// Totals tells what the query did from its start to now.
func (r *Running) Totals() Totals {
	t := Totals{Bad: r.BadRecords().Total, Late: r.late.Load()}
	lanes := r.all()
	for _, list := range lanes {
		for _, n := range list {
			n.mu.Lock()
			t.Records += n.records
			t.Lost += n.lost
			t.Future += n.clock.Future
			n.mu.Unlock()
		}
	}
	r.graph.mu.Lock()
	t.Late += r.graph.env.Late
	t.Bytes, _ = r.graph.state(lanes)
	r.graph.mu.Unlock()
	r.publishing.Lock()
	t.Rows = r.results.total
	r.publishing.Unlock()
	return t
}

// BadRecords are the reasons why records were bad, and how many each.
type BadRecords struct {
	Total   int64
	Reasons map[string]int64
}

// BadRecords tells how many records were bad, and why.
func (r *Running) BadRecords() BadRecords {
	r.bad.mu.Lock()
	defer r.bad.mu.Unlock()
	return BadRecords{r.bad.total, maps.Clone(r.bad.by)}
}

// Notes are sentences about this run that a user should read.
func (r *Running) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
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
func (r *Running) Stop(ctx context.Context) error {
	r.cancel()
	return r.Wait(ctx)
}

// Explain shows the query as a tree, with what is read of each record, or says why it cannot start.
func (q *Query) Explain() string {
	g, err := q.build()
	if err != nil {
		return q.Plan().String() + "It cannot start: " + err.Error() + "\n"
	}
	var b strings.Builder
	b.WriteString(q.Plan().String())
	for _, in := range g.inputs {
		n, err := in.lane(0, nil)
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "of each record of %s:", in.query.source.Description())
		for _, s := range n.slots {
			fmt.Fprintf(&b, " %s (%s)", s.Path, s.Want)
		}
		for _, m := range n.meta {
			fmt.Fprintf(&b, " @%s", m.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
