package stream

import (
	"slices"

	"cancha/stream/internal/changelog"
)

// results keeps the newest rows of a query.
type results struct {
	keep     int
	identity []int // in update mode, the columns that tell rows apart
	rows     [][]Value
	total    int64
	at       map[string]int

	log    *changelog.Log // nil: there is no checkpoint
	shown  []*shownRow    // of each row, where they replace each other
	blocks []*block       // of all rows but the newest, where they do not
	packed int            // rows of the blocks that are still here
}

// block is rows that came one after another, as an item of a snapshot: rows that never change need no item each.
type block struct {
	rows  [][]Value
	entry *changelog.Entry
}

// shownRow is a row that others of the same identity replace, as an item of a snapshot.
type shownRow struct {
	row   []Value
	entry *changelog.Entry
}

// put takes rows in: as new ones, or in place of what was known of them.
func (r *results) put(rows [][]Value) {
	if r.at == nil {
		r.total += int64(len(rows))
		r.rows = append(r.rows, rows[max(0, len(rows)-r.keep):]...)
		r.trim()
		return
	}
	for _, row := range rows {
		key := r.key(row)
		if i, known := r.at[key]; known {
			r.rows[i] = row
			if r.log != nil {
				r.log.Touch(r.shown[i].entry)
				r.shown[i].row = row
			}
			continue
		}
		r.add(key, row)
		if r.log != nil {
			s := &shownRow{row: row}
			s.entry = r.log.Add(s)
			r.shown = append(r.shown, s)
		}
		r.total++
	}
	r.trim()
}

func (r *results) key(row []Value) string {
	var key []byte
	for _, i := range r.identity {
		key = row[i].AppendKey(key)
	}
	return string(key)
}

func (r *results) add(key string, row []Value) {
	r.at[key] = len(r.rows)
	r.rows = append(r.rows, row)
}

// trim forgets the oldest rows once there are a quarter too many, so that the copying costs little a row.
func (r *results) trim() {
	over := len(r.rows) - r.keep
	if over <= r.keep/4 {
		return
	}
	r.rows = slices.Delete(r.rows, 0, over)
	r.unpack(over)
	for key, i := range r.at {
		if i < over {
			delete(r.at, key)
			continue
		}
		r.at[key] = i - over
	}
}

// unpack notes that the oldest rows are no more. A block goes with its last row.
func (r *results) unpack(over int) {
	if r.log == nil {
		return
	}
	if r.at != nil {
		for _, s := range r.shown[:over] {
			r.log.Remove(s.entry)
		}
		r.shown = slices.Delete(r.shown, 0, over)
		return
	}
	r.packed = max(0, r.packed-over)
	held := 0
	for _, b := range r.blocks {
		held += len(b.rows)
	}
	for len(r.blocks) > 0 && held-len(r.blocks[0].rows) >= r.packed {
		held -= len(r.blocks[0].rows)
		r.log.Remove(r.blocks[0].entry)
		r.blocks = r.blocks[1:]
	}
}

func (r *results) newest() [][]Value {
	return slices.Clone(r.rows[max(0, len(r.rows)-r.keep):])
}

// Keep implements flow.Kept.
func (r *results) Keep() { r.log = changelog.New() }

// Log implements flow.Kept. The rows that came since the call before become a block.
func (r *results) Log() *changelog.Log {
	if fresh := r.rows[min(r.packed, len(r.rows)):]; r.at == nil && len(fresh) > 0 {
		b := &block{rows: slices.Clone(fresh)}
		b.entry = r.log.Add(b)
		r.blocks = append(r.blocks, b)
		r.packed = len(r.rows)
	}
	return r.log
}

// Head implements flow.Kept.
func (r *results) Head(dst []byte) []byte { return changelog.AppendInt(dst, r.total) }

// Append implements changelog.Item.
func (b *block) Append(dst []byte) []byte { return appendRows(dst, b.rows) }

func appendRows(dst []byte, rows [][]Value) []byte {
	dst = changelog.AppendCount(dst, len(rows))
	for _, row := range rows {
		dst = changelog.AppendRow(dst, row)
	}
	return dst
}

// readRows reads what appendRows has written: rows of so many columns.
func readRows(b *changelog.Bytes, width int) [][]Value {
	rows := make([][]Value, 0, b.Count())
	for range cap(rows) {
		rows = append(rows, b.Row(width))
	}
	return rows
}

// Append implements changelog.Item.
func (s *shownRow) Append(dst []byte) []byte { return changelog.AppendRow(dst, s.row) }

// load reads the results of an earlier run, whose rows have so many columns; false where the bytes are no such rows.
func (r *results) load(head []byte, items []changelog.Saved, width int) bool {
	b := changelog.BytesOf(head)
	if r.total = b.Int(); !b.Ok() {
		return false
	}
	for _, item := range items {
		b := changelog.BytesOf(item.Bytes)
		if r.at != nil {
			s := &shownRow{row: b.Row(width)}
			if !b.Ok() {
				return false
			}
			s.entry = r.log.Restore(item, s)
			r.shown = append(r.shown, s)
			r.add(r.key(s.row), s.row)
			continue
		}
		one := &block{rows: readRows(b, width)}
		if !b.Ok() {
			return false
		}
		one.entry = r.log.Restore(item, one)
		r.blocks = append(r.blocks, one)
		r.rows = append(r.rows, one.rows...)
		r.packed = len(r.rows)
	}
	r.log.Restored()
	r.trim()
	return true
}
