package stream

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// cell is what a partition knows of one row of one window.
type cell struct {
	window  *openWindow
	key     groupKey
	events  int64 // 0 if the cell only holds the part that others' events give it in shares
	epoch   int64 // in which the cell changed last
	counts  []int64
	samples []moments
	shares  []int64 // events that count for this row in each share
}

// openWindow holds the cells of one window in one partition.
type openWindow struct {
	start int64
	epoch int64 // in which a cell changed last
	cells map[groupKey]*cell
	order []*cell // as they came
}

// partitionWindows are the open windows of one partition. One goroutine at a time works with them.
type partitionWindows struct {
	plan      *plan
	partition int
	owners    *matchOwners
	decoder   *decoder
	open      []*openWindow // by start
	recent    [64]recentCell
	watermark int64 // noWatermark before the first record
	closed    int64 // windows that end here or before were closed by the query's watermark
	first     int64 // start of the earliest open window, MaxInt64 if none
	epoch     int64

	minTime, maxTime        int64 // event times since the last epoch
	late, filtered, changed int64
	future                  int64 // events ahead of the limit
	ahead                   int   // of them, in a row
	rows, removed           int64
}

// recentCell remembers where a row of a window lies: records of a few matches come interleaved, and a map lookup costs more.
type recentCell struct {
	start int64
	key   groupKey
	cell  *cell
}

func newPartitionWindows(p *plan, partition int, owners *matchOwners) *partitionWindows {
	return &partitionWindows{plan: p, partition: partition, owners: owners, decoder: newDecoder(&p.projection, p.dict),
		watermark: noWatermark, closed: noWatermark, first: math.MaxInt64, epoch: 1,
		minTime: math.MaxInt64, maxTime: math.MinInt64}
}

// handle takes one record and returns "", or the reason why it is bad.
func (w *partitionWindows) handle(r *Record) (reason string) {
	d, p := w.decoder, w.plan
	if reason := d.decode(r.Value); reason != "" {
		return reason
	}
	t, ok := firstTime(d, p.eventTimes[:])
	if !ok {
		return noEventTime
	}
	if t < minEventTime || t > maxEventTime {
		return "event_time is outside the years 1680 to 2260"
	}
	w.advance(t)
	if p.where != nil && !p.where(d) {
		w.filtered++
		return ""
	}
	var key groupKey
	for i, slot := range p.keys {
		if d.present&(1<<slot) == 0 {
			return "no " + p.keyNames[i]
		}
		key[i] = d.key[slot]
	}
	start := p.windowStart(t)
	if w.isLate(start) {
		w.late++
		return ""
	}
	c, reason := w.cellAt(start, key)
	if reason != "" {
		return reason
	}
	w.count(c, start)
	return ""
}

// Event times are kept a year away from the ends of what nanoseconds in an int64 can hold, so that no sum with a window's
// width or a delay overflows.
const (
	minEventTime = math.MinInt64 + 366*24*3600*1e9
	maxEventTime = math.MaxInt64 - 366*24*3600*1e9
)

// isLate reports whether the window that starts at start has been passed by a watermark.
func (w *partitionWindows) isLate(start int64) bool {
	end := start + w.plan.width
	return end <= w.watermark || end <= w.closed
}

// advance takes an event time into the watermark, which never goes back. An event cannot make itself late: the watermark
// it sets is at most its own time, which lies before the end of its window.
func (w *partitionWindows) advance(t int64) {
	if w.tooFar(t) {
		w.future++
		return
	}
	w.minTime, w.maxTime = min(w.minTime, t), max(w.maxTime, t)
	w.watermark = max(w.watermark, t-w.plan.delay)
}

// After so many events in a row beyond the limit a partition's time is taken to be there: it is the clock that is wrong, or the limit. At its
// beginning nothing speaks for another time.
const (
	believed        = 100
	believedAtFirst = 2
)

// tooFar tells of an event that is further ahead than the query's limit, of the clock and of all events of the partition before it: a
// producer's fault, as a rule, which must not make all others late.
func (w *partitionWindows) tooFar(t int64) bool {
	limit, enough := w.plan.ahead, believedAtFirst
	if w.watermark != noWatermark {
		if t <= w.watermark+w.plan.delay+limit {
			w.ahead = 0
			return false
		}
		enough = believed
	}
	if limit == 0 || t <= time.Now().UnixNano()+limit {
		w.ahead = 0
		return false
	}
	w.ahead++
	return w.ahead < enough
}

// cellAt returns the cell of a row, made if it is new.
func (w *partitionWindows) cellAt(start int64, key groupKey) (*cell, string) {
	h := uint64(key[0])*31 + uint64(key[1])*17 + uint64(key[2]) + uint64(key[3]) + uint64(start/w.plan.width)
	recent := &w.recent[h%uint64(len(w.recent))]
	if recent.cell != nil && recent.start == start && recent.key == key {
		return recent.cell, ""
	}
	window := w.windowAt(start)
	c := window.cells[key]
	if c == nil {
		if w.plan.match >= 0 {
			if reason := w.owners.claim(key[w.plan.match], w.partition); reason != "" {
				return nil, reason
			}
		}
		c = w.plan.newCell(window, key)
		window.cells[key] = c
		window.order = append(window.order, c)
	}
	*recent = recentCell{start, key, c}
	return c, ""
}

func (p *plan) newCell(window *openWindow, key groupKey) *cell {
	return &cell{window: window, key: key, counts: make([]int64, len(p.counts)), samples: make([]moments, len(p.measures)),
		shares: make([]int64, len(p.shares))}
}

// windowAt returns the window that starts at start, made if it is new.
func (w *partitionWindows) windowAt(start int64) *openWindow {
	i, found := slices.BinarySearchFunc(w.open, start, func(o *openWindow, s int64) int { return cmp.Compare(o.start, s) })
	if !found {
		w.open = slices.Insert(w.open, i, &openWindow{start: start, cells: map[groupKey]*cell{}})
		w.first = w.open[0].start
	}
	return w.open[i]
}

// count adds the event that the decoder holds to its row, and to the shares of the rows it counts for.
func (w *partitionWindows) count(c *cell, start int64) {
	d, p := w.decoder, w.plan
	if c.events++; c.events == 1 {
		w.rows++
	}
	w.touch(c)
	for i, condition := range p.counts {
		if condition == nil || condition(d) {
			c.counts[i]++
		}
	}
	for i := range p.measures {
		m := &p.measures[i]
		if m.condition != nil && !m.condition(d) {
			continue
		}
		if x, ok := m.value(d); ok {
			c.samples[i].add(x)
		}
	}
	for i := range p.shares {
		w.countShare(c, start, i)
	}
}

// countShare counts the event for the row whose key is the event's value at the share's path. That row may have no events
// of its own yet, or ever.
func (w *partitionWindows) countShare(c *cell, start int64, i int) {
	d, s := w.decoder, &w.plan.shares[i]
	if d.present&(1<<s.of) == 0 || s.condition != nil && !s.condition(d) {
		return
	}
	key := c.key
	if key[s.per] = d.key[s.of]; key != c.key {
		other, reason := w.cellAt(start, key)
		if reason != "" {
			return // only a share per match_id itself could come here, and counts for a match elsewhere
		}
		w.touch(other)
		c = other
	}
	c.shares[i]++
}

func (w *partitionWindows) touch(c *cell) {
	if c.epoch != w.epoch {
		c.epoch, c.window.epoch = w.epoch, w.epoch
		w.changed++
	}
}

// closable reports whether close would find a window to close.
func (w *partitionWindows) closable(watermark int64) bool {
	return len(w.open) > 0 && w.first+w.plan.width <= watermark
}

// close takes the windows that a watermark has passed out of the partition, the earliest first.
func (w *partitionWindows) close(watermark int64) []*openWindow {
	n := 0
	for n < len(w.open) && w.open[n].start+w.plan.width <= watermark {
		for _, c := range w.open[n].order {
			if c.events > 0 {
				w.rows--
				w.removed++
			}
		}
		n++
	}
	closed := slices.Clone(w.open[:n])
	w.open = slices.Delete(w.open, 0, n)
	w.first = math.MaxInt64
	if len(w.open) > 0 {
		w.first = w.open[0].start
	}
	clear(w.recent[:])
	return closed
}

// flush has nothing to do: windows are closed when the batch has been handled.
func (w *partitionWindows) flush() error { return nil }

func (w *partitionWindows) advanced() int64 { return w.watermark }

func (w *partitionWindows) report() workReport {
	r := workReport{minTime: w.minTime, maxTime: w.maxTime, rows: w.rows, changed: w.changed, removed: w.removed,
		late: w.late, filtered: w.filtered, future: w.future}
	none := noTimes()
	w.minTime, w.maxTime = none.minTime, none.maxTime
	w.changed, w.removed, w.late, w.filtered, w.future = 0, 0, 0, 0, 0
	return r
}
