package replay

import (
	"container/heap"
	"time"
)

// batch is the matches that kick off together. It gives their events out in event-time order.
type batch struct {
	heads  heads
	all    []*match
	events int
}

func newBatch(matches []*match) *batch {
	b := &batch{all: matches}
	for _, m := range matches {
		b.events += len(m.at)
		b.heads = append(b.heads, m)
	}
	heap.Init(&b.heads)
	return b
}

// pop is the next event: the i-th of a match, or nil when all are out.
func (b *batch) pop() (m *match, i int) {
	if len(b.heads) == 0 {
		return nil, 0
	}
	m = b.heads[0]
	i = m.sent
	if m.sent++; m.sent == len(m.at) {
		heap.Pop(&b.heads)
	} else {
		heap.Fix(&b.heads, 0)
	}
	return m, i
}

// latest is the time of the latest event since kick-off.
func (b *batch) latest() time.Duration {
	var latest time.Duration
	for _, m := range b.all {
		latest = max(latest, m.at[len(m.at)-1])
	}
	return latest
}

// heads orders matches by the time of their next event, then by id.
type heads []*match

func (h heads) Len() int      { return len(h) }
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h heads) Less(i, j int) bool {
	a, b := h[i].at[h[i].sent], h[j].at[h[j].sent]
	return a < b || a == b && h[i].id < h[j].id
}
func (h *heads) Push(m any) { *h = append(*h, m.(*match)) }
func (h *heads) Pop() any {
	old := *h
	m := old[len(old)-1]
	*h = old[:len(old)-1]
	return m
}
