package stream

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"cancha/internal/jsontext"
)

// keptBadRecords is how many bad records can be looked at; keptBadBytes how much of each.
const (
	keptBadRecords = 100
	keptBadBytes   = 64 << 10
	keptReasons    = 1000
)

// BadRecord is a record that could not be used, with the reason. It was counted and left out; of one whose elements Explode made rows of, those alone that a step
// behind it refused.
type BadRecord struct {
	Topic     string
	Partition int
	Offset    int64
	Time      time.Time // Kafka's own time stamp
	Reason    string
	Key       []byte
	Value     []byte // as it was, at most its first 64 KiB
}

// BadRecords are the bad records of a query: how many there were, for which reasons, and the newest of them.
type BadRecords struct {
	Total   int64
	Reasons []ReasonCount // the most frequent first
	Newest  []BadRecord   // at most 100, the oldest of them first
}

// ReasonCount is how often records were bad for one kind of reason, without the place in a record and the character that was found there.
type ReasonCount struct {
	Reason string
	Count  int64
}

// badRecords collects bad records of all partitions.
type badRecords struct {
	mu      sync.Mutex
	total   int64
	looked  int64 // of them, records that could be kept
	reasons map[string]int64
	newest  []BadRecord // a ring once it is full
}

func (b *badRecords) add(topic string, r *Record, reason string) {
	bad := BadRecord{Topic: topic, Partition: r.Partition, Offset: r.Offset, Time: r.Time, Reason: reason,
		Key: bytes.Clone(r.Key[:min(len(r.Key), keptBadBytes)]), Value: bytes.Clone(r.Value[:min(len(r.Value), keptBadBytes)])}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.newest) < keptBadRecords {
		b.newest = append(b.newest, bad)
	} else {
		b.newest[b.looked%keptBadRecords] = bad
	}
	b.looked++
	b.reason(reason, 1)
}

// count counts a row that an operator behind the lanes could not use: there is no record in hand to be looked at.
func (b *badRecords) count(reason string) { b.countMany(reason, 1) }

// countMany counts n of them.
func (b *badRecords) countMany(reason string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reason(reason, n)
}

// reason counts a reason by its kind, n times. The caller holds mu.
func (b *badRecords) reason(reason string, n int64) {
	b.total += n
	reason = jsontext.KindOf(reason)
	if _, known := b.reasons[reason]; !known && len(b.reasons) >= keptReasons {
		reason = "other reasons"
	}
	b.reasons[reason] += n
}

func (b *badRecords) number() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

func (b *badRecords) report() *BadRecords {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &BadRecords{Total: b.total}
	for reason, n := range b.reasons {
		r.Reasons = append(r.Reasons, ReasonCount{reason, n})
	}
	slices.SortFunc(r.Reasons, func(x, y ReasonCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Reason, y.Reason))
	})
	oldest := 0
	if len(b.newest) == keptBadRecords {
		oldest = int(b.looked % keptBadRecords)
	}
	r.Newest = append(slices.Clone(b.newest[oldest:]), b.newest[:oldest]...)
	return r
}
