package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
)

// member is a membership of the group. It reads its partitions in generations: one ends when partitions come or go.
type member struct {
	run      *run
	client   *kgo.Client
	told     bool // what it has; of change
	changes  chan change
	over     chan struct{} // closed when nothing is read any more
	assigned map[stream.Partition]bool
}

// change is what the group has decided. done is closed when nothing is read any more of what is gone, and all of it is committed.
type change struct {
	come, gone map[string][]int32
	lost       bool // others may have what is gone already
	done       chan struct{}
}

// change waits until the member has made a change. The group's other members wait for that. franz-go calls it, one call after the other.
func (m *member) change(c change) {
	if m.told && count(c.come)+count(c.gone) == 0 {
		return // the group has talked of others
	}
	m.told = !c.lost
	c.done = make(chan struct{})
	select {
	case m.changes <- c:
		<-c.done
	case <-m.over:
	}
}

func count(of map[string][]int32) (n int) {
	for _, ids := range of {
		n += len(ids)
	}
	return n
}

// read reads one generation after another until ctx ends.
func (m *member) read(ctx context.Context) {
	defer close(m.over)
	for known := false; ; {
		over, end := context.WithCancel(ctx)
		var next change
		var waiting sync.WaitGroup
		waiting.Go(func() {
			defer end()
			select {
			case next = <-m.changes:
			case <-over.Done():
			}
		})
		if known {
			m.generation(over)
		} else {
			<-over.Done()
		}
		end()
		waiting.Wait()
		if next.done == nil {
			return
		}
		m.take(next)
		known = !next.lost
		close(next.done)
	}
}

// take makes a change.
func (m *member) take(c change) {
	for topic, ids := range c.gone {
		for _, id := range ids {
			delete(m.assigned, stream.Partition{Topic: topic, ID: int(id)})
		}
	}
	for topic, ids := range c.come {
		for _, id := range ids {
			m.assigned[stream.Partition{Topic: topic, ID: int(id)}] = true
		}
	}
}

// generation reads the partitions that the member has now, until ctx ends.
func (m *member) generation(ctx context.Context) {
	r, committed := m.run, make(map[stream.Partition]mark, len(m.assigned))
	for p := range m.assigned {
		committed[p] = mark{offset: -1}
	}
	r.cfg.Logger.Debug("kafka: assigned", "group", r.cfg.Group, "partitions", len(committed))
	if !r.mine(ctx, committed) {
		<-ctx.Done()
		return
	}
	r.generation(ctx, m.commitLoop, committed)
	m.commit()
}

// listen tells what the group's coordinator says of failures, until ctx ends. franz-go goes on trying.
func (m *member) listen(ctx context.Context) {
	for ctx.Err() == nil {
		m.client.PollFetches(ctx).EachError(func(_ string, _ int32, err error) {
			if ctx.Err() == nil {
				m.run.trouble(ctx, fmt.Errorf("join group %s: %w", m.run.cfg.Group, known(err)))
			}
		})
	}
}

// trouble tells the handler of an error after which another client tries again by itself, or ends the run where no try can mend it.
func (r *run) trouble(ctx context.Context, err error) {
	if errors.Is(err, kafka.InconsistentGroupProtocol) {
		r.end(fmt.Errorf("group %s has members that divide partitions in another way, and all members of a group have to do it in one: "+
			"stop those, set their partition.assignment.strategy to cooperative-sticky (CooperativeStickyAssignor) in place of range, roundrobin or sticky, "+
			"or read with another Config.Group: %w", r.cfg.Group, err))
		return
	}
	if cause := r.cluster.diagnose(ctx, err); hopeless(cause) {
		r.end(cause)
		return
	}
	if errors.Is(err, kafka.FencedInstanceID) {
		r.end(fmt.Errorf("another process reads as the instance %q of group %s: each needs its own", r.cfg.Instance, r.cfg.Group))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handler.Retry(err, minBackoff)
}

// known makes an error of franz-go's the one that this package looks for.
func known(err error) error {
	if told := (*kerr.Error)(nil); errors.As(err, &told) {
		return kafka.Error(told.Code)
	}
	return err
}

// commitLoop commits once a second until ctx ends. It ends the run that is to end once its partitions have been read, and so have those of others.
func (m *member) commitLoop(ctx context.Context) {
	others := rest{run: m.run}
	tick := time.NewTicker(commitInterval)
	defer tick.Stop()
	for ticks := 1; ; ticks++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.commit()
			if len(m.assigned) > 0 || ticks >= settled {
				m.leave(ctx, &others)
			}
		}
	}
}

// settled is after how many ticks a member without partitions is one that gets none: a partition that is taken from another comes after a moment in which
// nobody has it.
const settled = 3

// commit tells the group how far the assigned partitions have come, for lag tools and for whoever reads them next. A commit that fails costs
// nothing now: the run has its positions, and the next one says it all.
func (m *member) commit() {
	r := m.run
	offsets := r.uncommitted()
	if len(offsets) == 0 {
		return
	}
	id, generation := m.client.GroupMetadata()
	request := &kafka.OffsetCommitRequest{GroupID: r.cfg.Group, GenerationID: int(generation), MemberID: id, Topics: map[string][]kafka.OffsetCommit{}}
	for p, m := range offsets {
		request.Topics[p.Topic] = append(request.Topics[p.Topic], kafka.OffsetCommit{Partition: p.ID, Offset: m.offset, Metadata: m.note})
	}
	if err := r.send(request); err != nil {
		r.cfg.Logger.Warn("kafka: offsets not committed", "group", r.cfg.Group, "err", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, m := range offsets {
		if pos := r.positions[p]; pos != nil {
			pos.committed, pos.note = m.offset, m.note
		}
	}
}
