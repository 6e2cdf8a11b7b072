package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"cancha/stream"
)

// group reads as a member of the consumer group until ctx ends. A lost coordinator ends a membership; the next begins after
// a wait, and reading goes on from the positions in memory.
func (r *run) group(ctx context.Context) {
	var b backoff
	for ctx.Err() == nil {
		// Look first: a group whose topic is missing would make it (see cluster.partitions).
		found, err := r.cluster.partitions(ctx)
		if err == nil {
			err = r.membership(ctx, topicsOf(found), &b)
		}
		if errors.Is(err, errOtherTopics) {
			continue
		}
		if !r.retry(ctx, err, &b) {
			return
		}
	}
}

// membership joins the group and reads one generation after another, until it loses its coordinator. A ConsumerGroup makes
// its tries at its own times and keeps an error until somebody asks; a new one for each membership makes every try fresh.
func (r *run) membership(ctx context.Context, topics []string, b *backoff) error {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: r.cfg.Group, Brokers: r.cfg.Brokers, Topics: topics, Dialer: r.cluster.dialer(),
		SessionTimeout: sessionTimeout, HeartbeatInterval: heartbeatInterval, RebalanceTimeout: rebalanceTimeout,
		WatchPartitionChanges: true, PartitionWatchInterval: watchInterval,
		JoinGroupBackoff: minBackoff, Timeout: requestTimeout,
	})
	if err != nil {
		return err
	}
	staying, leave := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	if r.cluster.pattern != nil {
		watching.Go(func() { r.watchTopics(staying, topics, leave) })
	}
	defer watching.Wait()
	defer leave(nil)
	defer group.Close() // waits for the reading to end and says goodbye, so that others need not wait for the session to end
	for {
		gen, err := group.Next(staying)
		if errors.Is(err, kafka.RebalanceInProgress) {
			continue // another member comes or goes; the broker sets the pace
		}
		if err != nil && errors.Is(context.Cause(staying), errOtherTopics) {
			return errOtherTopics
		}
		if err != nil {
			return fmt.Errorf("join group %s: %w", r.cfg.Group, err)
		}
		b.reset()
		r.member(ctx, gen)
	}
}

// errOtherTopics ends a membership: a member says which topics it reads when it joins.
var errOtherTopics = errors.New("other topics match the pattern now")

func topicsOf[V any](found map[stream.Partition]V) []string {
	var topics []string
	for p := range found {
		topics = append(topics, p.Topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// watchTopics calls leave when other topics than these are to be read, and returns then or when ctx ends.
func (r *run) watchTopics(ctx context.Context, topics []string, leave context.CancelCauseFunc) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if found, err := r.cluster.partitions(ctx); err == nil && !slices.Equal(topicsOf(found), topics) {
				leave(errOtherTopics)
				return
			}
		}
	}
}

// member reads the partitions of one generation. It returns at once; the next Next waits for the reading to end.
func (r *run) member(ctx context.Context, gen *kafka.Generation) {
	committed := make(map[stream.Partition]mark)
	for topic, assigned := range gen.Assignments {
		for _, a := range assigned {
			committed[stream.Partition{Topic: topic, ID: a.ID}] = mark{offset: max(a.Offset, -1)} // negative: FirstOffset, which stands for none
		}
	}
	r.cfg.Logger.Debug("kafka: joined", "group", gen.GroupID, "generation", gen.ID, "partitions", len(committed))
	gen.Start(func(over context.Context) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(over, stop)()
		if !r.mine(ctx, gen, committed) {
			<-ctx.Done()
			return
		}
		r.generation(ctx, func(ctx context.Context) { r.commitLoop(ctx, gen) }, committed)
		r.commit(gen)
	})
}

// commitLoop commits once a second until ctx ends.
func (r *run) commitLoop(ctx context.Context, gen *kafka.Generation) {
	tick := time.NewTicker(commitInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.commit(gen)
			r.spare()
		}
	}
}

// mine looks what the group has noted of the partitions of a generation, and asks the handler whether it can do with them, if others have some of the
// topics. It returns false where nothing is to be read: the generation waits for its end, or the run has ended.
func (r *run) mine(ctx context.Context, gen *kafka.Generation, committed map[stream.Partition]mark) bool {
	var b backoff
	for {
		found, err := r.look(ctx, gen.GroupID, committed)
		if err == nil {
			return r.divide(committed, found)
		}
		if !r.retry(ctx, err, &b) {
			return false
		}
	}
}

// look finds all partitions of the topics, and adds its notes to what the group has committed of some.
func (r *run) look(ctx context.Context, group string, committed map[stream.Partition]mark) (map[stream.Partition]kafka.Partition, error) {
	found, err := r.cluster.partitions(ctx)
	if err != nil || len(committed) == 0 {
		return found, err
	}
	client, release := r.cluster.client()
	defer release()
	marks, err := r.cluster.committed(ctx, client, group, inOrder(committed))
	if err != nil {
		return nil, err
	}
	for p := range committed {
		if m, ok := marks[p]; ok {
			committed[p] = mark{max(m.offset, -1), m.note}
		}
	}
	return found, nil
}

// divide tells the handler which partitions others have.
func (r *run) divide(committed map[stream.Partition]mark, found map[stream.Partition]kafka.Partition) (read bool) {
	d, ok := r.handler.(stream.Divider)
	if !ok {
		return true
	}
	others := maps.Clone(found)
	for p := range committed {
		delete(others, p)
	}
	if len(committed) == 0 {
		return true // it has nothing to read, and waits for a partition
	}
	wait, err := d.Others(inOrder(committed), inOrder(others))
	if err != nil {
		r.end(err)
	}
	return err == nil && !wait
}

// commit tells the group how far the assigned partitions have come, for lag tools and for whoever reads them next. A commit that fails costs
// nothing now: the run has its positions.
func (r *run) commit(gen *kafka.Generation) {
	offsets := r.uncommitted()
	if len(offsets) == 0 {
		return
	}
	request := &kafka.OffsetCommitRequest{GroupID: gen.GroupID, GenerationID: int(gen.ID), MemberID: gen.MemberID, Topics: map[string][]kafka.OffsetCommit{}}
	for p, m := range offsets {
		request.Topics[p.Topic] = append(request.Topics[p.Topic], kafka.OffsetCommit{Partition: p.ID, Offset: m.offset, Metadata: m.note})
	}
	if err := r.send(request); err != nil {
		r.cfg.Logger.Warn("kafka: offsets not committed", "group", gen.GroupID, "err", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, m := range offsets {
		if pos := r.positions[p]; pos != nil {
			pos.committed = m.offset
		}
	}
}

// uncommitted are the offsets that the group does not have yet: as the handler says, or what has been handled.
func (r *run) uncommitted() map[stream.Partition]mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	offsets := make(map[stream.Partition]mark)
	by, asks := r.handler.(stream.Committer)
	for p := range r.assigned {
		pos := r.positions[p]
		if pos == nil {
			continue
		}
		m := mark{offset: pos.next}
		if asks {
			var known bool
			if m.offset, m.note, known = by.Committed(p); !known {
				continue
			}
		}
		if m.offset >= 0 && (m.offset != pos.committed || m.note != pos.note) {
			pos.note = m.note
			offsets[p] = m
		}
	}
	return offsets
}

// send commits. It waits as long as leaving the group may take.
func (r *run) send(request *kafka.OffsetCommitRequest) error {
	client, release := r.cluster.client()
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	answer, err := client.OffsetCommit(ctx, request)
	if err != nil {
		return err
	}
	for _, partitions := range answer.Topics {
		for _, p := range partitions {
			err = errors.Join(err, p.Error)
		}
	}
	return err
}

// spare ends the run of a member that has no partition, once Until is closed: there is nothing it could wait for.
func (r *run) spare() {
	r.mu.Lock()
	idle := len(r.assigned) == 0
	r.mu.Unlock()
	if idle && r.untilReached() {
		r.end(errExhausted)
	}
}

// untilReached reports whether Until is closed.
func (r *run) untilReached() bool {
	select {
	case <-r.cfg.Until:
		return true
	default:
		return false // also for a nil channel
	}
}
