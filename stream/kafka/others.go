package kafka

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"cancha/stream"
)

// patience is how long a source that is to end with what its topics hold waits for other members that commit nothing: a member that was killed is out of the
// group by then, and its partitions are this one's or another's.
const patience = 2 * sessionTimeout

// rest is what other members of the group have still to read when a member has read all of its own, and is to end. One that was killed has its partitions until
// its session ends, and a member that ended before that would leave them out. One goroutine owns it.
type rest struct {
	run   *run
	seen  map[stream.Partition]mark // what the group had committed at the last look
	moved time.Time                 // when that was something else than before
}

// over tells whether nothing more is to be waited for: the group has read everything, or others who have the rest show no progress, which a note says then.
func (w *rest) over(ctx context.Context) bool {
	left, err := w.left(ctx)
	switch {
	case hopeless(err):
		w.run.end(w.run.cluster.diagnose(ctx, err))
		return false
	case err != nil: // while brokers are away, nobody's session ends
		w.moved = time.Now()
		return false
	case len(left) == 0:
		return true
	case time.Since(w.moved) < patience:
		return false
	}
	if to, ok := w.run.handler.(stream.Noter); ok {
		to.Note(fmt.Sprintf("Other members of group %s have %s, and have not committed that they have read to the end in %v: "+
			"what they have not given out is not in these results.",
			w.run.cfg.Group, strings.Join(left, ", "), patience))
	}
	return true
}

// left names the partitions of others in which the group has not come to where they ended when they were asked for first.
func (w *rest) left(ctx context.Context) (left []string, err error) {
	r := w.run
	client, release := r.cluster.client()
	defer release()
	found, err := r.cluster.partitions(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	for p := range r.assigned {
		delete(found, p)
	}
	r.mu.Unlock()
	if len(found) == 0 {
		return nil, nil
	}
	committed, err := r.cluster.committed(ctx, client, r.cfg.Group, inOrder(found))
	if err != nil {
		return nil, err
	}
	lags, err := r.cluster.lags(ctx, client, found, committed)
	if err != nil {
		return nil, err
	}
	if w.seen == nil || !maps.Equal(w.seen, committed) {
		w.seen, w.moved = committed, time.Now()
	}
	for _, l := range lags {
		p := stream.Partition{Topic: l.Topic, ID: l.Partition}
		if end := r.goal(p, l.End); max(r.readBy(committed[p]), l.First) < end {
			left = append(left, fmt.Sprintf("%s at %d of %d", r.named(p), max(committed[p].offset, 0), end))
		}
	}
	return left, nil
}

// goal is where a partition of others ended when it was asked for first.
func (r *run) goal(p stream.Partition, end int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.goals == nil {
		r.goals = map[stream.Partition]int64{}
	}
	if _, known := r.goals[p]; !known {
		r.goals[p] = end
	}
	return r.goals[p]
}

// readBy is how far a partition had been read when something was committed of it.
func (r *run) readBy(m mark) int64 {
	if by, ok := r.handler.(stream.Recaller); ok {
		if next, known := by.Recall(m.note); known {
			return max(next, m.offset)
		}
	}
	return m.offset
}

// leave ends the run of a member that has read all that it is to read, once the group has. What it has read itself is committed before, for those who wait for
// it: its handler may keep that for the end of a long epoch.
func (m *member) leave(ctx context.Context, others *rest) {
	r := m.run
	by, asks := r.handler.(stream.Sated)
	done := r.done()
	if !done && !(asks && by.Sated()) {
		return
	}
	if to, ok := r.handler.(stream.Releaser); ok {
		to.Release()
	}
	m.commit()
	switch {
	case !others.over(ctx) || ctx.Err() != nil:
	case done:
		r.end(errExhausted)
	default:
		by.End()
	}
}

// done tells whether this member has read all that it is to read.
func (r *run) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.untilReached() && r.readAll()
}

// readAll tells whether the partitions that this run has have been read as far as the source is to read. The caller holds mu.
func (r *run) readAll() bool {
	for id := range r.assigned {
		if pos := r.positions[id]; pos == nil || !pos.ended {
			return false
		}
	}
	return true
}
