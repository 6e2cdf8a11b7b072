package stream

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"cancha/stream/internal/changelog"
	"cancha/stream/internal/flow"
)

// owners knows from which partition of an input each value of the path comes by which its records are promised to be keyed. It is asked once for a group and
// window; for a group without one, once in its time to live.
//
// After a restart the groups that are open claim their keys anew. A key whose groups are over stays known until all partitions have passed them: where there is a
// checkpoint it is an item of its partition's snapshots until then. As a rule that is soon, so what is over waits for the next snapshot (left): an item for each
// group would cost a query of many short windows a fifth.
type owners struct {
	mu   sync.Mutex
	of   map[string]owner // made when the first is known
	next int64            // no key is forgotten before; where there are keys
	key  int              // which of a group's keys it is
	left []left
	logs map[Partition]*changelog.Log
}

// left are groups of a partition that are over, and of which no snapshot knows.
type left struct {
	partition Partition
	claims    []flow.Claim
	until     int64 // of the longest of them
}

type owner struct {
	partition Partition
	until     int64            // event time from which on none of its groups is there
	entry     *changelog.Entry // nil: a group that lasts as long is open, or there is no checkpoint
}

// claim notes that a key comes from a partition up to an event time; the reason says that it comes from another one.
func (o *owners) claim(in *input, partition Partition, key string, end int64) (reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, known := o.of[key]
	if known && first.partition != partition {
		if first.partition.Topic != partition.Topic {
			return fmt.Sprintf("a group comes from topics %s and %s: leave out KeyedBy", first.partition.Topic, partition.Topic)
		}
		return fmt.Sprintf("a group comes from partitions %d and %d: key records by %s, or leave out KeyedBy", first.partition.ID, partition.ID,
			in.query.keyedBy)
	}
	switch {
	case !known:
		o.know(key, owner{partition: partition, until: end})
	case end > first.until:
		o.logs[partition].Touch(first.entry)
		o.know(key, owner{partition, end, first.entry})
	}
	return ""
}

// know keeps what is known of a key.
func (o *owners) know(key string, is owner) {
	if o.of == nil {
		o.of = map[string]owner{}
	}
	if len(o.of) == 0 || is.until < o.next {
		o.next = is.until
	}
	o.of[key] = is
}

// leave tells that groups are over.
func (o *owners) leave(partition Partition, claims []flow.Claim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	until := claims[0].Until
	for _, c := range claims[1:] {
		until = max(until, c.Until)
	}
	o.left = append(o.left, left{partition, claims, until})
}

// note has the next snapshot of a partition know the keys of its groups that are over, where no group that is open tells as much.
func (o *owners) note(partition Partition) {
	var key []byte
	for _, l := range o.left {
		if l.partition != partition {
			continue
		}
		for _, c := range l.claims {
			key = c.Keys[o.key].AppendKey(key[:0])
			if is, known := o.of[string(key)]; known && is.partition == partition && is.until <= c.Until && is.entry == nil {
				is.entry = o.logs[partition].Add(ownedKey{o, string(key)})
				o.of[string(key)] = is
			}
		}
	}
	o.left = slices.DeleteFunc(o.left, func(l left) bool { return l.partition == partition })
}

// expire forgets the keys all of whose groups a watermark has passed.
func (o *owners) expire(watermark int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = slices.DeleteFunc(o.left, func(l left) bool { return l.until <= watermark })
	if watermark < o.next {
		return // all keys would be looked at many times a second
	}
	o.next = math.MaxInt64
	for key, each := range o.of {
		if each.until <= watermark {
			o.logs[each.partition].Remove(each.entry)
			delete(o.of, key)
			continue
		}
		o.next = min(o.next, each.until)
	}
}

// ownedKey is a key without an open group, as an item of a snapshot.
type ownedKey struct {
	o   *owners
	key string
}

// Append implements changelog.Item.
func (k ownedKey) Append(dst []byte) []byte {
	return changelog.AppendInt(changelog.AppendText(dst, k.key), k.o.of[k.key].until)
}

// owned is what snapshots have of a partition's keys.
type owned struct {
	*owners
	partition Partition
}

// Keep implements flow.Kept. What was known of the partition is forgotten: it may have been another process's since.
func (o owned) Keep() {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.of, func(_ string, is owner) bool { return is.partition == o.partition })
	o.left = slices.DeleteFunc(o.left, func(l left) bool { return l.partition == o.partition })
	if o.logs == nil {
		o.logs = map[Partition]*changelog.Log{}
	}
	o.logs[o.partition] = changelog.New()
}

// Log implements flow.Kept.
func (o owned) Log() *changelog.Log {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(o.partition)
	return o.logs[o.partition]
}

// Head implements flow.Kept.
func (o owned) Head(dst []byte) []byte { return dst }

// Load implements flow.Kept, behind the lane's windows, whose open groups have claimed their keys.
func (o owned) Load(head []byte, items []changelog.Saved) error {
	if len(head) > 0 {
		return errState
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	log := o.logs[o.partition]
	for _, item := range items {
		b := changelog.BytesOf(item.Bytes)
		key, until := b.Text(), b.Int()
		if !b.Ok() {
			return errState
		}
		if is, known := o.of[key]; !known || is.partition == o.partition && is.until <= until {
			o.know(key, owner{o.partition, until, log.Restore(item, ownedKey{o.owners, key})})
		}
	}
	log.Restored()
	return nil
}
