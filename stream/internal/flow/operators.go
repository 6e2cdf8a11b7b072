package flow

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cancha/stream/internal/changelog"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Emit takes a row of event time t; the row is its own during the call only.
type Emit func(row Row, t int64)

// Op is an operator with memory, behind the lanes. One goroutine at a time calls it.
type Op interface {
	Push(row Row, t int64)
	// Advance tells that no row of an event time before the watermark will come any more that is not late.
	Advance(watermark int64)
	// Next is the watermark at which Advance may give out rows next, MaxInt64 if it will not as things stand.
	Next() int64
	// Drain gives out what is left, at the end.
	Drain()
	// State is about how many rows and bytes the operator keeps.
	State() (rows, bytes int64)
	// Then sets what takes the operator's rows, before the first comes.
	Then(emit Emit)
}

// Out is the way behind an operator: the steps without memory, up to the next operator.
func Out(columns []Column, steps []Step, env *Env, end func(l *Layout) (Emit, error)) (Emit, error) {
	l := Closed(columns)
	var wraps []Wrap
	for _, s := range steps {
		w, _, err := l.Stateless(s, env)
		if err != nil {
			return nil, err
		}
		wraps = append(wraps, w)
	}
	last, err := end(l)
	if err != nil {
		return nil, err
	}
	env.Compared = append(env.Compared, l.compared...)
	var t int64
	next := Chain(wraps, func(row Row) { last(row, t) })
	buffer := make(Row, l.Width())
	return func(row Row, at int64) {
		t = at
		clear(buffer[copy(buffer, row):])
		next(buffer)
	}, nil
}

// exporter compiles what turns a layout's row into a row of its columns.
func exporter(l *Layout) ([]Column, func(row Row) Row, error) {
	columns, read, err := l.Export()
	if err != nil {
		return nil, nil, err
	}
	buffer := make(Row, 0, len(columns))
	return columns, func(row Row) Row {
		buffer = read(buffer[:0], row)
		return buffer
	}, nil
}

func cloned(row Row) Row {
	c := make(Row, len(row))
	for i, v := range row {
		c[i] = v.Clone()
	}
	return c
}

func sizeOf(row Row) (n int64) {
	for _, v := range row {
		n += v.Size()
	}
	return n + 24
}

// keyOf appends the bytes of some values of a row.
func keyOf(dst []byte, row Row, nodes []eval.Node) ([]byte, bool) {
	for i := range nodes {
		v := nodes[i].Value(row)
		if v.IsNull() {
			return dst, false
		}
		dst = v.AppendKey(dst)
	}
	return dst, true
}

func fields(l *Layout, names []string) ([]eval.Node, error) {
	nodes := make([]eval.Node, len(names))
	for i, name := range names {
		var err error
		if nodes[i], err = l.Field(name, value.Any); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// Groups is an aggregation behind the lanes, which gives out a window's rows when the watermark has passed it.
type Groups struct {
	*Windows
	emit      Emit
	watermark int64
}

// NewGroups returns an aggregation that takes rows of a layout.
func NewGroups(g *Grouping, env *Env) *Groups {
	return &Groups{Windows: NewWindows(g, env, nil), watermark: NoWatermark}
}

// Then sets what takes the rows.
func (g *Groups) Then(emit Emit) { g.emit = emit }

// Push implements Op.
func (g *Groups) Push(row Row, t int64) {
	passed := g.env.passed(g.watermark)
	if at, some := g.ends.first(); some && at < passed { // only groups that are to be forgotten wait there
		g.outlive(row, passed)
	}
	g.Add(row, t, passed)
}

// Advance implements Op.
func (g *Groups) Advance(watermark int64) {
	g.watermark = max(g.watermark, watermark)
	g.Give(g.Close(g.watermark))
	if g.Outlived(g.watermark) {
		Expire([]*Windows{g.Windows}, g.watermark, g.Give)
	}
}

// Give gives out the rows of windows.
func (g *Groups) Give(closed []*Window) {
	for _, w := range closed {
		t := RowTime([]*Window{w})
		for _, row := range g.Results([]*Window{w}) {
			g.emit(row, t)
		}
	}
}

// Next implements Op.
func (g *Groups) Next() int64 { return g.End() }

// Drain implements Op.
func (g *Groups) Drain() { g.Give(g.Close(math.MaxInt64)) }

// State implements Op.
func (g *Groups) State() (rows, bytes int64) { return g.Rows, g.Size() }

// Sessions groups the rows of a key into sessions: a row belongs to the session of which some row is less than the gap away.
type Sessions struct {
	*Grouping
	env       *Env
	emit      Emit
	watermark int64
	byKey     map[string][]*session
	ends      ending[*session]
	due       []*session // empty but in Advance
	keys      Row
	bytes     []byte
	rows      int64
	size      int64
	log       *changelog.Log
}

type session struct {
	group      *Group
	start, end int64 // end is the last row's time plus the gap
	gone       bool
	entry      *changelog.Entry
}

// NewSessions returns an aggregation by sessions.
func NewSessions(g *Grouping, env *Env) *Sessions {
	return &Sessions{Grouping: g, env: env, watermark: NoWatermark, byKey: map[string][]*session{}}
}

// Then sets what takes the rows.
func (s *Sessions) Then(emit Emit) { s.emit = emit }

// Push implements Op.
func (s *Sessions) Push(row Row, t int64) {
	var reason string
	if s.keys, reason = s.read(s.keys[:0], row); reason != "" {
		s.env.reject(reason)
		return
	}
	s.bytes = s.bytes[:0]
	for _, k := range s.keys {
		s.bytes = k.AppendKey(s.bytes)
	}
	passed := s.env.passed(s.watermark)
	if t+s.gap <= passed && !slices.ContainsFunc(s.byKey[string(s.bytes)], func(each *session) bool { return s.near(each, t, passed) }) {
		s.env.late(passed - t) // no session that it belongs to is open
		return
	}
	one := s.join(t, passed)
	one.group.rows++
	s.size -= one.bytes()
	s.set.Add(one.group.cell, row, t)
	s.size += one.bytes()
}

// join returns the session that a row of time t belongs to, made of all that it connects.
func (s *Sessions) join(t, passed int64) *session {
	list := s.byKey[string(s.bytes)]
	var one *session
	rest := list[:0]
	for _, each := range list {
		switch {
		case !s.near(each, t, passed):
			rest = append(rest, each)
		case one == nil:
			one = each
			rest = append(rest, each)
		default:
			s.log.Touch(one.entry)
			s.size -= one.bytes() + each.bytes()
			one.group.cell.Merge(each.group.cell)
			s.size += one.bytes()
			one.group.rows += each.group.rows
			one.start, one.end = min(one.start, each.start), max(one.end, each.end)
			each.gone = true
			s.log.Remove(each.entry)
			s.rows--
		}
	}
	if one == nil {
		one = s.open(t)
		rest = append(rest, one)
		s.ends.put(one.end, one)
	}
	s.log.Touch(one.entry)
	one.start = min(one.start, t)
	if t+s.gap > one.end {
		one.end = t + s.gap
	}
	s.byKey[one.group.key] = rest
	return one
}

// near tells whether a row of time t is less than the gap away from a session that is open when event time has passed so far: one whose end it has passed
// may be there still, because other partitions have not come so far.
func (s *Sessions) near(each *session, t, passed int64) bool {
	return each.end > t && each.start < t+s.gap && each.end > passed
}

func (s *Sessions) open(t int64) *session {
	key := string(s.bytes)
	one := &session{start: t, end: t + s.gap, group: &Group{key: key, keys: cloned(s.keys), cell: s.set.New()}}
	one.entry = s.log.Add(one)
	s.rows++
	s.size += one.bytes()
	return one
}

// Advance implements Op.
func (s *Sessions) Advance(watermark int64) {
	s.watermark = max(s.watermark, watermark)
	for at, ok := s.ends.first(); ok && at <= s.watermark; at, ok = s.ends.first() {
		s.due = s.ends.together(s.due[:0])
		for _, one := range s.over(s.due, at) {
			s.close(one)
		}
		clear(s.due) // holds on to nothing
	}
}

// over are those of the sessions due at a time that end then, by key: what comes behind adds up their rows in this order.
func (s *Sessions) over(due []*session, at int64) []*session {
	over := due[:0]
	for _, one := range due {
		switch {
		case one.gone: // it was joined to another
		case one.end > at:
			s.ends.put(one.end, one) // it went on
		default:
			over = append(over, one)
		}
	}
	slices.SortFunc(over, func(a, b *session) int { return strings.Compare(a.group.key, b.group.key) })
	return over
}

// Next implements Op.
func (s *Sessions) Next() int64 { return s.ends.when() }

// bytes is about how much room a session takes.
func (one *session) bytes() int64 { return 200 + int64(len(one.group.key)) + one.group.cell.Size() }

func (s *Sessions) close(one *session) {
	one.gone = true
	s.log.Remove(one.entry)
	key := one.group.key
	if rest := slices.DeleteFunc(s.byKey[key], func(o *session) bool { return o == one }); len(rest) > 0 {
		s.byKey[key] = rest
	} else {
		delete(s.byKey, key)
	}
	s.rows--
	s.size -= one.bytes()
	w := &Window{Start: one.start, end: one.end, order: []*Group{one.group}}
	for _, row := range s.Results([]*Window{w}) {
		s.emit(row, one.end-1)
	}
}

// Drain implements Op.
func (s *Sessions) Drain() { s.Advance(math.MaxInt64) }

// State implements Op.
func (s *Sessions) State() (rows, bytes int64) { return s.rows, max(0, s.size) }

// Deduplicator lets the first row of each key through, and knows a key until the watermark has passed its event time and the time to live: that of the
// partition in which the key comes again.
type Deduplicator struct {
	env       *Env
	emit      Emit
	keys      []eval.Node
	names     []string
	export    func(row Row) Row
	ttl       int64
	watermark int64
	seen      map[string]met
	ends      ending[string]
	bytes     []byte
	size      int64
	log       *changelog.Log
}

// met is until when a key is known.
type met struct {
	end   int64
	entry *changelog.Entry
}

// NewDeduplicator returns a Deduplicator of rows of a layout, and its columns, which are the layout's.
func NewDeduplicator(s plan.Step, l *Layout, env *Env) (*Deduplicator, []Column, error) {
	keys, err := fields(l, s.Keys)
	if err != nil {
		return nil, nil, err
	}
	columns, export, err := exporter(l)
	return &Deduplicator{env: env, keys: keys, names: s.Keys, export: export, ttl: int64(s.TimeToLive), watermark: NoWatermark,
		seen: map[string]met{}}, columns, err
}

// Then sets what takes the rows.
func (d *Deduplicator) Then(emit Emit) { d.emit = emit }

// Push implements Op.
func (d *Deduplicator) Push(row Row, t int64) {
	passed := d.env.passed(d.watermark)
	if passed != NoWatermark && t+d.ttl < passed {
		d.env.late(passed - t) // its key may have been forgotten
		return
	}
	var ok bool
	if d.bytes, ok = keyOf(d.bytes[:0], row, d.keys); !ok {
		d.env.reject(fmt.Sprintf("no value for one of %q", d.names))
		return
	}
	if before, twice := d.seen[string(d.bytes)]; twice {
		if before.end >= passed {
			d.env.Filtered++
			return
		}
		d.forget(string(d.bytes), before) // other partitions have not come so far
	}
	key := string(d.bytes)
	d.know(key, t+d.ttl, d.note(key, t+d.ttl))
	d.emit(d.export(row), t)
}

// Advance implements Op.
func (d *Deduplicator) Advance(watermark int64) {
	d.watermark = max(d.watermark, watermark)
	for at, ok := d.ends.first(); ok && at < d.watermark; at, ok = d.ends.first() {
		key := d.ends.next().of
		if one, known := d.seen[key]; known && one.end == at { // it has not come again since
			d.forget(key, one)
		}
	}
}

// Next implements Op.
func (d *Deduplicator) Next() int64 { return math.MaxInt64 }

// forget forgets a key.
func (d *Deduplicator) forget(key string, one met) {
	d.log.Remove(one.entry)
	delete(d.seen, key)
	d.size -= int64(len(key)) + metBytes
}

// metBytes is about what a key takes beside its own bytes.
const metBytes = 88

// Drain implements Op.
func (d *Deduplicator) Drain() {}

// State implements Op.
func (d *Deduplicator) State() (rows, bytes int64) { return int64(len(d.seen)), d.size }

// Tops keeps, of the rows of one event time and of the same keys, those with the greatest or least values of a column.
type Tops struct {
	env       *Env
	emit      Emit
	keys      []eval.Node
	by        eval.Node
	export    func(row Row) Row
	n         int
	sign      int
	ties      bool
	watermark int64
	groups    map[string]*ranking
	ends      ending[*ranking]
	due       []*ranking // empty but in Advance
	rows      int64
	size      int64
	bytes     []byte
	log       *changelog.Log
}

type ranking struct {
	t     int64
	key   string
	rows  []ranked
	entry *changelog.Entry
}

type ranked struct {
	by  value.Value
	row Row
}

// NewTops returns an operator that keeps the first rows by a column.
func NewTops(s plan.Step, l *Layout, env *Env) (*Tops, []Column, error) {
	keys, err := fields(l, s.Keys)
	if err != nil {
		return nil, nil, err
	}
	by, err := l.Field(s.Name, value.Any)
	if err != nil {
		return nil, nil, err
	}
	columns, export, err := exporter(l)
	sign := 1
	if s.Descending {
		sign = -1
	}
	return &Tops{env: env, keys: keys, by: by, export: export, n: s.N, sign: sign, ties: s.Ties, watermark: NoWatermark,
		groups: map[string]*ranking{}}, columns, err
}

// Then sets what takes the rows.
func (o *Tops) Then(emit Emit) { o.emit = emit }

// Push implements Op.
func (o *Tops) Push(row Row, t int64) {
	if passed := o.env.passed(o.watermark); t < passed {
		o.env.late(passed - t)
		return
	}
	by := o.by.Value(row)
	if by.IsNull() {
		o.env.Filtered++
		return
	}
	o.bytes = value.Nanos(t).AppendKey(o.bytes[:0])
	for i := range o.keys {
		o.bytes = o.keys[i].Value(row).AppendKey(o.bytes)
	}
	g := o.groups[string(o.bytes)]
	if g == nil {
		g = &ranking{t: t, key: string(o.bytes)}
		g.entry = o.log.Add(g)
		o.know(g)
	}
	o.rank(g, by, row)
}

// rank puts a row in its place. Of rows with the same value the order is that of their columns: which of them comes first depends on partitions.
func (o *Tops) rank(g *ranking, by value.Value, row Row) {
	if len(g.rows) >= o.n && o.sign*value.Compare(g.rows[o.n-1].by, by) < 0 {
		return
	}
	row = o.export(row)
	at, _ := slices.BinarySearchFunc(g.rows, row, func(r ranked, row Row) int {
		if c := o.sign * value.Compare(r.by, by); c != 0 {
			return c
		}
		return slices.CompareFunc(r.row, row, value.Compare)
	})
	if at >= o.n && !(o.ties && value.Equal(g.rows[o.n-1].by, by)) {
		return
	}
	o.log.Touch(g.entry)
	kept := cloned(row)
	g.rows = slices.Insert(g.rows, at, ranked{by.Clone(), kept})
	o.rows++
	o.size += sizeOf(kept)
	for len(g.rows) > o.n && !(o.ties && value.Equal(g.rows[len(g.rows)-1].by, g.rows[o.n-1].by)) {
		o.rows--
		o.size -= sizeOf(g.rows[len(g.rows)-1].row)
		g.rows = g.rows[:len(g.rows)-1]
	}
}

// Advance implements Op.
func (o *Tops) Advance(watermark int64) {
	o.watermark = max(o.watermark, watermark)
	for at, ok := o.ends.first(); ok && at < o.watermark; at, ok = o.ends.first() {
		o.due = o.ends.together(o.due[:0])
		slices.SortFunc(o.due, func(a, b *ranking) int { return strings.Compare(a.key, b.key) })
		for _, g := range o.due {
			o.give(g)
		}
		clear(o.due) // holds on to nothing
	}
}

// Next implements Op.
func (o *Tops) Next() int64 { return later(o.ends.when(), 1) }

// know keeps a ranking until its time is over.
func (o *Tops) know(g *ranking) {
	o.groups[g.key] = g
	o.ends.put(g.t, g)
}

// give gives out a ranking and forgets it.
func (o *Tops) give(g *ranking) {
	delete(o.groups, g.key)
	o.log.Remove(g.entry)
	for _, r := range g.rows {
		o.rows--
		o.size -= sizeOf(r.row)
		o.emit(r.row, g.t)
	}
}

// Drain implements Op.
func (o *Tops) Drain() { o.Advance(math.MaxInt64) }

// State implements Op.
func (o *Tops) State() (rows, bytes int64) { return o.rows, o.size }
