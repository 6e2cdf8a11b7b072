package kafka

import (
	"slices"
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
