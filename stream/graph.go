package stream

import (
	"maps"
	"math"
	"slices"
	"time"

	"cancha/stream/internal/flow"
)

// closeMerged gives out the windows of an aggregation that a watermark has passed, in order of time.
func (g *graph) closeMerged(m *merge, lanes []*lane, watermark int64) {
	for _, lanes := range byUnit(lanes) {
		g.close(m, lanes, watermark)
		g.expire(m, lanes, watermark)
	}
}

// byUnit parts lanes by their units. What is given out of a lane belongs to its unit: a snapshot that says that rows have been given out has these rows,
// and a partition that goes to another process takes both along. No group has rows in two units, as separable sees to.
func byUnit(lanes []*lane) (all [][]*lane) {
	at := map[*unit]int{}
	for _, n := range lanes {
		i, known := at[n.unit]
		if !known {
			i = len(all)
			at[n.unit] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], n)
	}
	return all
}

// close gives out the windows of a unit's lanes that a watermark has passed.
func (g *graph) close(m *merge, lanes []*lane, watermark int64) {
	parts := map[int64][]*flow.Window{}
	for _, n := range lanes {
		n.mu.Lock()
		for _, w := range n.windows.Close(watermark) {
			parts[w.Start] = append(parts[w.Start], w)
		}
		n.mu.Unlock()
	}
	g.give(lanes[0].unit, m, parts)
}

// expire forgets the groups without windows that have had no row for their time to live, in the lanes of a unit.
func (g *graph) expire(m *merge, lanes []*lane, watermark int64) {
	if !m.grouping.Expires() || watermark == math.MaxInt64 {
		return
	}
	var windows []*flow.Windows
	for _, n := range lanes {
		n.mu.Lock()
		defer n.mu.Unlock()
		windows = append(windows, n.windows)
	}
	flow.Expire(windows, watermark, func(parts []*flow.Window) { g.give(lanes[0].unit, m, map[int64][]*flow.Window{0: parts}) })
}

// give gives out the rows of windows, which are those of a unit.
func (g *graph) give(u *unit, m *merge, parts map[int64][]*flow.Window) {
	g.unit = u
	starts := make([]int64, 0, len(parts))
	for start := range parts {
		starts = append(starts, start)
	}
	slices.Sort(starts)
	for _, start := range starts {
		t := flow.RowTime(parts[start])
		for _, row := range m.grouping.Results(parts[start]) {
			m.emit(row, t)
		}
	}
}

// changed gives out the rows of the last aggregation that have changed since the call before; the rows of one before it are complete when they
// reach the next, or it would count them again.
func (g *graph) changed(lanes map[*input][]*lane) {
	if g.last != nil {
		g.last.Give(g.last.Take())
		return
	}
	for _, m := range g.merges {
		for _, lanes := range byUnit(lanes[m.in]) {
			g.give(lanes[0].unit, m, changedIn(lanes))
		}
	}
}

// changedIn takes out what has changed in the windows of lanes. Of a window that lies in several of them, the rows that changed in one are merged over all.
func changedIn(lanes []*lane) map[int64][]*flow.Window {
	keys := map[int64]map[string]bool{}
	for _, n := range lanes {
		n.mu.Lock()
		for _, w := range n.windows.Take() {
			if keys[w.Start] == nil {
				keys[w.Start] = map[string]bool{}
			}
			maps.Copy(keys[w.Start], w.Keys())
		}
		n.mu.Unlock()
	}
	parts := map[int64][]*flow.Window{}
	for start := range keys {
		for _, n := range lanes {
			n.mu.Lock()
			if p := n.windows.Part(start, keys[start]); p != nil {
				parts[start] = append(parts[start], p)
			}
			n.mu.Unlock()
		}
	}
	return parts
}

// advance moves a timeline's event time behind the lanes on: from one moment to the next at which something is given out, so that what stands behind gets it
// in order of time, however far event time moves at once.
func (g *graph) advance(t *timeline, watermark int64, lanes map[*input][]*lane) {
	marked := g.env.Marked
	g.env.Marked = false // what time gives out is of no record
	defer func() { g.env.Marked = marked }()
	g.step(t, watermark, lanes)
	g.pass(t, watermark, lanes)
}

// step moves on by what is due up to a watermark.
func (g *graph) step(t *timeline, watermark int64, lanes map[*input][]*lane) {
	last := int64(flow.NoWatermark)
	for {
		if t.drained {
			g.finish(t, lanes)
		}
		due := g.due(t, lanes)
		if due > watermark || due <= last {
			return
		}
		g.pass(t, due-1, lanes)
		g.pass(t, due, lanes)
		last = due
	}
}

// finish tells processes that no more rows come to them. Which these are goes by what is still to be given out in front of them: operators that rows
// reach first come first.
func (g *graph) finish(t *timeline, lanes map[*input][]*lane) {
	if g.firstEnd(t, lanes) < math.MaxInt64 {
		return
	}
	for _, s := range g.ops {
		if s.on != t {
			continue
		}
		if p, ok := s.Op.(*flow.Processor); ok {
			p.Finish()
		}
		if s.Next() < math.MaxInt64 {
			return
		}
	}
}

// firstEnd is when the first window in the lanes of a timeline ends that the graph closes, MaxInt64 if none is open.
func (g *graph) firstEnd(t *timeline, lanes map[*input][]*lane) int64 {
	next := int64(math.MaxInt64)
	for _, m := range g.merges {
		for _, n := range lanes[m.in] {
			if m.in.on == t && (!m.keyed || n.still() || t.drained) {
				next = min(next, n.firstEnd())
			}
		}
	}
	return next
}

// due is when something is given out next that others of a timeline's operators may take, MaxInt64 if that is never. At the end a timer of a process that may
// get more rows is no reason to move on: one that sets itself again would be for ever.
func (g *graph) due(t *timeline, lanes map[*input][]*lane) int64 {
	next := int64(math.MaxInt64)
	if t.ops == 0 || t.ops+t.merges < 2 {
		return next
	}
	next = g.firstEnd(t, lanes)
	for _, s := range g.ops {
		if p, ok := s.Op.(*flow.Processor); s.on != t || ok && t.drained && !p.Finished() {
			continue
		}
		if at := s.Next(); at < math.MaxInt64-s.hold {
			next = min(next, at+s.hold)
		}
	}
	return next
}

// pass lets all that stands behind the lanes see that event time has come to a watermark.
func (g *graph) pass(t *timeline, watermark int64, lanes map[*input][]*lane) {
	t.advanced = max(t.advanced, watermark)
	for _, m := range g.merges {
		switch {
		case m.in.on != t:
		case m.keyed:
			g.closeStill(m, lanes[m.in], watermark, t.drained)
		default:
			g.closeMerged(m, lanes[m.in], watermark)
		}
	}
	for _, s := range g.ops {
		if s.on == t {
			s.Advance(heldBack(watermark, s.hold))
		}
	}
}

// closeStill gives out the windows of lanes that are idle or have ended, where each partition closes its own: those that the others have passed. No more
// counts as late afterwards than what belongs to these. At the end that is all lanes.
func (g *graph) closeStill(m *merge, lanes []*lane, watermark int64, end bool) {
	for _, n := range lanes {
		if !n.still() && !end {
			continue
		}
		n.mu.Lock()
		due := n.windows.Due(watermark)
		n.mu.Unlock()
		if due != flow.NoWatermark {
			g.closeMerged(m, []*lane{n}, due)
		}
	}
}

// still tells whether a lane is idle or its partition has ended.
func (n *lane) still() bool { return n.idle.Load() || n.finished.Load() }

// heldBack is a watermark less a hold, without overflow.
func heldBack(watermark, hold int64) int64 {
	if watermark < flow.NoWatermark+hold {
		return flow.NoWatermark
	}
	return watermark - hold
}

// drain gives out what is left on a timeline, once.
func (g *graph) drain(t *timeline, lanes map[*input][]*lane) {
	if t.drained {
		return
	}
	t.drained = true
	g.step(t, math.MaxInt64-1, lanes)
	for _, m := range g.merges {
		if m.in.on == t {
			g.closeMerged(m, lanes[m.in], math.MaxInt64)
		}
	}
	for _, s := range g.ops {
		if s.on == t {
			s.Drain()
		}
	}
}

// state is about how many bytes the query keeps, and which operator keeps most. The caller holds the graph's lock.
func (g *graph) state(lanes map[*input][]*lane) (bytes int64, most string) {
	biggest := int64(-1)
	for _, m := range g.merges {
		n := int64(0)
		for _, each := range lanes[m.in] {
			each.mu.Lock()
			n += each.windows.Size()
			each.mu.Unlock()
		}
		bytes += n
		if n > biggest {
			biggest, most = n, "the groups of an aggregation"
		}
	}
	for _, s := range g.ops {
		_, n := s.State()
		bytes += n
		if n > biggest {
			biggest, most = n, operatorName(s.Op)
		}
	}
	return bytes, most
}

// runClocks calls the timers of the clock that are due.
func (g *graph) runClocks(now time.Time) {
	for _, p := range g.clocks {
		p.Clock(now)
	}
}
