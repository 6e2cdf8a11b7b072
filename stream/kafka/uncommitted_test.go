package kafka

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

// coordinator is a cluster whose groups fail as a test says.
type coordinator struct {
	addr    string
	commits atomic.Int64 // how many will still come through
	failed  atomic.Int64 // how many have not
	forgets atomic.Int64 // how many heartbeats will be answered as a stranger's
	joins   atomic.Int64 // how often a member has been told its partitions
}

func newCoordinator(t *testing.T, commits int64) *coordinator {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	o := &coordinator{addr: c.ListenAddrs()[0]}
	o.commits.Store(commits)
	control := func(key kmsg.Key, answer func(kmsg.Request) kmsg.Response) {
		c.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			is := answer(req)
			return is, nil, is != nil
		})
	}
	control(kmsg.OffsetCommit, o.commit)
	control(kmsg.Heartbeat, o.heartbeat)
	control(kmsg.SyncGroup, func(kmsg.Request) kmsg.Response {
		o.joins.Add(1)
		return nil
	})
	return o
}

// commit answers as one that is not available, once enough have come through.
func (o *coordinator) commit(req kmsg.Request) kmsg.Response {
	if o.commits.Add(-1) >= 0 {
		return nil
	}
	o.failed.Add(1)
	answer := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, topic := range req.(*kmsg.OffsetCommitRequest).Topics {
		is := kmsg.OffsetCommitResponseTopic{Topic: topic.Topic}
		for _, p := range topic.Partitions {
			is.Partitions = append(is.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: kerr.CoordinatorNotAvailable.Code})
		}
		answer.Topics = append(answer.Topics, is)
	}
	return answer
}

func (o *coordinator) heartbeat(req kmsg.Request) kmsg.Response {
	if o.forgets.Add(-1) < 0 {
		return nil
	}
	answer := req.ResponseKind().(*kmsg.HeartbeatResponse)
	answer.ErrorCode = kerr.UnknownMemberID.Code
	return answer
}

// sink keeps the rows of a query without a checkpoint.
func (l *ledger) sink() stream.Sink {
	return stream.SinkFunc(func(_ int64, rows *stream.Rows) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i := range rows.Len() {
			l.lines = append(l.lines, string(rows.AppendJSON(nil, i)))
		}
		return nil
	})
}

// TestCommitsFail: a process whose commits fail, from the first or from a later one on, and that loses its membership of the group then, gives each row out
// once, and none without records that it has read.
func TestCommitsFail(t *testing.T) {
	t.Parallel()
	for sound := range int64(2) {
		t.Run(fmt.Sprintf("after %d", sound), func(t *testing.T) {
			t.Parallel()
			o := newCoordinator(t, sound)
			afterFailing(t, o, true, func(Config) {
				before := o.joins.Load()
				o.forgets.Store(1)
				eventually(t, "it has joined again", func() bool { return o.joins.Load() > before })
			})
		})
	}
}

// TestNothingCommittedComesBack: partitions of which nothing could ever be committed go to another process, which ends, and come back: what the first process
// had of them is gone, so that it reads them from the first record again, as that one has. No window lacks a record.
func TestNothingCommittedComesBack(t *testing.T) {
	t.Parallel()
	o := newCoordinator(t, 0)
	afterFailing(t, o, false, func(cfg Config) {
		other := &recorder{}
		two := begin(t, cfg, other)
		eventually(t, "the other has two", func() bool { return other.has(2) })
		before := o.joins.Load()
		two.stop(t)
		eventually(t, "they have come back", func() bool { return o.joins.Load() > before })
	})
}

// afterFailing runs a query whose commits fail, with something that happens in the middle, and checks its rows.
func afterFailing(t *testing.T, o *coordinator, once bool, happens func(cfg Config)) {
	t.Helper()
	const third, all = 3_000, 9_000
	topic, until := topicName(t), make(chan struct{})
	cfg := Config{Brokers: []string{o.addr}, Topic: topic, Group: topic, Until: until}
	got, want := &ledger{}, &ledger{}
	movesOn(t, o.addr, topic, 0, third)
	named := cfg
	named.Instance = "a" // so that it is told at once when it joins again
	r, err := windows(named).To(got.sink()).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "commits have come through", func() bool { return r.Totals().Records == third && o.commits.Load() <= 0 })
	movesOn(t, o.addr, topic, third, 2*third)
	eventually(t, "a commit has failed", func() bool { return r.Totals().Records == 2*third && o.failed.Load() > 0 })
	happens(cfg)
	movesOn(t, o.addr, topic, 2*third, all)
	close(until)
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	alone := Config{Brokers: []string{o.addr}, Topic: topic, Until: closed()}
	if err := live(t, windows(alone).Checkpoint(checkpoint.Folder(t.TempDir())).To(page{want}), 0); err != nil {
		t.Fatal(err)
	}
	check(t, got.lines, want.lines, once)
}
