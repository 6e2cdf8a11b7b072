// Package changelog notes what changes in the state of an operator, so that a snapshot holds what has changed since the one before, and not all of
// the state. It knows entries and bytes; what they mean is the operator's business, and where snapshots lie is package checkpoint's.
//
// Each snapshot also repeats some of the entries that were written longest ago. So every entry that lives stands in one of the newest snapshots, from
// Oldest on, and what is older can go: nothing has ever to be merged, and no pause is as long as all of the state.
package changelog

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Item is an entry of a state. Append writes all that is needed to make it again.
type Item interface{ Append(dst []byte) []byte }

// Entry is where a Log knows an item. The nil Entry belongs to an item that nobody notes.
type Entry struct {
	id         uint64
	item       Item   // nil: removed
	prev, next *Entry // of those that were written, the one written longest ago first
	epoch      int64  // in which it was written last; 0: not yet
	size       int32  // bytes that it took
	changed    bool   // since then
}

// Log notes the entries of one state. The nil Log notes nothing. One goroutine at a time works with it.
type Log struct {
	last    uint64 // id of the newest entry
	changed []*Entry
	gone    []uint64
	ring    Entry // before the first of those that were written, and behind the last
	bytes   int64 // of those that were written

	restored []*Entry // until Restored
}

// New returns the log of an empty state.
func New() *Log {
	l := &Log{}
	l.ring.prev, l.ring.next = &l.ring, &l.ring
	return l
}

// Add notes a new item.
func (l *Log) Add(item Item) *Entry {
	if l == nil {
		return nil
	}
	l.last++
	e := &Entry{id: l.last, item: item, changed: true}
	l.changed = append(l.changed, e)
	return e
}

// Saved is an item as a snapshot has it.
type Saved struct {
	ID    uint64
	Epoch int64 // of the newest snapshot that has it
	Bytes []byte
}

// Restore notes an item that snapshots have told of. Restored ends the calls.
func (l *Log) Restore(s Saved, item Item) *Entry {
	l.last = max(l.last, s.ID)
	e := &Entry{id: s.ID, item: item, epoch: s.Epoch, size: int32(min(len(s.Bytes), math.MaxInt32))}
	l.restored = append(l.restored, e)
	return e
}

// Restored puts the items of Restore where those are that have been written: the one written longest ago first.
func (l *Log) Restored() {
	slices.SortStableFunc(l.restored, func(a, b *Entry) int { return cmp.Compare(a.epoch, b.epoch) })
	for _, e := range l.restored {
		l.link(e)
	}
	l.restored = nil
}

// ID is what tells the entry from others of its log.
func (e *Entry) ID() uint64 { return e.id }

// Touch notes that an item has changed.
func (l *Log) Touch(e *Entry) {
	if e != nil && !e.changed {
		e.changed = true
		l.changed = append(l.changed, e)
	}
}

// Remove notes that an item is no more.
func (l *Log) Remove(e *Entry) {
	if e == nil {
		return
	}
	e.item = nil
	if e.epoch == 0 {
		return
	}
	l.unlink(e)
	l.gone = append(l.gone, e.id)
}

// Changed tells whether there is something to be written, and about how much.
func (l *Log) Changed() int { return len(l.changed) + len(l.gone) }

// What stands before an entry's id.
const (
	isPut  = 1
	isGone = 2
)

// At least so many bytes of old entries are repeated in each snapshot, or one of repeats of them all: it takes at most about repeats snapshots until
// all of a state has been written again.
const (
	leastRepeated = 64 << 10
	repeats       = 128
)

// Write appends what has changed since the call before, and as much of what was written longest ago.
func (l *Log) Write(dst []byte, epoch int64) []byte {
	from := len(dst)
	for _, id := range l.gone {
		dst = binary.AppendUvarint(append(dst, isGone), id)
	}
	for _, e := range l.changed {
		if e.item != nil {
			dst = l.put(dst, e, epoch)
		}
	}
	clear(l.changed)
	l.changed, l.gone = l.changed[:0], l.gone[:0]
	most := len(dst) + max(leastRepeated, len(dst)-from, int(l.bytes/repeats))
	for e := l.ring.next; e != &l.ring && e.epoch < epoch && len(dst) < most; e = l.ring.next {
		dst = l.put(dst, e, epoch)
	}
	return dst
}

func (l *Log) put(dst []byte, e *Entry, epoch int64) []byte {
	if e.epoch > 0 {
		l.unlink(e)
	}
	dst = binary.AppendUvarint(append(dst, isPut), e.id)
	at := len(dst)
	dst = e.item.Append(append(dst, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	e.size, e.epoch, e.changed = int32(min(len(dst)-at, math.MaxInt32)), epoch, false
	l.link(e)
	return dst
}

// link puts an entry behind those that have been written.
func (l *Log) link(e *Entry) {
	e.prev, e.next = l.ring.prev, &l.ring
	e.prev.next, l.ring.prev = e, e
	l.bytes += int64(e.size)
}

func (l *Log) unlink(e *Entry) {
	e.prev.next, e.next.prev = e.next, e.prev
	l.bytes -= int64(e.size)
}

// Oldest is the first epoch whose snapshot is still needed after that of epoch, which was the last to be written.
func (l *Log) Oldest(epoch int64) int64 {
	if e := l.ring.next; e != &l.ring {
		return e.epoch
	}
	return epoch
}

// Read calls put and gone for the entries of what Write has appended, in order. It returns false where the bytes are no such entries, and stops there.
func Read(b []byte, put func(id uint64, item []byte), removed func(id uint64)) bool {
	for len(b) > 0 {
		id, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return false
		}
		kind, rest := b[0], b[1+n:]
		switch {
		case kind == isGone:
			removed(id)
			b = rest
			continue
		case kind != isPut || len(rest) < 4:
			return false
		}
		size := uint64(binary.LittleEndian.Uint32(rest))
		if size > uint64(len(rest)-4) {
			return false
		}
		put(id, rest[4:4+size])
		b = rest[4+size:]
	}
	return true
}
