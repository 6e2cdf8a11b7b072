package stream

import (
	"context"
	"sync"
	"time"

	"cancha/stream/internal/flow"
)

// Aligner is a Handler that holds partitions back which are far ahead of others in event time (see Query.MaxDrift). A source that reads its partitions side by
// side calls Align before each batch with records of a partition: it returns when the partition may go on, or ctx ends, which ends as soon as the partition is
// to be another's. One that reads them one after another must not call it: the partition that is waited for would not be read.
type Aligner interface {
	Align(ctx context.Context, p Partition)
}

// DefaultMaxDrift is how far ahead of others a partition is read.
const DefaultMaxDrift = 10 * time.Second

// MaxDrift says how far the event time of a partition may be ahead of the one that is furthest behind, of all that the query reads together: 10 s unless set,
// 0 is any distance. One that is further ahead is not read until the others have come closer, as in Flink's watermark alignment: what partitions hold of
// years is read as it came in time, and what the query keeps of it meanwhile stays small.
//
// A partition holds others back while it has records that have not been read, or its broker is away. One that has been read to its end, is idle or has ended
// does not. Members of a group align what each of them reads. Where partitions have nothing to do with each other, because each closes its own windows (KeyedBy)
// and no step has a memory of all, none waits. A source that reads its partitions one after another, as files do where there are more than processors, cannot
// wait: its partitions are held back for a moment with each batch, no longer.
func (q *Query) MaxDrift(d time.Duration) *Query { return q.with(func(q *Query) { q.drift = d }) }

// Align implements Aligner.
func (r reader) Align(ctx context.Context, p Partition) {
	if r.in.query.drift == 0 || r.apart() {
		return
	}
	n, err := r.lane(p)
	if err != nil {
		return // as its first batch says
	}
	n.aligned.Store(true)
	for {
		moved := r.moves.next()
		if !r.ahead(n) {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// apart tells whether the partitions of an input have nothing to do with each other, nor with those of others.
func (r reader) apart() bool {
	return len(r.graph.ops) == 0 && (r.in.merge == nil || r.in.merge.keyed)
}

// ahead tells whether a lane has to wait for others.
func (r *Running) ahead(n *lane) bool {
	at := n.latest()
	if at == flow.NoWatermark {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range n.in.on.inputs {
		if !r.looked(in) && !r.away[in] {
			return true // its partitions are being looked up
		}
		for p, other := range r.lanes[in] {
			counts := r.assigned[in] == nil || r.assigned[in][p]
			if counts && other.holds() && other.latest() < at-int64(n.in.query.drift) {
				return true
			}
		}
	}
	return false
}

// looked tells whether the partitions of an input are known: its source has told which they are, or has handed over batches without telling. The caller holds mu.
func (r *Running) looked(in *input) bool {
	if r.assigned[in] != nil {
		return true
	}
	for _, n := range r.lanes[in] {
		if n.caughtUp.Load() || n.latest() != flow.NoWatermark {
			return true
		}
	}
	return false
}

// holds tells whether a lane has records that can be read, as far as is known.
func (n *lane) holds() bool { return !n.caughtUp.Load() && !n.still() }

// latest is the greatest event time of a lane's records, NoWatermark before the first.
func (n *lane) latest() int64 {
	if w := n.watermark.Load(); w != flow.NoWatermark {
		return w + n.clock.Delay
	}
	return flow.NoWatermark
}

// bell wakes all who wait for something to change. Who looks whether it has asks for the next stroke before, and so misses none.
type bell struct {
	mu      sync.Mutex
	waiting chan struct{} // nil: nobody waits
}

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = make(chan struct{})
	}
	return b.waiting
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting != nil {
		close(b.waiting)
		b.waiting = nil
	}
}

// A source that reads its partitions one after another goes on after alignTime: the one that is ahead may be the one that it reads to its end first.
const (
	alignTime  = 50 * time.Millisecond
	alignPause = time.Millisecond
)

// linger holds a lane back for a moment that is far ahead of all, where its source does not ask.
func (r reader) linger(ctx context.Context, n *lane) {
	if r.in.query.drift == 0 || n.aligned.Load() || r.apart() {
		return
	}
	ahead := func() bool {
		low := r.lowest(r.in.on)
		return low != flow.NoWatermark && n.watermark.Load()-int64(r.in.query.drift) > low
	}
	if !ahead() {
		return
	}
	ticker := time.NewTicker(alignPause)
	defer ticker.Stop()
	for until := time.Now().Add(alignTime); ahead() && time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
