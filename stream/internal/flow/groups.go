package flow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"cancha/stream/internal/aggregate"
	"cancha/stream/internal/changelog"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// NoWatermark is the watermark before the first record.
const NoWatermark = math.MinInt64

// Event times are kept a year away from the ends of what nanoseconds in an int64 can hold, so that no sum with a window's
// width or a delay overflows.
const (
	MinTime = math.MinInt64 + 366*24*3600*1e9
	MaxTime = math.MaxInt64 - 366*24*3600*1e9
)

// Grouping is an aggregation, compiled for the rows of one layout. It is read only.
type Grouping struct {
	names   []string // of the keys
	keys    []eval.Node
	set     *aggregate.Set
	width   int64 // of a window; 0: there are no windows
	step    int64
	gap     int64 // of sessions; 0: there are none
	ttl     int64 // of groups without windows; 0: for ever
	Columns []Column
}

// NewGrouping compiles an aggregation.
func NewGrouping(s plan.Step, l *Layout) (*Grouping, error) {
	g := &Grouping{names: s.Keys, width: int64(s.Window.Width), step: int64(s.Window.Step), gap: int64(s.Window.Gap), ttl: int64(s.TimeToLive)}
	if g.step == 0 {
		g.step = g.width
	}
	for _, path := range s.Keys {
		n, err := l.Field(path, value.Any)
		if err != nil {
			return nil, err
		}
		g.keys = append(g.keys, n)
		g.Columns = append(g.Columns, Column{Name: path, Kind: n.Kind})
	}
	if s.Window.Kind != "" {
		g.Columns = append(g.Columns, Column{Name: "window_start", Kind: value.Time}, Column{Name: "window_end", Kind: value.Time})
	}
	var err error
	if g.set, err = aggregate.Compile(s.Aggregates, s.Keys, l); err != nil {
		return nil, err
	}
	g.Columns = append(g.Columns, g.set.Columns...)
	return g, unique(g.Columns)
}

func unique(columns []Column) error {
	seen := map[string]bool{}
	for _, c := range columns {
		if seen[c.Name] {
			return fmt.Errorf("stream: two columns are named %q", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// Windowed tells whether rows are grouped by spans of time.
func (g *Grouping) Windowed() bool { return g.width > 0 || g.gap > 0 }

// HasShares tells whether a row's columns depend on the rows of other groups.
func (g *Grouping) HasShares() bool { return len(g.set.Shares) > 0 }

// Identity is how many of the first columns tell rows apart.
func (g *Grouping) Identity() int {
	if g.Windowed() {
		return len(g.keys) + 2
	}
	return len(g.keys)
}

// read takes a row's keys; the reason tells which of them is absent.
func (g *Grouping) read(dst Row, row Row) (Row, string) {
	for i := range g.keys {
		v := g.keys[i].Value(row)
		if v.IsNull() {
			return dst, "no " + g.names[i]
		}
		dst = append(dst, v)
	}
	return dst, ""
}

// Group is what is known of one group of one window.
type Group struct {
	window *Window
	key    string // the keys' bytes
	keys   Row
	cell   *aggregate.Cell
	rows   int64 // 0 if it only holds the part that others' rows give it in shares
	epoch  int64 // in which it changed last
	last   int64 // event time of its latest row
	waits  bool  // among those whose time to live may be over
	// promised is the event time up to which claim has been told that the group is there.
	promised int64
	report   int64 // in which it changed last
	entry    changelog.Entry
}

// Window holds the groups of one window.
type Window struct {
	Start, end int64
	from       int64 // offset of the record that made it
	epoch      int64 // in which a group changed last
	groups     map[string]*Group
	order      []*Group // as they came
}

// Windows are the open windows of a lane, or of the part that lanes share. One goroutine at a time works with them.
type Windows struct {
	*Grouping
	env    *Env
	claim  func(keys Row, end int64) string // says why a group must not be made here; nil: it may
	open   []*Window                        // by start
	recent [64]recentGroup
	ends   ending[*Group] // by when their time to live may be over: rows may have come since
	closed int64          // windows that end here or before are closed
	epoch  int64
	report int64

	// At is the offset of the record in hand.
	At int64
	// Left is told of groups that are over before the end, some at a time, with what claim has been told of them; nil: nobody wants to know.
	Left func(claims []Claim)

	scratch Row
	bytes   []byte
	size    int64
	log     *changelog.Log

	Rows             int64 // groups that have rows
	removed, changed int64 // of them, and of those that only hold others' shares, since Report
}

// Claim is what is said of a group: that it is there, up to an event time.
type Claim struct {
	Keys  Row
	Until int64
}

// recentGroup remembers where a row of a window lies: records of a few groups come interleaved, and a map lookup costs more.
type recentGroup struct {
	start int64
	group *Group
}

// NewWindows returns the windows of a lane. claim may be nil.
func NewWindows(g *Grouping, env *Env, claim func(keys Row, end int64) string) *Windows {
	return &Windows{Grouping: g, env: env, claim: claim, closed: NoWatermark, epoch: 1, report: 1}
}

// Add counts a row of event time t; watermark is that of what it came from.
func (w *Windows) Add(row Row, t, watermark int64) {
	var reason string
	if w.scratch, reason = w.read(w.scratch[:0], row); reason != "" {
		w.env.reject(reason)
		return
	}
	w.bytes = w.bytes[:0]
	h := uint64(0)
	for _, k := range w.scratch {
		w.bytes = k.AppendKey(w.bytes)
		h = h*31 + k.Hash()
	}
	if w.width == 0 {
		w.count(row, 0, math.MaxInt64, h, t)
		return
	}
	for start := eval.Floor(t, w.step); start > t-w.width; start -= w.step {
		if end := start + w.width; end <= watermark || end <= w.closed {
			w.env.late(max(watermark, w.closed) - t)
			continue
		}
		w.count(row, start, start+w.width, h+uint64(start/w.step), t)
	}
}

// count counts a row in one window.
func (w *Windows) count(row Row, start, end int64, h uint64, t int64) {
	g, reason := w.groupAt(start, end, h, t)
	if reason != "" {
		w.env.reject(reason)
		return
	}
	w.touch(g, t)
	if g.rows++; g.rows == 1 {
		w.Rows++
	}
	if w.set.Grows() {
		w.size -= g.cell.Size()
		w.set.Add(g.cell, row, t)
		w.size += g.cell.Size()
	} else {
		w.set.Add(g.cell, row, t)
	}
	for i := range w.set.Shares {
		w.share(g, row, i, t)
	}
}

// lasts is until when claim is told that a group with a row at t is there: to the end of its window, or for up to twice its time to live, so that it
// need not be told of each row. It follows from the latest row alone, so that a restart does not change it.
func (w *Windows) lasts(end, t int64) int64 {
	if w.width > 0 || w.ttl == 0 {
		return end
	}
	behind := t - eval.Floor(t, w.ttl)
	return later(later(earlier(t, behind), w.ttl), w.ttl)
}

// later is a time by so many nanoseconds later, and the last that there is if that is beyond it.
func later(t, by int64) int64 {
	if t > math.MaxInt64-by {
		return math.MaxInt64
	}
	return t + by
}

// groupAt returns the group whose keys are in scratch and bytes, made at a row of time t if it is new.
func (w *Windows) groupAt(start, end int64, h uint64, t int64) (*Group, string) {
	recent := &w.recent[h%uint64(len(w.recent))]
	if recent.group != nil && recent.start == start && recent.group.key == string(w.bytes) {
		return recent.group, ""
	}
	window := w.windowAt(start, end)
	g := window.groups[string(w.bytes)]
	if g == nil {
		promised := w.lasts(end, t)
		if w.claim != nil {
			if reason := w.claim(w.scratch, promised); reason != "" {
				return nil, reason
			}
		}
		g = &Group{window: window, key: string(w.bytes), keys: slices.Clone(w.scratch), cell: w.set.New(), last: NoWatermark, promised: promised}
		for i := range g.keys {
			g.keys[i] = g.keys[i].Clone()
		}
		w.know(g)
		w.log.AddAt(&g.entry, g)
	}
	*recent = recentGroup{start, g}
	return g, ""
}

// know puts a group into its window.
func (w *Windows) know(g *Group) {
	g.window.groups[g.key] = g
	g.window.order = append(g.window.order, g)
	w.await(g)
	w.size += g.cell.Size() + int64(2*len(g.key)+32*len(g.keys)+100)
}

// windowAt returns the window that starts at start, made if it is new.
func (w *Windows) windowAt(start, end int64) *Window {
	i, found := slices.BinarySearchFunc(w.open, start, func(o *Window, s int64) int { return cmp.Compare(o.Start, s) })
	if !found {
		w.open = slices.Insert(w.open, i, &Window{Start: start, end: end, from: w.At, groups: map[string]*Group{}})
	}
	return w.open[i]
}

// share counts a row for the group whose key is the row's value. That group may have no rows of its own yet, or ever.
func (w *Windows) share(g *Group, row Row, i int, t int64) {
	s := &w.set.Shares[i]
	if s.Condition != nil && !s.Condition(row) {
		return
	}
	v := s.Of.Value(row)
	if v.IsNull() {
		return
	}
	if !value.Equal(v, g.keys[s.Per]) {
		copy(w.scratch, g.keys)
		w.scratch[s.Per] = v
		w.bytes = w.bytes[:0]
		h := uint64(0)
		for _, k := range w.scratch {
			w.bytes = k.AppendKey(w.bytes)
			h = h*31 + k.Hash()
		}
		start := g.window.Start
		if w.step > 0 {
			h += uint64(start / w.step)
		}
		other, reason := w.groupAt(start, g.window.end, h, t)
		copy(w.scratch, g.keys) // as it was: the row may be in more windows
		w.bytes = append(w.bytes[:0], g.key...)
		if reason != "" {
			return // the rows of that group are in another partition, where this row does not count
		}
		w.touch(other, t)
		g = other
	}
	g.cell.Shares[i]++
}

// touch notes that a row of time t changes a group, before it does.
func (w *Windows) touch(g *Group, t int64) {
	w.log.Touch(&g.entry)
	if g.epoch != w.epoch {
		g.epoch, g.window.epoch = w.epoch, w.epoch
	}
	if g.report != w.report {
		g.report = w.report
		w.changed++
	}
	g.last = max(g.last, t)
	w.await(g)
	if w.claim != nil && w.width == 0 && g.last >= g.promised-w.ttl {
		g.promised = w.lasts(g.window.end, g.last)
		w.claim(g.keys, g.promised) // gives no reason: the group is this partition's
	}
}

// Due is the end of the latest open window that a watermark has passed, NoWatermark if there is none.
func (w *Windows) Due(watermark int64) int64 {
	due := int64(NoWatermark)
	for _, o := range w.open {
		if o.end > watermark {
			break
		}
		due = o.end
	}
	return due
}

// Close takes the windows that a watermark has passed out, the earliest first; no row is counted in them any more.
func (w *Windows) Close(watermark int64) []*Window {
	w.closed = max(w.closed, watermark)
	n := 0
	for n < len(w.open) && w.open[n].end <= watermark {
		w.forget(w.open[n].order)
		if watermark < math.MaxInt64 {
			w.leave(w.open[n].order)
		}
		n++
	}
	if n == 0 {
		return nil
	}
	closed := slices.Clone(w.open[:n])
	w.open = slices.Delete(w.open, 0, n)
	if len(w.open) == 0 {
		w.size = 0
	}
	clear(w.recent[:])
	return closed
}

// leave tells Left of groups that are over.
func (w *Windows) leave(groups []*Group) {
	if w.Left == nil || len(groups) == 0 {
		return
	}
	claims := make([]Claim, 0, len(groups))
	for _, g := range groups {
		claims = append(claims, Claim{g.keys, g.promised})
	}
	w.Left(claims)
}

func (w *Windows) forget(groups []*Group) {
	for _, g := range groups {
		w.log.Remove(&g.entry)
		w.size -= g.cell.Size() + int64(2*len(g.key)+32*len(g.keys)+100)
		if g.rows > 0 {
			w.Rows--
			w.removed++
		}
	}
}

// End is the end of the first open window, MaxInt64 if none is open.
func (w *Windows) End() int64 {
	if len(w.open) == 0 {
		return math.MaxInt64
	}
	return w.open[0].end
}

// First is the offset of the first record that open windows hold; false if none is open.
func (w *Windows) First() (offset int64, open bool) {
	offset = math.MaxInt64
	for _, o := range w.open {
		offset = min(offset, o.from)
	}
	return offset, len(w.open) > 0
}

// Resume notes by which watermark windows have been closed elsewhere.
func (w *Windows) Resume(closed int64) { w.closed = max(w.closed, closed) }

// Closed is the watermark by which windows have been closed.
func (w *Windows) Closed() int64 { return w.closed }

// Report tells how many groups have changed, and how many have been closed or forgotten, since the call before.
func (w *Windows) Report() (changed, removed int64) {
	changed, removed = w.changed, w.removed
	w.changed, w.removed = 0, 0
	w.report++
	return changed, removed
}

// Size is about how many bytes the windows take.
func (w *Windows) Size() int64 { return max(0, w.size) }

// Take returns copies of the windows in which something has changed since the call before, with all their groups, or with those that have
// changed alone where no group depends on others.
func (w *Windows) Take() []*Window {
	var changed []*Window
	for _, o := range w.open {
		if o.epoch == w.epoch {
			changed = append(changed, o.copy(w.epoch, w.HasShares()))
		}
	}
	w.epoch++
	return changed
}

// Look returns copies of all open windows.
func (w *Windows) Look() []*Window {
	var all []*Window
	for _, o := range w.open {
		all = append(all, o.copy(0, true))
	}
	return all
}

// Part returns the groups of these keys in the window that starts at start, for rows that other lanes have changed.
func (w *Windows) Part(start int64, keys map[string]bool) *Window {
	for _, o := range w.open {
		if o.Start != start {
			continue
		}
		c := &Window{Start: o.Start, end: o.end}
		for _, g := range o.order {
			if keys == nil || keys[g.key] {
				c.order = append(c.order, g.copy(c))
			}
		}
		return c
	}
	return nil
}

func (o *Window) copy(epoch int64, all bool) *Window {
	c := &Window{Start: o.Start, end: o.end, epoch: o.epoch}
	for _, g := range o.order {
		if all || g.epoch == epoch {
			c.order = append(c.order, g.copy(c))
		}
	}
	return c
}

func (g *Group) copy(w *Window) *Group {
	c := *g
	c.window, c.cell, c.entry = w, g.cell.Clone(), changelog.Entry{}
	return &c
}

// Keys are the keys of a window's groups.
func (o *Window) Keys() map[string]bool {
	keys := make(map[string]bool, len(o.order))
	for _, g := range o.order {
		keys[g.key] = true
	}
	return keys
}

// Results turns parts of one window, one for each lane that has some, in the order of the lanes, into rows sorted by key. Cells are merged in
// that order, so that the same parts always give the same bits.
func (g *Grouping) Results(parts []*Window) []Row {
	groups := merge(parts)
	totals := g.totals(groups)
	var rows []Row
	width := len(g.Columns)
	for _, each := range groups {
		if each.rows == 0 {
			continue
		}
		row := append(make(Row, 0, width), each.keys...)
		if g.Windowed() {
			row = append(row, value.Nanos(parts[0].Start), value.Nanos(parts[0].end))
		}
		rows = append(rows, g.set.Results(row, each.cell, g.totalsOf(totals, each)))
	}
	slices.SortFunc(rows, func(a, b Row) int { return slices.CompareFunc(a[:len(g.keys)], b[:len(g.keys)], value.Compare) })
	return rows
}

// merge returns the groups of a window. Those of a single part are handed on as they are; others are merged into copies.
func merge(parts []*Window) []*Group {
	if len(parts) == 1 {
		return parts[0].order
	}
	var groups []*Group
	merged := map[string]*Group{}
	for _, part := range parts {
		for _, g := range part.order {
			m := merged[g.key]
			if m == nil {
				m = g.copy(g.window)
				merged[g.key] = m
				groups = append(groups, m)
				continue
			}
			m.rows += g.rows
			m.last = max(m.last, g.last)
			m.cell.Merge(g.cell)
		}
	}
	return groups
}

// totals sums, for each share, the rows of all groups that differ in the share's own key alone.
func (g *Grouping) totals(groups []*Group) []map[string]int64 {
	totals := make([]map[string]int64, len(g.set.Shares))
	for i := range totals {
		totals[i] = map[string]int64{}
		for _, each := range groups {
			totals[i][g.others(each, i)] += each.cell.Shares[i]
		}
	}
	return totals
}

// others is a group's key without the share's own part.
func (g *Grouping) others(each *Group, i int) string {
	var key []byte
	for k, v := range each.keys {
		if k != g.set.Shares[i].Per {
			key = v.AppendKey(key)
		}
	}
	return string(key)
}

func (g *Grouping) totalsOf(totals []map[string]int64, each *Group) []int64 {
	if len(totals) == 0 {
		return nil
	}
	of := make([]int64, len(totals))
	for i := range totals {
		of[i] = totals[i][g.others(each, i)]
	}
	return of
}

// RowTime is the event time of a window's rows: its last nanosecond, or that of a group without windows.
func RowTime(parts []*Window) int64 {
	if parts[0].end == math.MaxInt64 {
		last := int64(NoWatermark)
		for _, p := range parts {
			for _, g := range p.order {
				last = max(last, g.last)
			}
		}
		return max(last, MinTime)
	}
	return parts[0].end - 1
}

// Clock is the event time of one partition.
type Clock struct {
	Delay, Ahead int64 // Ahead 0: no limit
	Watermark    int64
	Min, Max     int64 // event times since they were reset
	Future       int64 // events ahead of the limit
	ahead        int   // of them, in a row
}

// NewClock returns the clock of a partition without records.
func NewClock(delay, ahead time.Duration) Clock {
	return Clock{Delay: int64(delay), Ahead: int64(ahead), Watermark: NoWatermark, Min: math.MaxInt64, Max: math.MinInt64}
}

// See takes an event time into the watermark, which never goes back. An event cannot make itself late: the watermark it sets is at most its
// own time, which lies before the end of its window.
func (c *Clock) See(t int64) {
	if c.tooFar(t) {
		c.Future++
		return
	}
	c.Min, c.Max = min(c.Min, t), max(c.Max, t)
	c.Watermark = max(c.Watermark, t-c.Delay)
}

// After so many events in a row beyond the limit a partition's time is taken to be there: it is the clock that is wrong, or the limit. At its
// beginning nothing speaks for another time.
const (
	believed        = 100
	believedAtFirst = 2
)

// tooFar tells of an event that is further ahead than the limit, of the clock and of all events of the partition before it: a producer's
// fault, as a rule, which must not make all others late.
func (c *Clock) tooFar(t int64) bool {
	enough := believedAtFirst
	if c.Watermark != NoWatermark {
		if t <= c.Watermark+c.Delay+c.Ahead {
			c.ahead = 0
			return false
		}
		enough = believed
	}
	if c.Ahead == 0 || t <= time.Now().UnixNano()+c.Ahead {
		c.ahead = 0
		return false
	}
	c.ahead++
	return c.ahead < enough
}
