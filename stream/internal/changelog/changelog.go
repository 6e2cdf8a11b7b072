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

// Entry is where a Log knows an item. The nil Entry, and one that is zero, belong to an item that nobody notes.
type Entry struct {
	id         uint64
	item       Item   // nil: removed
	prev, next *Entry // of those that were written, the one written longest ago first
	epoch      int64  // in which it was written last; 0: not yet
	turn       int64  // of the log, in which it changed last
	size       int32  // bytes that it took
}

// Log notes the entries of one state. The nil Log notes nothing. One goroutine at a time works with it.
//
// A snapshot is begun at once (Begin) and written bit by bit (Step), while the state goes on: an item that is about to change, and has not been written,
// is written first. So a change must be told before it is made.
type Log struct {
	last    uint64 // id of the newest entry
	turn    int64  // counts snapshots begun
	changed []change
	gone    []uint64
	ring    Entry // before the first of those that were written, and behind the last
	bytes   int64 // of those that were written

	epoch  int64    // of the snapshot that is being written; 0: none is
	dst    []byte   // its bytes so far
	begun  int      // of them were there when it was begun
	frozen []change // that it has to have, as they were when it was begun
	done   int      // of frozen
	old    *Entry   // the next that is repeated, once those are written
	lost   int64    // the oldest epoch of an entry that it has to have, and that was removed while it was written; 0: none was
	spare  []change // an empty list

	restored []*Entry // until Restored
}

// change is an entry that has changed. Its id stands beside it, so that sorting needs no entry.
type change struct {
	id    uint64
	entry *Entry
}

// New returns the log of an empty state.
func New() *Log {
	l := &Log{turn: 1}
	l.ring.prev, l.ring.next = &l.ring, &l.ring
	return l
}

// Add notes a new item.
func (l *Log) Add(item Item) *Entry {
	if l == nil {
		return nil
	}
	e := &Entry{}
	l.AddAt(e, item)
	return e
}

// AddAt is Add at an entry that the caller gives: one that lies in the item itself costs no look elsewhere in memory when the item changes.
func (l *Log) AddAt(e *Entry, item Item) {
	if l == nil {
		return
	}
	l.last++
	*e = Entry{id: l.last, item: item, turn: l.turn}
	l.changed = append(l.changed, change{e.id, e})
}

// Saved is an item as a snapshot has it.
type Saved struct {
	ID    uint64
	Epoch int64 // of the newest snapshot that has it
	Bytes []byte
}

// Restore notes an item that snapshots have told of. Restored ends the calls.
func (l *Log) Restore(s Saved, item Item) *Entry {
	e := &Entry{}
	l.RestoreAt(e, s, item)
	return e
}

// RestoreAt is Restore at an entry that the caller gives.
func (l *Log) RestoreAt(e *Entry, s Saved, item Item) {
	l.last = max(l.last, s.ID)
	*e = Entry{id: s.ID, item: item, epoch: s.Epoch, size: int32(min(len(s.Bytes), math.MaxInt32))}
	l.restored = append(l.restored, e)
}

// Restored puts the items of Restore where those are that have been written: the one written longest ago first.
func (l *Log) Restored() {
	slices.SortStableFunc(l.restored, func(a, b *Entry) int { return cmp.Compare(a.epoch, b.epoch) })
	for _, e := range l.restored {
		l.link(e)
	}
	l.restored = nil
}

// Resume tells that the ids up to last have been given: none of them is given again, also where its item is gone. Another item may still name it.
func (l *Log) Resume(last uint64) { l.last = max(l.last, last) }

// ID is what tells the entry from others of its log.
func (e *Entry) ID() uint64 { return e.id }

// Touch tells that an item is about to change.
func (l *Log) Touch(e *Entry) {
	if l != nil && e != nil && e.turn != l.turn {
		l.touch(e)
	}
}

func (l *Log) touch(e *Entry) {
	l.rescue(e)
	e.turn = l.turn
	l.changed = append(l.changed, change{e.id, e})
}

// rescue writes an item that the snapshot in hand has to have before it changes.
func (l *Log) rescue(e *Entry) {
	if l.epoch > 0 && e.turn == l.turn-1 && e.epoch != l.epoch {
		l.put(e)
	}
}

// Remove tells that an item is about to go.
func (l *Log) Remove(e *Entry) {
	if l == nil || e == nil {
		return
	}
	l.rescue(e)
	e.item = nil
	if e.epoch == 0 {
		return
	}
	if l.epoch > 0 && e.epoch < l.epoch && (l.lost == 0 || e.epoch < l.lost) {
		l.lost = e.epoch
	}
	l.unlink(e)
	l.gone = append(l.gone, e.id)
}

// Changed tells about how many entries the next snapshot will have.
func (l *Log) Changed() int { return len(l.changed) + len(l.gone) }

// What stands before an entry's id.
const (
	isPut  = 1
	isGone = 2
	isLast = 3 // the newest id that was given
)

// At least so many bytes of old entries are repeated in each snapshot, or one of repeats of them all, or half as many as have changed: it takes at most
// about repeats snapshots until all of a state has been written again, and these take at most about three times its size.
const (
	leastRepeated = 64 << 10
	repeats       = 256
)

// Begin begins the snapshot of an epoch, which appends to dst: it will have what has changed since the one before, as it is now.
func (l *Log) Begin(dst []byte, epoch int64) {
	l.epoch, l.dst, l.begun, l.done, l.old, l.lost = epoch, dst, len(dst), 0, nil, 0
	l.dst = binary.AppendUvarint(append(l.dst, isLast), l.last)
	for _, id := range l.gone {
		l.dst = binary.AppendUvarint(append(l.dst, isGone), id)
	}
	l.gone = l.gone[:0]
	l.frozen, l.changed, l.spare = l.changed, l.spare[:0], nil
	l.turn++
}

// Arrange puts what a snapshot that was begun has to have in the order in which it was made: what was made together lies together in memory, as a rule, and
// is read several times as fast as what is scattered. It may be called while the state goes on, before the first Step; nothing depends on it.
func (l *Log) Arrange() {
	slices.SortFunc(l.frozen, func(a, b change) int { return cmp.Compare(a.id, b.id) })
}

// Step writes some more of a snapshot that was begun, n items at most, and tells whether there is more to be written.
func (l *Log) Step(n int) (more bool) {
	for ; n > 0 && l.done < len(l.frozen); n-- {
		e := l.frozen[l.done].entry
		l.frozen[l.done].entry = nil
		if l.done++; e.item != nil && e.epoch != l.epoch {
			l.put(e)
		}
	}
	if l.done < len(l.frozen) {
		return true
	}
	return l.repeat(n)
}

// repeat writes some of what was written longest ago, and has not changed since the snapshot was begun: what has, the next one will have.
func (l *Log) repeat(n int) (more bool) {
	if l.old == nil {
		l.old = l.ring.next
		l.begun = len(l.dst) + max(leastRepeated, (len(l.dst)-l.begun)/2, int(l.bytes/repeats))
	}
	for ; l.old != &l.ring && l.old.epoch < l.epoch && len(l.dst) < l.begun; n-- {
		if n == 0 {
			return true
		}
		e := l.old
		if l.old = e.next; e.turn != l.turn {
			l.put(e)
		}
	}
	return false
}

// End ends a snapshot of which nothing is left to be written, and returns its bytes.
func (l *Log) End() []byte {
	dst := l.dst
	l.epoch, l.dst, l.old = 0, nil, nil
	l.spare, l.frozen = l.frozen[:0], nil
	return dst
}

// Write is a snapshot as a whole.
func (l *Log) Write(dst []byte, epoch int64) []byte {
	l.Begin(dst, epoch)
	for l.Step(math.MaxInt) {
	}
	return l.End()
}

func (l *Log) put(e *Entry) {
	if e.epoch > 0 {
		l.unlink(e)
	}
	dst := binary.AppendUvarint(append(l.dst, isPut), e.id)
	at := len(dst)
	dst = e.item.Append(append(dst, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	e.size, e.epoch = int32(min(len(dst)-at, math.MaxInt32)), l.epoch
	l.link(e)
	l.dst = dst
}

// link puts an entry behind those that have been written.
func (l *Log) link(e *Entry) {
	e.prev, e.next = l.ring.prev, &l.ring
	e.prev.next, l.ring.prev = e, e
	l.bytes += int64(e.size)
}

// unlink takes an entry out of those that have been written.
func (l *Log) unlink(e *Entry) {
	if e == l.old {
		l.old = e.next
	}
	e.prev.next, e.next.prev = e.next, e.prev
	l.bytes -= int64(e.size)
}

// Oldest is the first epoch whose snapshot is needed by that of epoch, which was the last to be written: what has been removed since it was begun
// counts, since it was there.
func (l *Log) Oldest(epoch int64) int64 {
	if e := l.ring.next; e != &l.ring {
		epoch = min(epoch, e.epoch)
	}
	if l.lost > 0 {
		epoch = min(epoch, l.lost)
	}
	return epoch
}

// Reader takes what Write has appended, in order.
type Reader struct {
	Put  func(id uint64, item []byte)
	Gone func(id uint64)
	Last func(id uint64) // the newest id that was given by then
}

// Read calls the functions of a Reader. It returns false where the bytes are not what Write has appended, and stops there.
func Read(b []byte, r Reader) bool {
	for len(b) > 0 {
		id, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return false
		}
		kind, rest := b[0], b[1+n:]
		switch kind {
		case isGone:
			r.Gone(id)
		case isLast:
			r.Last(id)
		case isPut:
			item, behind, ok := sized(rest)
			if !ok {
				return false
			}
			r.Put(id, item)
			rest = behind
		default:
			return false
		}
		b = rest
	}
	return true
}

// sized reads the bytes of an item, which their length stands before.
func sized(b []byte) (item, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	size := uint64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; size > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:size], b[size:], true
}
