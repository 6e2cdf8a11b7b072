package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// group reads as a member of the consumer group until ctx ends. A lost coordinator ends a membership; the next begins after
// a wait, and reading goes on from the positions in memory.
func (r *run) group(ctx context.Context) {
	var b backoff
	for ctx.Err() == nil {
		// Look first: a group whose topic is missing would make it (see cluster.partitions).
		_, err := r.cluster.partitions(ctx)
		if err == nil {
			err = r.membership(ctx, &b)
		}
		if !r.retry(ctx, err, &b) {
			return
		}
	}
}

// membership joins the group and reads one generation after another, until it loses its coordinator. A ConsumerGroup makes
// its tries at its own times and keeps an error until somebody asks; a new one for each membership makes every try fresh.
func (r *run) membership(ctx context.Context, b *backoff) error {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: r.cfg.Group, Brokers: r.cfg.Brokers, Topics: []string{r.cfg.Topic}, Dialer: r.cluster.dialer(),
		SessionTimeout: sessionTimeout, HeartbeatInterval: heartbeatInterval, RebalanceTimeout: rebalanceTimeout,
		WatchPartitionChanges: true, PartitionWatchInterval: watchInterval,
		JoinGroupBackoff: minBackoff, Timeout: requestTimeout,
	})
	if err != nil {
		return err
	}
	defer group.Close() // waits for the reading to end and says goodbye, so that others need not wait for the session to end
	for {
		gen, err := group.Next(ctx)
		if errors.Is(err, kafka.RebalanceInProgress) {
			continue // another member comes or goes; the broker sets the pace
		}
		if err != nil {
			return fmt.Errorf("join group %s: %w", r.cfg.Group, err)
		}
		b.reset()
		r.member(ctx, gen)
	}
}

// member reads the partitions of one generation. It returns at once; the next Next waits for the reading to end.
func (r *run) member(ctx context.Context, gen *kafka.Generation) {
	committed := make(map[int]int64)
	for _, a := range gen.Assignments[r.cfg.Topic] {
		committed[a.ID] = max(a.Offset, -1) // negative: FirstOffset, which stands for none
	}
	r.cfg.Logger.Debug("kafka: joined", "group", gen.GroupID, "generation", gen.ID, "partitions", len(committed))
	gen.Start(func(over context.Context) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(over, stop)()
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

// commit tells the group how far the assigned partitions have been read, for lag tools and for whoever reads them next. A
// commit that fails costs nothing now: the run has its positions.
func (r *run) commit(gen *kafka.Generation) {
	r.mu.Lock()
	offsets := make(map[int]int64)
	for p := range r.assigned {
		if pos := r.positions[p]; pos.next >= 0 && pos.next != pos.committed {
			offsets[p] = pos.next
		}
	}
	r.mu.Unlock()
	if len(offsets) == 0 {
		return
	}
	if err := gen.CommitOffsets(map[string]map[int]int64{r.cfg.Topic: offsets}); err != nil {
		r.cfg.Logger.Warn("kafka: offsets not committed", "group", gen.GroupID, "err", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, offset := range offsets {
		r.positions[p].committed = offset
	}
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
