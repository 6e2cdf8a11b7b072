package flow

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"cancha/stream/internal/changelog"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Side is one input of an operator with two.
type Side struct {
	push func(row Row, t int64)
	Op   Op
}

// Push gives a row to the side.
func (s Side) Push(row Row, t int64) { s.push(row, t) }

// Joiner joins the rows of two streams that are equal in some columns and whose event times are near. A row waits for others until the
// watermark has passed the last that could match.
type Joiner struct {
	env           *Env
	emit          Emit
	before, after int64 // right.t - left.t lies in [-before, after]
	span          int64 // of time, whose rows of a key are looked through together
	keep          [2]bool
	sides         [2]*joinSide
	byKey         map[string]*partners
	watermark     int64
	due           []*waiting // empty but in Advance
	row           Row
	bytes         []byte
	log           *changelog.Log
	matched       bool // rows have been joined
}

type joinSide struct {
	keySide
	export func(row Row) Row
	width  int
	ends   ending[*waiting]
	wait   int64 // how long behind its event time a row can find a partner
	rows   int64
	size   int64
}

// partners are the rows of one key that wait and whose times lie in one span, of both sides, as they came. Where one source is far ahead of the other, most
// of what waits of a key is far away: it is not looked through for each row.
type partners struct {
	key         string // and the span
	first, last [2]*waiting
}

type waiting struct {
	of         *partners // nil: without a key it matches nothing
	prev, next *waiting  // of its side
	row        Row
	t          int64
	side       uint8
	matched    bool
	entry      *changelog.Entry
}

// size is about how many bytes a row takes that waits.
func (w *waiting) size() int64 {
	n := sizeOf(w.row) + 80
	if w.of != nil {
		n += int64(len(w.of.key))
	}
	return n
}

// BothHave refuses a join or a lookup whose sides have a column of one name that they are not joined by.
func BothHave(column string) error {
	return fmt.Errorf("stream: both sides of the join have a column %q; give one of them another name by With and Drop", column)
}

// JoinColumns are the columns of a join: those of the left, and those of the right that are not joined by under the same name.
func JoinColumns(s plan.JoinSpec, left, right []Column) ([]Column, []int, error) {
	columns := slices.Clone(left)
	var from []int
	for i, c := range right {
		if k := slices.Index(s.Right, c.Name); k >= 0 && s.Left[k] == c.Name {
			continue
		}
		if slices.ContainsFunc(left, func(l Column) bool { return l.Name == c.Name }) {
			return nil, nil, BothHave(c.Name)
		}
		columns = append(columns, c)
		from = append(from, i)
	}
	return columns, from, nil
}

// NewJoiner returns a join of rows of two layouts. Emit is set by Then.
func NewJoiner(s plan.JoinSpec, left, right *Layout, env *Env) (*Joiner, []Column, error) {
	j := &Joiner{env: env, before: int64(s.Before), after: int64(s.After), watermark: NoWatermark, byKey: map[string]*partners{}}
	j.span = spanOf(j.before, j.after)
	j.keep = [2]bool{s.Kind == "left" || s.Kind == "full", s.Kind == "full"}
	var columns [2][]Column
	for i, l := range []*Layout{left, right} {
		names := s.Left
		if i == 1 {
			names = s.Right
		}
		keys, err := newKeySide(l, names)
		if err != nil {
			return nil, nil, err
		}
		c, export, err := exporter(l)
		if err != nil {
			return nil, nil, err
		}
		columns[i] = c
		j.sides[i] = &joinSide{keySide: keys, export: export, width: len(c)}
	}
	j.sides[0].wait, j.sides[1].wait = j.after, j.before
	all, from, err := JoinColumns(s, columns[0], columns[1])
	if err != nil {
		return nil, nil, err
	}
	j.project(s, columns, from)
	return j, all, nil
}

// project makes the right side give only its own columns, and remembers where keys come from if there is no left row.
func (j *Joiner) project(s plan.JoinSpec, columns [2][]Column, from []int) {
	j.row = make(Row, columns0(columns)+len(from))
	right := j.sides[1]
	whole := right.export
	var keys []int // of the left row, from the right row's keys
	for k, name := range s.Left {
		if s.Right[k] == name {
			keys = append(keys, slices.IndexFunc(columns[0], func(c Column) bool { return c.Name == name }),
				slices.IndexFunc(columns[1], func(c Column) bool { return c.Name == name }))
		}
	}
	width := columns0(columns)
	buffer := make(Row, width+len(from))
	right.width = len(from)
	right.export = func(row Row) Row { // the left part holds what is known of it: the keys
		all := whole(row)
		clear(buffer)
		for i := 0; i < len(keys); i += 2 {
			if keys[i] >= 0 && keys[i+1] >= 0 {
				buffer[keys[i]] = all[keys[i+1]]
			}
		}
		for i, k := range from {
			buffer[width+i] = all[k]
		}
		return buffer
	}
}

func columns0(columns [2][]Column) int { return len(columns[0]) }

// Then sets what takes the joined rows.
func (j *Joiner) Then(emit Emit) { j.emit = emit }

// Left and Right are the inputs.
func (j *Joiner) Left() Side { return Side{func(row Row, t int64) { j.take(0, row, t) }, j} }

// Right is the other input.
func (j *Joiner) Right() Side { return Side{func(row Row, t int64) { j.take(1, row, t) }, j} }

// Push implements Op for the left input.
func (j *Joiner) Push(row Row, t int64) { j.take(0, row, t) }

func (j *Joiner) take(i int, row Row, t int64) {
	mine := j.sides[i]
	if passed := j.env.passed(j.watermark); t < passed {
		j.env.late(passed - t) // partners may have been given up
		return
	}
	w := &waiting{t: t, side: uint8(i)}
	var ok bool
	if j.bytes, ok = mine.key(j.bytes[:0], row); ok {
		j.match(i, w, row)
		w.of = j.partnersOf(t)
		w.of.add(i, w)
	} else if !j.keep[i] {
		return // without a key it matches nothing
	}
	if w.row == nil {
		w.row = cloned(mine.export(row))
	}
	j.wait(w)
	w.entry = j.log.Add(w)
}

// match gives out a row, whose key is in bytes, with each of the other side that it matches.
func (j *Joiner) match(i int, w *waiting, row Row) {
	first, last := j.reach(i, w.t)
	for at := floorDiv(first, j.span); at <= floorDiv(last, j.span); at++ {
		p := j.byKey[string(j.keyAt(at))]
		if p == nil {
			continue
		}
		for other := p.first[1-i]; other != nil; other = other.next {
			if other.t < first || other.t > last {
				continue
			}
			if !w.matched {
				w.row = cloned(j.sides[i].export(row))
			}
			if !other.matched {
				j.log.Touch(other.entry)
			}
			w.matched, other.matched, j.matched = true, true, true
			j.give(i, w.row, other.row, max(w.t, other.t))
		}
	}
}

// reach is from when to when a row of the other side matches one of time t.
func (j *Joiner) reach(i int, t int64) (first, last int64) {
	if i == 0 {
		return earlier(t, j.before), later(t, j.after)
	}
	return earlier(t, j.after), later(t, j.before)
}

// spanOf is some times what a row reaches, so that it seldom has to look into two spans.
func spanOf(before, after int64) int64 {
	const times = 4
	if before > math.MaxInt64/times/2-1 || after > math.MaxInt64/times/2-1 {
		return math.MaxInt64
	}
	return times*(before+after) + 1
}

// earlier is t, and by before it: no time is before the first.
func earlier(t, by int64) int64 {
	if t < math.MinInt64+by {
		return math.MinInt64
	}
	return t - by
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// keyAt is the key in bytes with a span's number behind it.
func (j *Joiner) keyAt(span int64) []byte {
	j.bytes = slices.Grow(j.bytes, spanBytes)
	return binary.BigEndian.AppendUint64(j.bytes, uint64(span))
}

// spanBytes is what a span's number takes.
const spanBytes = 8

// wait keeps a row until none can match it any more.
func (j *Joiner) wait(w *waiting) {
	mine := j.sides[w.side]
	mine.rows++
	mine.size += w.size()
	mine.ends.put(w.t+mine.wait, w)
}

// partnersOf returns those of the key in bytes at a time, made if there are none.
func (j *Joiner) partnersOf(t int64) *partners {
	key := j.keyAt(floorDiv(t, j.span))
	p := j.byKey[string(key)]
	if p == nil {
		p = &partners{key: string(key)}
		j.byKey[p.key] = p
	}
	return p
}

func (p *partners) add(i int, w *waiting) {
	w.prev = p.last[i]
	if p.last[i] = w; w.prev == nil {
		p.first[i] = w
		return
	}
	w.prev.next = w
}

func (p *partners) remove(i int, w *waiting) {
	if w.prev == nil {
		p.first[i] = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		p.last[i] = w.prev
	} else {
		w.next.prev = w.prev
	}
}

// give puts a pair together.
func (j *Joiner) give(i int, mine, other Row, t int64) {
	left, right := mine, other
	if i == 1 {
		left, right = other, mine
	}
	n := copy(j.row, left)
	copy(j.row[n:], right[len(right)-(len(j.row)-n):])
	j.emit(j.row, t)
}

// Advance implements Op.
func (j *Joiner) Advance(watermark int64) {
	j.watermark = max(j.watermark, watermark)
	for i, at := j.earliest(); i >= 0 && at < j.watermark; i, at = j.earliest() {
		j.due = j.sides[i].ends.together(j.due[:0])
		for _, w := range j.alone(i, j.due) {
			clear(j.row)
			copy(j.row, w.row)
			j.emit(j.row, w.t)
		}
		clear(j.due) // holds on to nothing
	}
}

// earliest is the side of the row that is to be given up first, and when; -1 if none waits. Sides take turns by time: how far the watermark goes at once must
// not decide which rows come first.
func (j *Joiner) earliest() (side int, at int64) {
	side = -1
	for i, s := range j.sides {
		if first, ok := s.ends.first(); ok && (side < 0 || first < at) {
			side, at = i, first
		}
	}
	return side, at
}

// Next implements Op: rows that are given up are given out where they have found no partner and are wanted all the same.
func (j *Joiner) Next() int64 {
	next := int64(math.MaxInt64)
	for i, keep := range j.keep {
		if keep {
			next = min(next, later(j.sides[i].ends.when(), 1))
		}
	}
	return next
}

// alone forgets rows of a side that wait no longer, and returns those that are given out alone: they have found no partner and are wanted all the same. Rows of
// one time are in the order of their values.
func (j *Joiner) alone(i int, due []*waiting) []*waiting {
	alone := due[:0]
	for _, w := range due {
		if j.giveUp(i, w); !w.matched && j.keep[i] {
			alone = append(alone, w)
		}
	}
	slices.SortFunc(alone, func(a, b *waiting) int { return slices.CompareFunc(a.row, b.row, value.Compare) })
	return alone
}

// giveUp forgets a row.
func (j *Joiner) giveUp(i int, w *waiting) {
	s := j.sides[i]
	j.log.Remove(w.entry)
	if p := w.of; p != nil {
		if p.remove(i, w); p.first == [2]*waiting{} {
			delete(j.byKey, p.key)
		}
	}
	s.rows--
	s.size -= w.size()
}

// Drain implements Op.
func (j *Joiner) Drain() { j.Advance(math.MaxInt64) }

// State implements Op.
func (j *Joiner) State() (rows, bytes int64) {
	return j.sides[0].rows + j.sides[1].rows, j.sides[0].size + j.sides[1].size
}

// Doubt implements Doubter.
func (j *Joiner) Doubt(least int64) string {
	left, right := &j.sides[0].keySide, &j.sides[1].keySide
	if j.matched || min(left.rows, right.rows) < least {
		return ""
	}
	if why := apart(left.names, right.names, left.met, right.met); why != "" {
		return "No row of the join has found a partner: " + why + "."
	}
	return ""
}

// Table is what a Lookup looks in: rows by their keys.
type Table struct {
	Columns []Column
	rows    map[string]*kept
	size    int64
	keys    []int
	met     []kinds // of the keys
	bytes   []byte
	log     *changelog.Log
}

// kept is a row of a table.
type kept struct {
	row   Row
	entry *changelog.Entry
}

// NewTable returns an empty table of these columns, whose rows are found by some of them.
func NewTable(columns []Column, keys []string) (*Table, error) {
	t := &Table{Columns: columns, rows: map[string]*kept{}}
	t.met = make([]kinds, len(keys))
	for _, k := range keys {
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == k })
		if at < 0 {
			return nil, fmt.Errorf("stream: the table has no column %q", k)
		}
		t.keys = append(t.keys, at)
	}
	return t, nil
}

// Put keeps a row in place of the one with its keys; a row whose keys are null is left out.
func (t *Table) Put(row Row) {
	t.bytes = t.bytes[:0]
	for _, k := range t.keys {
		if row[k].IsNull() {
			return
		}
		t.bytes = row[k].AppendKey(t.bytes)
	}
	t.put(cloned(row))
}

// Delete forgets the row that has the keys of another, which a record without a value has become. One without these keys is told of: what it was to delete
// stays.
func (t *Table) Delete(row Row, env *Env) {
	t.bytes = t.bytes[:0]
	for _, k := range t.keys {
		if row[k].IsNull() {
			env.reject(fmt.Sprintf("a tombstone has no %s, so it deletes nothing: make the table's key of @key", t.Columns[k].Name))
			return
		}
		t.bytes = row[k].AppendKey(t.bytes)
	}
	old := t.rows[string(t.bytes)]
	if old == nil {
		return
	}
	t.log.Remove(old.entry)
	t.size -= sizeOf(old.row) + int64(len(t.bytes)) + 60
	delete(t.rows, string(t.bytes))
}

// put keeps a row that is the table's, whose key is in bytes.
func (t *Table) put(row Row) *kept {
	t.size += sizeOf(row)
	t.meet(row)
	if old := t.rows[string(t.bytes)]; old != nil {
		t.log.Touch(old.entry)
		t.size -= sizeOf(old.row)
		old.row = row
		return old
	}
	t.size += int64(len(t.bytes)) + 60
	k := &kept{row: row}
	k.entry = t.log.Add(k)
	t.rows[string(t.bytes)] = k
	return k
}

// meet takes notice of the kinds of a row's keys.
func (t *Table) meet(row Row) {
	for i, k := range t.keys {
		t.met[i][row[k].Kind()] = true
	}
}

// Looker adds to each row the columns of the table's row with the same keys.
type Looker struct {
	env    *Env
	emit   Emit
	table  *Table
	keys   keySide
	spec   plan.JoinSpec
	found  bool // a row was found
	export func(row Row) Row
	from   []int
	left   bool
	row    Row
}

// NewLooker returns a lookup for rows of a layout.
func NewLooker(s plan.JoinSpec, l *Layout, table *Table, env *Env) (*Looker, []Column, error) {
	keys, err := newKeySide(l, s.Left)
	if err != nil {
		return nil, nil, err
	}
	columns, export, err := exporter(l)
	if err != nil {
		return nil, nil, err
	}
	all, from, err := JoinColumns(s, columns, table.Columns)
	return &Looker{env: env, table: table, keys: keys, spec: s, export: export, from: from, left: s.Kind == "left", row: make(Row, len(all))}, all, err
}

// Then sets what takes the rows.
func (o *Looker) Then(emit Emit) { o.emit = emit }

// Push implements Op.
func (o *Looker) Push(row Row, t int64) {
	var found Row
	var ok bool
	if o.table.bytes, ok = o.keys.key(o.table.bytes[:0], row); ok {
		if k := o.table.rows[string(o.table.bytes)]; k != nil {
			found, o.found = k.row, true
		}
	}
	if found == nil && !o.left {
		o.env.Filtered++
		return
	}
	n := copy(o.row, o.export(row))
	for i, k := range o.from {
		o.row[n+i] = value.Value{}
		if found != nil {
			o.row[n+i] = found[k]
		}
	}
	o.emit(o.row, t)
}

// Doubt implements Doubter.
func (o *Looker) Doubt(least int64) string {
	if o.found || o.keys.rows < least {
		return ""
	}
	if why := apart(o.spec.Left, o.spec.Right, o.keys.met, o.table.met); why != "" {
		return "No row of the lookup has found one in its table: " + why + "."
	}
	return ""
}

// Advance implements Op.
func (o *Looker) Advance(int64) {}

// Next implements Op.
func (o *Looker) Next() int64 { return math.MaxInt64 }

// Drain implements Op.
func (o *Looker) Drain() {}

// State implements Op.
func (o *Looker) State() (rows, bytes int64) { return int64(len(o.table.rows)), o.table.size }
