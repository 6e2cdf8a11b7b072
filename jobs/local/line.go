package local

import (
	"container/heap"
	"slices"
	"time"

	"cancha/jobs/queue"
)

// entry is a message in the index.
type entry struct {
	seq      uint64 // its place in the file
	priority int
	mark
}

// line is a queue in memory: its messages without their bodies, and who waits for them. The broker's mu guards it.
type line struct {
	name      string                        // never changes
	spec      queue.Spec                    // the writer alone changes it
	ready     [queue.MaxPriority + 1]heaped // by priority; the first alone where the Spec does not ask for priorities
	count     int                           // of all that are ready
	delayed   heaped
	inHand    int
	waiting   []*waiter              // in the order of asking
	consumers map[*consumer]struct{} // that are not closed
	unused    time.Time              // since when there has been none
	ending    bool                   // the writer is to remove the queue
	gone      bool                   // the queue has expired
}

// heaped is a heap of entries.
type heaped struct {
	all  []*entry
	less func(a, b *entry) bool
}

func (h *heaped) Len() int           { return len(h.all) }
func (h *heaped) Less(i, j int) bool { return h.less(h.all[i], h.all[j]) }
func (h *heaped) Swap(i, j int)      { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *heaped) Push(e any)         { h.all = append(h.all, e.(*entry)) }
func (h *heaped) Pop() any {
	last := h.all[len(h.all)-1]
	h.all[len(h.all)-1] = nil
	h.all = h.all[:len(h.all)-1]
	return last
}

func newLine(spec queue.Spec, now time.Time) *line {
	l := &line{name: spec.Name, spec: spec, consumers: map[*consumer]struct{}{}, unused: now}
	for i := range l.ready {
		l.ready[i].less = func(a, b *entry) bool { return a.seq < b.seq }
	}
	l.delayed.less = func(a, b *entry) bool { return a.due.Before(b.due) }
	return l
}

// push makes an entry ready, at its old place if it comes back.
func (l *line) push(e *entry) {
	level := 0
	if l.spec.Priorities {
		level = e.priority
	}
	heap.Push(&l.ready[level], e)
	l.count++
}

// pop takes the entry that is to be handed out next; there must be one.
func (l *line) pop() *entry {
	for i := range slices.Backward(l.ready[:]) {
		if l.ready[i].Len() > 0 {
			l.count--
			return heap.Pop(&l.ready[i]).(*entry)
		}
	}
	panic("local: pop of an empty line")
}

// surplus takes the entries out by which the queue is too long: the oldest of the lowest priority.
func (l *line) surplus() (all []*entry) {
	for i := range l.ready {
		for l.spec.MaxLength > 0 && l.count > l.spec.MaxLength && l.ready[i].Len() > 0 {
			l.count--
			all = append(all, heap.Pop(&l.ready[i]).(*entry))
		}
	}
	return all
}

// delay keeps an entry away until it is due.
func (l *line) delay(e *entry) { heap.Push(&l.delayed, e) }

// due makes those entries ready whose time has come.
func (l *line) due(now time.Time) {
	for l.delayed.Len() > 0 && !l.delayed.all[0].due.After(now) {
		e := heap.Pop(&l.delayed).(*entry)
		e.due = time.Time{}
		l.push(e)
	}
}

// worn tells whether an entry has been handed out as often as it may.
func (l *line) worn(e *entry) bool {
	return l.spec.MaxDeliveries > 0 && e.count >= l.spec.MaxDeliveries
}

// change takes another Spec.
func (l *line) change(spec queue.Spec) {
	var all []*entry
	if l.spec.Priorities != spec.Priorities {
		for l.count > 0 {
			all = append(all, l.pop())
		}
	}
	l.spec = spec
	for _, e := range all {
		l.push(e)
	}
}

// expired tells whether nobody has used the queue for as long as it says.
func (l *line) expired(now time.Time) bool {
	return l.expires() && now.Sub(l.unused) >= l.spec.Expires
}

func (l *line) expires() bool { return l.spec.Expires > 0 && len(l.consumers) == 0 }

// next is when something is to be done for the line; zero: there is nothing.
func (l *line) next() (at time.Time) {
	if l.delayed.Len() > 0 {
		at = l.delayed.all[0].due
	}
	if end := l.unused.Add(l.spec.Expires); l.expires() && !l.ending && (at.IsZero() || end.Before(at)) {
		at = end
	}
	return at
}
