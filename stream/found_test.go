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

// grouped is a source whose partition processes share.
type grouped func(h Handler)

func (grouped) Description() string { return "grouped" }

func (grouped) Replayable() {}

func (grouped) Shared() bool { return true }

func (s grouped) Run(ctx context.Context, h Handler) error {
	s(h)
	return nil
}

// TestWhoCommitted: what a process has kept of a partition stays its own whatever has become of its commits, until another has committed something.
func TestWhoCommitted(t *testing.T) {
	ask := func(h Handler) Found {
		next, note, _ := h.(Committer).Committed(Partition{})
		return Found{Committed: next, Note: note}
	}
	reads := func(h Handler, found Found, until int64) {
		next, known, err := h.(Beginner).Begin(Partition{}, found)
		if err != nil || known != (found.Committed >= 0) {
			t.Errorf("the first Begin with %+v: known %v, %v", found, known, err)
		}
		h.Assigned([]Partition{{}})
		for ; next < until; next++ {
			h.Batch(t.Context(), Batch{Records: []Record{{Offset: next, Value: event(1, 1, float64(next)).Value}}, HighWatermark: next + 1})
		}
	}
	run := func(script grouped) { finish(t, counting(script)) }
	nothing := Found{Committed: -1}
	var others Found
	run(func(h Handler) {
		reads(h, nothing, 50)
		others = ask(h)
	})
	for _, row := range []struct {
		name  string
		first Found // when the process begins
		then  func(early, late Found) Found
		next  int64
		known bool
	}{
		{"no commit has come through", nothing, func(_, _ Found) Found { return nothing }, 100, true},
		{"none has, and there was one before", others, func(_, _ Found) Found { return others }, 100, true},
		{"the last has not", nothing, func(early, _ Found) Found { return early }, 100, true},
		{"all have, also those whose answers were lost", nothing, func(_, late Found) Found { return late }, 100, true},
		{"another process has committed", nothing, func(_, _ Found) Found { return others }, others.Committed, true},
		{"another program has", nothing, func(_, _ Found) Found { return Found{Committed: 7} }, 7, false},
	} {
		run(func(h Handler) {
			reads(h, row.first, 80)
			early := ask(h)
			for next := int64(80); next < 100; next++ {
				h.Batch(t.Context(), Batch{Records: []Record{{Offset: next, Value: event(1, 1, float64(next)).Value}}, HighWatermark: next + 1})
			}
			if next, known, err := h.(Beginner).Begin(Partition{}, row.then(early, ask(h))); next != row.next || known != row.known || err != nil {
				t.Errorf("%s: it reads on from %d, known %v, %v, want %d, %v", row.name, next, known, err, row.next, row.known)
			}
		})
	}
}
