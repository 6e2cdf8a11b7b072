package kafka

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
)

// group reads as a member of the consumer group until ctx ends. Where other topics match the pattern it joins anew: a member says which it reads when
// it joins.
func (r *run) group(ctx context.Context) {
	var b backoff
	for ctx.Err() == nil {
		// Look first: a group whose topic is missing would make it (see cluster.partitions).
		found, err := r.cluster.partitions(ctx)
		if err == nil {
			b.reset()
			err = r.membership(ctx, topicsOf(found))
		}
		if errors.Is(err, errOtherTopics) {
			continue
		}
		if !r.retry(ctx, err, &b) {
			return
		}
	}
}

// membership is a member of the group until ctx ends or other topics are to be read. franz-go joins, keeps the membership and says which partitions it
// has (cooperative sticky: those that stay are not taken away), and fetches nothing: each partition has a reader of ours.
func (r *run) membership(ctx context.Context, topics []string) error {
	m := &member{run: r, changes: make(chan change), over: make(chan struct{}), assigned: map[stream.Partition]bool{}}
	client, err := kgo.NewClient(append(r.memberOptions(topics),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, come map[string][]int32) { m.change(change{come: come}) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.change(change{gone: gone}) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
			m.change(change{gone: gone, lost: true})
		}),
	)...)
	if err != nil {
		return err
	}
	client.PauseFetchTopics(topics...)
	m.client = client
	staying, leave := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { m.listen(staying) })
	if r.cluster.pattern != nil {
		beside.Go(func() { r.watchTopics(staying, topics, leave) })
	}
	m.read(staying)
	leave(nil)
	beside.Wait()
	leaving, done := context.WithTimeout(context.Background(), leaveTimeout)
	defer done()
	_ = client.LeaveGroupContext(leaving) // says goodbye, so that others need not wait for the session to end; who has a name does not
	client.Close()
	if errors.Is(context.Cause(staying), errOtherTopics) {
		return errOtherTopics
	}
	return nil
}

// memberOptions are those of a member that reads topics.
func (r *run) memberOptions(topics []string) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(r.cfg.Brokers...), kgo.ClientID(clientID), kgo.Dialer(r.cluster.dial),
		kgo.ConsumerGroup(r.cfg.Group), kgo.ConsumeTopics(topics...), kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(sessionTimeout), kgo.HeartbeatInterval(heartbeatInterval), kgo.RebalanceTimeout(rebalanceTimeout),
		kgo.RetryBackoffFn(retryBackoff), kgo.MetadataMinAge(minBackoff), kgo.MetadataMaxAge(watchInterval),
	}
	if r.cfg.Instance != "" {
		opts = append(opts, kgo.InstanceID(r.cfg.Instance))
	}
	return opts
}

// errOtherTopics ends a membership.
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

// mine looks what the group has noted of the partitions of a generation, and asks the handler whether it can do with them, if others have some of the
// topics. It returns false where nothing is to be read: the generation waits for its end, or the run has ended.
func (r *run) mine(ctx context.Context, committed map[stream.Partition]mark) bool {
	var b backoff
	for {
		found, err := r.look(ctx, r.cfg.Group, committed)
		if err == nil {
			r.mu.Lock()
			r.others = max(0, len(found)-len(committed))
			r.mu.Unlock()
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

// untilReached reports whether the source is to end with what the topics hold.
func (r *run) untilReached() bool {
	select {
	case <-r.cfg.until():
		return true
	default:
		return false // also for a nil channel
	}
}
