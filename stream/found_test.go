package stream_test

import (
	"context"
	"strings"
	"testing"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// finding is a source with a partition that it begins with several times, each time with what it finds then, and reads a record of.
type finding []Found

func (finding) Description() string { return "finding" }

func (finding) Replayable() {}

func (s finding) Run(ctx context.Context, h Handler) error {
	var next int64
	for _, found := range s {
		at, known, err := h.(Beginner).Begin(Partition{}, found)
		if err != nil {
			return err
		}
		if known {
			next = at
		}
		h.Assigned([]Partition{{}})
		if err := h.Batch(ctx, Batch{Records: []Record{{Offset: next, Value: event(1, 1, float64(next)).Value}}, HighWatermark: next + 1}); err != nil {
			return nil
		}
		next++
	}
	<-ctx.Done()
	return nil
}

// TestNoIDIsNoOtherID: brokers that did not say once which topic they have do not make a query forget it: one that was made anew is refused later.
func TestNoIDIsNoOtherID(t *testing.T) {
	place := checkpoint.Folder(t.TempDir())
	query := func(ids ...string) *Query {
		var source finding
		for _, id := range ids {
			source = append(source, Found{ID: id, Committed: -1})
		}
		return by(source, "shop").Checkpoint(place).MaxRecords(int64(len(ids)))
	}
	finish(t, query("old", ""))
	finish(t, query("", ""))
	if err := start(t, query("new")).Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "it was old, and is new") {
		t.Errorf("a topic made anew: got %v, want it refused", err)
	}
}
