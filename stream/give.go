package stream

import (
	"fmt"
	"math"
	"slices"
	"time"

	"cancha/internal/callback"
	"cancha/stream/internal/flow"
)

// lowest raises a timeline's watermark to the least of all assigned partitions that are not idle, and returns it. It waits for a partition that
// has not had a record yet, and never goes back. When all are idle nobody is waited for, and it is the greatest of them, as in Flink: the
// result must not depend on which of them fell idle last. A partition that has ended is as an idle one; inputs that have ended do not count.
func (r *Running) lowest(t *timeline) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.watermark = max(t.watermark, r.least(t))
	return t.watermark
}

// leastBeside is the watermark of a lane's timeline as far as the other partitions decide it: MaxInt64 if none of them holds anything back.
func (r *Running) leastBeside(n *lane) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	low, _, active := r.extent(n.in.on, n)
	if !active {
		return math.MaxInt64
	}
	return low
}

func (r *Running) least(t *timeline) int64 {
	low, high, active := r.extent(t, nil)
	switch {
	case active:
		return low
	case r.allOver(t): // whichever ended last
		return r.greatest(t)
	}
	return high
}

// greatest is the greatest watermark of all of a timeline's partitions. The caller holds mu.
func (r *Running) greatest(t *timeline) int64 {
	high := int64(flow.NoWatermark)
	for _, in := range t.inputs {
		for _, n := range r.lanes[in] {
			high = max(high, n.watermark.Load())
		}
	}
	return high
}

// extent is the least and the greatest watermark of a timeline's partitions, but for one, and whether any of them counts for the least. The caller holds mu.
func (r *Running) extent(t *timeline, but *lane) (low, high int64, active bool) {
	low, high = int64(math.MaxInt64), flow.NoWatermark
	for _, in := range t.inputs {
		lanes := r.lanes[in]
		if r.assigned[in][ended] {
			continue
		}
		if len(lanes) == 0 {
			return flow.NoWatermark, flow.NoWatermark, true // nothing of this input is known yet
		}
		for p, n := range lanes {
			if n == but || r.assigned[in] != nil && !r.assigned[in][p] {
				continue
			}
			w := n.watermark.Load()
			high = max(high, w)
			if !n.still() {
				low, active = min(low, w), true
			}
		}
	}
	return low, high, active
}

// allEnded tells whether all inputs of a timeline have ended.
func (r *Running) allEnded(t *timeline) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.allOver(t)
}

// allOver is allEnded. The caller holds mu.
func (r *Running) allOver(t *timeline) bool {
	return !slices.ContainsFunc(t.inputs, func(in *input) bool { return !r.assigned[in][ended] })
}

// settle gives out what a batch of a lane has made ready; without a lane, what time has.
func (r *Running) settle(n *lane) error {
	return r.giveOut(n, func() {
		g := r.graph
		if n != nil {
			r.handOn(n)
		}
		for _, t := range slices.Backward(g.timelines) { // tables before those who look them up
			if low := r.lowest(t); low > t.advanced {
				g.advance(t, low, r.all())
			}
		}
		if n != nil && n.ripe {
			r.forgetOld(n)
		}
		if n == nil {
			r.closeIdle()
			r.drainTables()
		}
		g.runClocks(time.Now())
		if g.identity != nil && r.dueNow(n) {
			g.changed(r.all())
			r.changed = time.Now()
		}
	})
}

// handOn gives what stands behind the lanes what a batch of one has made ready by itself. Only then do others see how far the lane has come.
func (r *Running) handOn(n *lane) {
	if n.in.entry != nil {
		n.deliver(n.in.entry, r.meeting(n))
		r.graph.env.Marked = false
	}
	if n.windows != nil && n.in.merge.keyed {
		r.closeOwn(n)
	}
	n.tell()
}

// forgetOld forgets the groups that a lane has found to have outlived their time: rows that were late may have brought them, and then event time has not moved on.
func (r *Running) forgetOld(n *lane) {
	n.ripe = false
	if m := n.in.merge; !m.keyed { // else closeOwn has
		r.graph.closeMerged(m, r.all()[n.in], r.lowest(n.in.on))
	}
}

// meeting returns what moves event time on behind the lanes while rows of a lane come, record by record: how many records came together must not decide what
// an operator has given out, forgotten or called late when a row comes. The other partitions have their places; this one is where the record is.
func (r *Running) meeting(n *lane) func(mark int64) {
	g, t, others := r.graph, n.in.on, r.leastBeside(n)
	g.unit = n.unit
	var lanes map[*input][]*lane
	return func(mark int64) {
		g.env.Mark, g.env.Marked = mark, true
		low := min(others, mark)
		if low <= t.advanced {
			return
		}
		if lanes == nil {
			lanes = r.all()
		}
		g.advance(t, low, lanes)
		g.unit = n.unit
	}
}

// closeOwn gives out the windows of a lane that its own watermark has passed, where each partition closes its own. What stands behind them gets them in order
// of time, however many have come at once.
func (r *Running) closeOwn(n *lane) {
	g, m, t, own := r.graph, n.in.merge, n.in.on, n.come()
	if t.ops > 0 {
		others, lanes := r.leastBeside(n), r.all()
		for end := n.firstEnd(); end <= own; end = n.firstEnd() {
			if low := min(others, end-1); low > t.advanced {
				g.advance(t, low, lanes)
			}
			g.env.Mark, g.env.Marked = end-1, true
			g.closeMerged(m, []*lane{n}, end)
			g.env.Marked = false
		}
	}
	g.closeMerged(m, []*lane{n}, own)
}

// come is the watermark of all records that a lane has taken, which others may not have been told yet.
func (n *lane) come() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clock.Watermark
}

// firstEnd is the end of a lane's first open window, MaxInt64 if none is open.
func (n *lane) firstEnd() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.windows.End()
}

// settleAlone gives out what time has made ready, while no snapshot is taken.
func (r *Running) settleAlone() {
	err := r.calling.do(func() error {
		defer r.keeper.handling()()
		return r.settle(nil)
	})
	if err != nil {
		r.fail(err)
	}
}

// closeIdle closes windows of partitions that are idle or have ended, where each partition closes its own: those that the others have passed. No more
// counts as late afterwards than what belongs to these. Whose the keys of groups are that are over in all partitions is forgotten.
func (r *Running) closeIdle() {
	for _, m := range r.graph.merges {
		if !m.keyed {
			continue
		}
		low := r.lowest(m.in.on)
		passed := low
		held, _ := r.held(m.in)
		for _, n := range r.of(m.in) {
			if !n.still() {
				if slices.Contains(held, n) {
					passed = min(passed, n.closed())
				}
				continue
			}
			if n.expired == low {
				continue
			}
			n.expired = low
			r.graph.closeStill(m, []*lane{n}, low, false)
			r.graph.expire(m, []*lane{n}, low)
		}
		m.owners.expire(passed)
	}
}

// drainTables gives the tables whose inputs have ended what is left of them. The query's own rest is given out when it ends.
func (r *Running) drainTables() {
	if r.reading.Err() != nil {
		return // half of their windows would be given to those who still look them up
	}
	for _, t := range r.graph.timelines[1:] {
		if r.allEnded(t) {
			r.graph.drain(t, r.all())
		}
	}
}

// dueNow tells whether rows that have changed are to be given out.
func (r *Running) dueNow(n *lane) bool {
	since := time.Since(r.changed)
	if r.query.trigger > 0 {
		return since >= r.query.trigger
	}
	return n != nil && n.caughtUp.Load() || since >= settleAfter
}

// giveOut calls work, which makes rows ready, and gives these to the results and the sinks, with what a lane has refused, or all have.
func (r *Running) giveOut(n *lane, work func()) (err error) {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	if err := r.broken(); err != nil {
		return err // a query that does not end in order gives out no window before its time
	}
	defer func() {
		if p := recover(); p != nil {
			err = callback.Err("a fault inside the query", p)
		}
		if err != nil {
			r.fail(err)
		}
	}()
	ready, err := r.graph.work(work)
	if err != nil {
		return err
	}
	for _, u := range ready {
		if err := r.publish(u, u.out); err != nil {
			return err
		}
		r.graph.reuse(u)
	}
	return r.publishRefused(n)
}

// fault is the error of a function behind the lanes, if there was one.
func (g *graph) fault() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.env.Err
}

// work calls work under the graph's lock, which a panic in it does not leave locked, and returns the units that have rows to be given out. Their lists
// are the caller's until reuse.
func (g *graph) work(work func()) (ready []*unit, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	work()
	ready, g.ready = g.ready, nil
	return ready, g.env.Err
}

// reusedRows is how long a list of rows may be to be used again: that of a batch is, that of a large window is not.
const reusedRows = 1 << 14

// reuse empties the list of rows that have been given out: whoever kept the rows has a list of its own.
func (g *graph) reuse(u *unit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cap(u.out) > reusedRows {
		u.out = nil
		return
	}
	clear(u.out)
	u.out = u.out[:0]
}

// publish gives the rows of a unit to the results and the sinks. The caller holds publishing.
func (r *Running) publish(u *unit, rows [][]Value) error {
	before := u.results.total
	u.results.put(rows)
	out := rows
	if r.query.mode == Complete {
		out = u.results.newest()
	}
	r.given.Add(int64(len(rows)))
	r.total.Add(u.results.total - before)
	if r.looking {
		return nil
	}
	if r.keeper != nil {
		r.keeper.hold(u, out)
		return nil
	}
	r.epoch++
	return r.write(r.work.sinks(), r.epoch, &Rows{Columns: r.graph.columns, rows: out, Total: int64(len(out))})
}

// publishRefused gives the dead letters of a lane's unit to their sinks; without a lane, those of all units.
func (r *Running) publishRefused(n *lane) error {
	if len(r.query.letters) == 0 {
		return nil
	}
	r.mu.Lock()
	units := r.units
	r.mu.Unlock()
	if n != nil {
		units = []*unit{n.unit}
	}
	for _, u := range units {
		r.mu.Lock()
		letters := u.refused
		u.refused = NewRows(letters.Columns...)
		r.mu.Unlock()
		switch {
		case letters.Len() == 0:
		case r.keeper != nil:
			r.keeper.holdLetters(u, letters)
		default:
			r.lettered++
			if err := r.write(r.query.letters, r.lettered, letters); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Running) write(sinks []Sink, epoch int64, rows *Rows) error {
	for _, sink := range sinks {
		if err := r.writeTo(sink, epoch, rows.part(slices.Clone(rows.rows))); err != nil {
			return fmt.Errorf("write %d rows to %s: %w", rows.Len(), describeSink(sink), err)
		}
	}
	return nil
}

// writeTo calls a sink, whose panic is its error.
func (r *Running) writeTo(sink Sink, epoch int64, rows *Rows) error {
	r.graph.calls.Begin()
	defer r.graph.calls.End()
	return contained("write to "+describeSink(sink), func() error { return sink.Write(r.ctx, epoch, rows) })
}

// Results returns the rows given out so far, the newest KeepRows of them, in the order of their columns' values.
func (r *Running) Results() *Rows {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	all := NewRows(slices.Clone(r.graph.columns)...)
	r.mu.Lock()
	units := r.units
	r.mu.Unlock()
	for _, u := range units {
		all.rows = append(all.rows, u.results.newest()...)
		all.Total += u.results.total
	}
	return all.Sort()
}
