package flow

import (
	"fmt"

	"cancha/stream/internal/changelog"
)

// Kept is a state that snapshots can hold: a head, which is small and written each time, and items, of which those that have changed are.
type Kept interface {
	// Keep has changes noted from now on: before the first row.
	Keep()
	// Log notes the items; nil before Keep.
	Log() *changelog.Log
	Head(dst []byte) []byte
	// Load takes what Head and the items have written, in the order of their ids, into a state without rows, after Keep.
	Load(head []byte, items []changelog.Saved) error
}

// load gives each item of a snapshot to take, which tells which of its own it is; what is wrong with its bytes, it tells by those.
func load(l *changelog.Log, head []byte, heads func(b *changelog.Bytes), items []changelog.Saved, take func(b *changelog.Bytes, s changelog.Saved)) error {
	b := changelog.BytesOf(head)
	if heads(b); !b.Ok() {
		return fmt.Errorf("the head of its state, %d bytes, is not one", len(head))
	}
	for _, s := range items {
		b := changelog.BytesOf(s.Bytes)
		if take(b, s); !b.Ok() {
			return fmt.Errorf("item %d of its state, %d bytes, is not one", s.ID, len(s.Bytes))
		}
	}
	l.Restored()
	return nil
}

// Append appends how far the clock has come.
func (c *Clock) Append(dst []byte) []byte {
	return changelog.AppendInt(changelog.AppendInt(dst, c.Watermark), int64(c.ahead))
}

// Load reads what Append has written.
func (c *Clock) Load(b *changelog.Bytes) { c.Watermark, c.ahead = b.Int(), int(b.Int()) }

// Keep implements Kept.
func (w *Windows) Keep() { w.log = changelog.New() }

// Log implements Kept.
func (w *Windows) Log() *changelog.Log { return w.log }

// Head implements Kept.
func (w *Windows) Head(dst []byte) []byte {
	return changelog.AppendInt(changelog.AppendInt(dst, w.closed), w.epoch)
}

func (w *Windows) loadHead(b *changelog.Bytes) { w.closed, w.epoch = b.Int(), b.Int() }

// Load implements Kept.
func (w *Windows) Load(head []byte, items []changelog.Saved) error {
	return load(w.log, head, w.loadHead, items, w.loadGroup)
}

// Append implements changelog.Item.
func (g *Group) Append(dst []byte) []byte {
	dst = changelog.AppendInt(changelog.AppendInt(dst, g.window.Start), g.window.end-g.window.Start)
	return g.append(changelog.AppendInt(dst, g.epoch))
}

// append appends what sessions have too.
func (g *Group) append(dst []byte) []byte {
	dst = changelog.AppendInt(changelog.AppendInt(dst, g.rows), g.last)
	return g.cell.Append(changelog.AppendRow(dst, g.keys))
}

// group reads what append has written.
func (g *Grouping) group(b *changelog.Bytes) *Group {
	rows, last := b.Int(), b.Int()
	keys := b.Row(len(g.keys))
	return &Group{key: string(keyBytes(keys)), keys: keys, cell: g.set.Load(b), rows: rows, last: last}
}

func keyBytes(keys Row) (key []byte) {
	for _, k := range keys {
		key = k.AppendKey(key)
	}
	return key
}

func (w *Windows) loadGroup(b *changelog.Bytes, s changelog.Saved) {
	start := b.Int()
	end, changed := start+b.Int(), b.Int()
	g := w.group(b)
	if !b.Ok() {
		return
	}
	g.window = w.windowAt(start, end)
	g.epoch, g.window.epoch = changed, max(g.window.epoch, changed)
	g.promised = w.lasts(end, g.last)
	if w.claim != nil {
		w.claim(g.keys, g.promised) // gives no reason: it was asked when the group was made
	}
	w.know(g)
	if g.rows > 0 {
		w.Rows++
	}
	w.log.RestoreAt(&g.entry, s, g)
}

// Head implements Kept.
func (g *Groups) Head(dst []byte) []byte {
	return changelog.AppendInt(g.Windows.Head(dst), g.watermark)
}

// Load implements Kept.
func (g *Groups) Load(head []byte, items []changelog.Saved) error {
	return load(g.log, head, func(b *changelog.Bytes) { g.loadHead(b); g.watermark = b.Int() }, items, g.loadGroup)
}

// Keep implements Kept.
func (s *Sessions) Keep() { s.log = changelog.New() }

// Log implements Kept.
func (s *Sessions) Log() *changelog.Log { return s.log }

// Head implements Kept.
func (s *Sessions) Head(dst []byte) []byte { return changelog.AppendInt(dst, s.watermark) }

// Append implements changelog.Item.
func (one *session) Append(dst []byte) []byte {
	return one.group.append(changelog.AppendInt(changelog.AppendInt(dst, one.start), one.end))
}

// Load implements Kept.
func (s *Sessions) Load(head []byte, items []changelog.Saved) error {
	return load(s.log, head, func(b *changelog.Bytes) { s.watermark = b.Int() }, items, func(b *changelog.Bytes, saved changelog.Saved) {
		one := &session{start: b.Int(), end: b.Int()}
		if one.group = s.group(b); !b.Ok() {
			return
		}
		one.entry = s.log.Restore(saved, one)
		s.byKey[one.group.key] = append(s.byKey[one.group.key], one)
		s.ends.put(one.end, one)
		s.rows++
		s.size += one.bytes()
	})
}

// seen is a key that a Deduplicator knows, and until when.
type seen struct {
	key string
	end int64
}

// Append implements changelog.Item.
func (k *seen) Append(dst []byte) []byte {
	return changelog.AppendInt(changelog.AppendText(dst, k.key), k.end)
}

// note notes a new key, where anything is noted.
func (d *Deduplicator) note(key string, end int64) *changelog.Entry {
	if d.log == nil {
		return nil
	}
	return d.log.Add(&seen{key, end})
}

// know keeps a key.
func (d *Deduplicator) know(key string, end int64, e *changelog.Entry) {
	d.seen[key] = met{end, e}
	d.size += int64(len(key)) + metBytes
	d.ends.put(end, key)
}

// Keep implements Kept.
func (d *Deduplicator) Keep() { d.log = changelog.New() }

// Log implements Kept.
func (d *Deduplicator) Log() *changelog.Log { return d.log }

// Head implements Kept.
func (d *Deduplicator) Head(dst []byte) []byte { return changelog.AppendInt(dst, d.watermark) }

// Load implements Kept.
func (d *Deduplicator) Load(head []byte, items []changelog.Saved) error {
	return load(d.log, head, func(b *changelog.Bytes) { d.watermark = b.Int() }, items, func(b *changelog.Bytes, s changelog.Saved) {
		k := &seen{b.Text(), b.Int()}
		d.know(k.key, k.end, d.log.Restore(s, k))
	})
}

// Keep implements Kept.
func (j *Joiner) Keep() { j.log = changelog.New() }

// Log implements Kept.
func (j *Joiner) Log() *changelog.Log { return j.log }

// Head implements Kept.
func (j *Joiner) Head(dst []byte) []byte { return changelog.AppendInt(dst, j.watermark) }

// Append implements changelog.Item.
func (w *waiting) Append(dst []byte) []byte {
	dst = changelog.AppendInt(append(dst, w.side), w.t)
	dst = changelog.AppendBool(changelog.AppendBool(dst, w.matched), w.of != nil)
	if w.of != nil {
		dst = changelog.AppendText(dst, w.of.key[:len(w.of.key)-spanBytes])
	}
	return changelog.AppendRow(dst, w.row)
}

// Load implements Kept.
func (j *Joiner) Load(head []byte, items []changelog.Saved) error {
	return load(j.log, head, func(b *changelog.Bytes) { j.watermark = b.Int() }, items, func(b *changelog.Bytes, s changelog.Saved) {
		w := &waiting{}
		if b.Bool() {
			w.side = 1
		}
		w.t, w.matched = b.Int(), b.Bool()
		if b.Bool() {
			j.bytes = append(j.bytes[:0], b.Text()...)
			w.of = j.partnersOf(w.t)
			w.of.add(int(w.side), w)
		}
		w.row = b.Row(j.width(w.side))
		j.wait(w)
		w.entry = j.log.Restore(s, w)
	})
}

// width is how many values the rows of a side have that wait: those of the right have room for the left's in front.
func (j *Joiner) width(side uint8) int {
	if side == 0 {
		return j.sides[0].width
	}
	return len(j.row)
}

// Keep implements Kept.
func (t *Table) Keep() { t.log = changelog.New() }

// Log implements Kept.
func (t *Table) Log() *changelog.Log { return t.log }

// Head implements Kept.
func (t *Table) Head(dst []byte) []byte { return dst }

// Append implements changelog.Item.
func (k *kept) Append(dst []byte) []byte { return changelog.AppendRow(dst, k.row) }

// Load implements Kept.
func (t *Table) Load(head []byte, items []changelog.Saved) error {
	return load(t.log, head, func(*changelog.Bytes) {}, items, func(b *changelog.Bytes, s changelog.Saved) {
		row := b.Row(len(t.Columns))
		if !b.Ok() {
			return
		}
		t.bytes = t.bytes[:0]
		for _, k := range t.keys {
			t.bytes = row[k].AppendKey(t.bytes)
		}
		t.meet(row)
		k := &kept{row: row}
		k.entry = t.log.Restore(s, k)
		t.rows[string(t.bytes)] = k
		t.size += sizeOf(row) + int64(len(t.bytes)) + 60
	})
}

// Keep implements Kept.
func (o *Tops) Keep() { o.log = changelog.New() }

// Log implements Kept.
func (o *Tops) Log() *changelog.Log { return o.log }

// Head implements Kept.
func (o *Tops) Head(dst []byte) []byte { return changelog.AppendInt(dst, o.watermark) }

// Append implements changelog.Item.
func (g *ranking) Append(dst []byte) []byte {
	dst = changelog.AppendText(changelog.AppendInt(dst, g.t), g.key)
	dst = changelog.AppendCount(dst, len(g.rows))
	for _, r := range g.rows {
		dst = changelog.AppendRow(r.by.AppendBinary(dst), r.row)
	}
	return dst
}

// Load implements Kept.
func (o *Tops) Load(head []byte, items []changelog.Saved) error {
	return load(o.log, head, func(b *changelog.Bytes) { o.watermark = b.Int() }, items, func(b *changelog.Bytes, s changelog.Saved) {
		g := &ranking{t: b.Int(), key: b.Text()}
		for range b.Count() {
			r := ranked{by: b.Value(), row: b.Row(-1)}
			g.rows = append(g.rows, r)
			o.rows++
			o.size += sizeOf(r.row)
		}
		g.entry = o.log.Restore(s, g)
		o.know(g)
	})
}

// Keep implements Kept.
func (p *Processor) Keep() { p.log = changelog.New() }

// Log implements Kept.
func (p *Processor) Log() *changelog.Log { return p.log }

// Head implements Kept.
func (p *Processor) Head(dst []byte) []byte {
	return changelog.AppendInt(changelog.AppendInt(dst, p.watermark), p.latest)
}

// processed is a key of a process as an item.
type processed struct {
	*keyed
	p *Processor
}

func (p *Processor) item(k *keyed) changelog.Item { return processed{k, p} }

// What a process has as items.
const (
	isKey   = 0
	isTimer = 1
	isClock = 2
)

// Append implements changelog.Item.
func (k processed) Append(dst []byte) []byte {
	dst = changelog.AppendRow(append(dst, isKey), k.key)
	dst = changelog.AppendInt(changelog.AppendInt(dst, k.seen), k.until)
	state, err := k.p.f.Save(k.state)
	if err != nil {
		k.p.env.fail(err)
	}
	return changelog.AppendText(dst, string(state))
}

// Append implements changelog.Item.
func (t *timer) Append(dst []byte) []byte {
	kind := byte(isTimer)
	if t.clock {
		kind = isClock
	}
	return changelog.AppendInt(changelog.AppendCount(append(dst, kind), int(t.key.entry.ID())), t.at)
}

// Load implements Kept. A timer comes behind its key, which is older. A key that was forgotten leaves timers behind that call nothing: they do not call
// one that has come in its place.
func (p *Processor) Load(head []byte, items []changelog.Saved) error {
	var failed error
	keys := map[uint64]*keyed{}
	err := load(p.log, head, func(b *changelog.Bytes) { p.watermark, p.latest = b.Int(), b.Int() }, items, func(b *changelog.Bytes, s changelog.Saved) {
		switch kind := b.Kind(); kind {
		case isKey:
			k, err := p.loadKey(b, s)
			if failed == nil {
				failed = err
			}
			keys[s.ID] = k
		case isTimer, isClock:
			t := timer{clock: kind == isClock, key: keys[b.ID()]}
			if t.at = b.Int(); t.key != nil {
				t.entry = p.log.Restore(s, &timer{at: t.at, clock: t.clock, key: t.key})
				p.wait(t)
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

func (p *Processor) loadKey(b *changelog.Bytes, s changelog.Saved) (*keyed, error) {
	k := &keyed{key: b.Row(len(p.keys)), seen: b.Int(), until: b.Int(), come: NoWatermark}
	k.name = string(keyBytes(k.key))
	state := b.Text()
	if !b.Ok() {
		return nil, nil // as load sees
	}
	var err error
	if k.state, err = p.f.Load(p.f.State(k.key), []byte(state)); err != nil {
		return nil, fmt.Errorf("the state of key %v: %w", k.key, err)
	}
	k.entry = p.log.Restore(s, p.item(k))
	p.states[k.name] = k
	if p.ttl > 0 {
		p.ends.put(later(k.seen, p.ttl), k)
	}
	return k, nil
}
