package stream

import (
	"sync"

	"cancha/stream/checkpoint"
)

// elsewhere is what other processes of a group have read of the MaxRecords of this one: how many records count, by the partitions that they have, as their
// newest snapshots say.
type elsewhere struct {
	mu     sync.Mutex
	counts map[Partition]int64
}

// meet counts a partition that others have from now on, if it did not.
func (e *elsewhere) meet(p Partition) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.counts[p]; !known {
		e.set(p, 0)
	}
}

// leave takes a partition that others have now with what this process has counted of it, and returns what had been counted elsewhere.
func (e *elsewhere) leave(p Partition, count int64) (before int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before = e.counts[p]
	e.set(p, count)
	return before
}

// set notes a count; the caller holds mu.
func (e *elsewhere) set(p Partition, count int64) {
	if e.counts == nil {
		e.counts = map[Partition]int64{}
	}
	e.counts[p] = count
}

// come takes a partition that is this process's again, and returns how many records had been counted.
func (e *elsewhere) come(p Partition) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	count := e.counts[p]
	delete(e.counts, p)
	return count
}

// others are the partitions that others have.
func (e *elsewhere) others() (of []Partition) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for p := range e.counts {
		of = append(of, p)
	}
	return of
}

// learn notes how many records of a partition count now, and returns how many more those are; 0 where it has come back meanwhile.
func (e *elsewhere) learn(p Partition, count int64) (more int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, still := e.counts[p]
	if !still {
		return 0
	}
	e.counts[p] = count
	return count - before
}

// countElsewhere ends a query whose MaxRecords the processes of its group have read together. What others read, this one sees in their snapshots: it asks
// once an epoch. A snapshot that cannot be read now is asked for again.
func (k *keeper) countElsewhere() {
	if !k.shared || !k.r.limited {
		return
	}
	for _, p := range k.r.elsewhere.others() {
		h, err := k.header(unitName(p))
		if err != nil || h.Reached { // that one has come to the end of its own, and counts no more: what was known of it still counts
			continue
		}
		k.r.remaining.Add(-k.r.elsewhere.learn(p, h.Portion))
	}
	if k.r.remaining.Load() <= 0 {
		k.r.cancel()
	}
}

// header is that of the newest snapshot of a unit; the zero header where there is none.
func (k *keeper) header(unit string) (h checkpoint.Header, err error) {
	defer k.placed(&err)
	epochs, err := k.place.List(k.r.ctx, unit)
	if err != nil || len(epochs) == 0 {
		return h, err
	}
	written, err := k.place.Read(k.r.ctx, unit, epochs[len(epochs)-1])
	if err != nil {
		return h, err
	}
	s, err := checkpoint.Decode(written)
	if err != nil {
		return h, err
	}
	return s.Header, nil
}
