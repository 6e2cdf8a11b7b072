package kafka

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
)

// TestSharedSavepoint: a savepoint that one of two members takes has the partitions of the other too; a query that goes on from it gives out the rest, and
// nothing twice.
func TestSharedSavepoint(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	sent := 0
	more := func(n int) {
		movesOn(t, addr, topic, sent, sent+n)
		sent += n
	}
	more(1000)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, FetchBytes: 16 << 10}
	got, place, second := &ledger{}, checkpoint.Folder(t.TempDir()), checkpoint.Folder(t.TempDir())
	var members []*stream.Running
	for range 2 {
		r, err := windows(cfg).Checkpoint(place).Epoch(20 * time.Millisecond).To(page{got}).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, r)
	}
	eventually(t, "both members read", func() bool {
		more(100)
		return members[0].Totals().Records > 0 && members[1].Totals().Records > 0
	})
	more(2000)
	eventually(t, "all that was sent is in snapshots", func() bool {
		lags, err := Lag(t.Context(), cfg)
		return err == nil && !slices.ContainsFunc(lags, func(l PartitionLag) bool { return l.Lag > 0 })
	})
	if err := members[0].Savepoint(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	for _, r := range members {
		if err := r.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	more(3000)
	alone := Config{Brokers: cfg.Brokers, Topic: topic, FetchBytes: cfg.FetchBytes, Until: closed()}
	copied := alone
	copied.Group = topic + "-copy"
	if err := live(t, windows(copied).Checkpoint(second).Epoch(time.Hour).To(page{got}), 0); err != nil {
		t.Fatal(err)
	}
	want := &ledger{}
	if err := live(t, windows(alone).Checkpoint(checkpoint.Folder(t.TempDir())).To(page{want}), 0); err != nil {
		t.Fatal(err)
	}
	check(t, got.lines, want.lines, true)
}

// cutShort is a place that takes only so many snapshots.
type cutShort struct {
	checkpoint.Place
	left int
}

var errCut = errors.New("the machine is gone")

func (c *cutShort) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	if c.left--; c.left < 0 {
		return errCut
	}
	return c.Place.Write(ctx, unit, epoch, pieces)
}

// TestSharedSavepointCutShort: a savepoint that has but one of several partitions is no place to go on from, in a folder and in a topic; taken again it is.
func TestSharedSavepointCutShort(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	movesOn(t, addr, topic, 0, 1000)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic}
	r, err := windows(cfg).Checkpoint(checkpoint.Folder(t.TempDir())).Epoch(20 * time.Millisecond).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop(t.Context())
	eventually(t, "all is in snapshots", func() bool {
		lags, err := Lag(t.Context(), cfg)
		return err == nil && len(lags) > 1 && !slices.ContainsFunc(lags, func(l PartitionLag) bool { return l.Lag > 0 })
	})
	inTopic, err := NewSnapshots(t.Context(), SnapshotsConfig{Brokers: cfg.Brokers, Topic: topic + "-snapshots", Name: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	defer inTopic.Close()
	for _, to := range []checkpoint.Place{checkpoint.Folder(t.TempDir()), inTopic} {
		if err := r.Savepoint(t.Context(), &cutShort{to, 2}); !errors.Is(err, errCut) { // its mark and a snapshot
			t.Fatalf("got %v, want it cut short", err)
		}
		copied := cfg
		copied.Group, copied.Until = topic+"-copy", closed()
		again := windows(copied).Checkpoint(to)
		if _, err := again.Start(t.Context()); !errors.Is(err, checkpoint.ErrUnfinished) {
			t.Errorf("%s: started with %v, want it refused", to, err)
		}
		if err := r.Savepoint(t.Context(), to); err != nil {
			t.Errorf("%s: again: %v", to, err)
		}
		if err := live(t, again, 0); err != nil {
			t.Errorf("%s: behind that: %v", to, err)
		}
	}
}

// TestForeignOfAnotherTopic: a query that shares another topic, and has come some way, does not write into a topic that has rows of this one: their partitions have
// other names, and the rows would be there beside each other all the same.
func TestForeignOfAnotherTopic(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	other, out := topic+"-other", topic+"-out"
	moves(t, addr, topic, 3000)
	moves(t, addr, other, 3000)
	query := func(topic, out string, place checkpoint.Place, until <-chan struct{}) *stream.Query {
		return windows(Config{Brokers: []string{addr}, Topic: topic, Group: topic, Until: until}).Checkpoint(place).Epoch(20 * time.Millisecond).
			To(Sink(SinkConfig{Brokers: []string{addr}, Topic: out}))
	}
	if err := live(t, query(topic, out, checkpoint.Folder(t.TempDir()), closed()), 0); err != nil {
		t.Fatal(err)
	}
	want := committed(t, addr, out)
	foreign := checkpoint.Folder(t.TempDir())
	r, err := query(other, out+"-other", foreign, nil).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other query has come some way", func() bool { return r.Totals().Records == 3000 })
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := live(t, query(other, out, foreign, closed()), 0); err == nil || !strings.Contains(err.Error(), "has rows of another checkpoint") {
		t.Errorf("got %v, want it refused", err)
	}
	if got := committed(t, addr, out); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the topic has %d rows since, and had %d", len(got), len(want))
	}
}
