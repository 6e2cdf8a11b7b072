// Package streamtest holds the suite that every stream.Source must pass. It knows no broker: who runs it brings a topic that
// can be written to, and ends at what package stream promises of a source.
package streamtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"cancha/stream"
)

// Topic is a topic with numbered partitions, made for one test.
type Topic interface {
	// Append adds records with these values to a partition; the keys do not matter.
	Append(t testing.TB, partition int, values ...[]byte)
	// Source returns a source that has not run yet. It reads all partitions from their first record on, and waits for more.
	Source(t testing.TB) stream.Source
}

// Breaker is what a topic can do beside, if its source reads over a network: Break cuts the source off from its broker, and
// refuses new connections until Mend.
type Breaker interface {
	Break(t testing.TB)
	Mend(t testing.TB)
}

// patience is how long the suite waits for what must come; much longer than it takes on a busy machine.
const patience = 30 * time.Second

// TestSource runs the suite. Open makes a new, empty topic; the test's clean-up takes it away.
func TestSource(t *testing.T, open func(t *testing.T, partitions int) Topic) {
	t.Run("order", func(t *testing.T) { testOrder(t, open(t, 3)) })
	t.Run("idle", func(t *testing.T) { testIdle(t, open(t, 2)) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, open(t, 2)) })
	t.Run("handler error", func(t *testing.T) { testHandlerError(t, open(t, 2)) })
	t.Run("broken connection", func(t *testing.T) { testBroken(t, open(t, 2)) })
}

// values are n values that say which they are, of uneven size.
func values(partition, from, n int) [][]byte {
	var made [][]byte
	for i := from; i < from+n; i++ {
		made = append(made, fmt.Appendf(nil, "%d/%d %0*d", partition, i, i%700, 0))
	}
	return made
}

// runSource starts a source and returns how to end it: end cancels the run, waits, and checks that it ended in order.
func runSource(t *testing.T, topic Topic, w *watcher) (end func()) {
	t.Helper()
	source := topic.Source(t)
	if source.Description() == "" {
		t.Error("Description is empty")
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx, w) }()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		select {
		case err := <-done:
			w.close()
			if err != nil {
				t.Errorf("Run after cancel: got %v, want nil", err)
			}
		case <-time.After(patience):
			t.Errorf("Run goes on %v after cancel", patience)
		}
	}
	t.Cleanup(end)
	return end
}

// testOrder: all records come, in order, once, those that were there before and those that come while the source runs.
func testOrder(t *testing.T, topic Topic) {
	want := map[int]int{0: 2500, 1: 1, 2: 700}
	for p, n := range want {
		topic.Append(t, p, values(p, 0, n)...)
	}
	w := newWatcher(t)
	end := runSource(t, topic, w)
	w.waitFor("the records that were there", func() bool { return maps.Equal(w.counts(), want) })
	for round := range 3 {
		for p := range want {
			topic.Append(t, p, values(p, want[p], 100+round)...)
			want[p] += 100 + round
		}
	}
	w.waitFor("the records that came later", func() bool { return maps.Equal(w.counts(), want) })
	end()
	if got := w.counts(); !maps.Equal(got, want) {
		t.Errorf("got %v records, want %v", got, want)
	}
}

// testIdle: partitions without new records are assigned all the same, and reported about every second.
func testIdle(t *testing.T, topic Topic) {
	topic.Append(t, 1, values(1, 0, 10)...)
	w := newWatcher(t)
	end := runSource(t, topic, w)
	w.waitFor("the assignment of both partitions", func() bool { return assignedIDs(w.assigned, 0, 1) })
	w.waitFor("the records", func() bool { return w.counts()[1] == 10 })
	for _, p := range []int{0, 1} {
		w.waitFor(fmt.Sprintf("five empty batches of partition %d", p), func() bool { return len(w.empty[p]) >= 5 })
	}
	end()
	for p, times := range w.empty {
		for i := 1; i < len(times); i++ {
			// At least once a second is the promise; a busy machine may be late once in a while.
			if gap := times[i].Sub(times[i-1]); gap > 2*time.Second {
				t.Errorf("partition %d was not heard of for %v, want at most 1 s", p, gap)
			}
		}
	}
}

// assignedIDs reports whether these partitions of one topic, in this order, are assigned.
func assignedIDs(assigned []stream.Partition, want ...int) bool {
	return slices.EqualFunc(assigned, want, func(p stream.Partition, id int) bool {
		return p.ID == id && p.Topic != "" && p.Topic == assigned[0].Topic
	})
}

// testCancel: a cancelled run ends, with all its goroutines, and calls its handler no more.
func testCancel(t *testing.T, topic Topic) {
	topic.Append(t, 0, values(0, 0, 1000)...)
	before := runtime.NumGoroutine()
	w := newWatcher(t)
	end := runSource(t, topic, w)
	w.waitFor("a record", func() bool { return w.counts()[0] > 0 })
	end()
	topic.Append(t, 0, values(0, 1000, 10)...)
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("got %d goroutines after the run, want %d as before:\n%s", runtime.NumGoroutine(), before,
				stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// testHandlerError: an error of the handler ends the run and comes out of it.
func testHandlerError(t *testing.T, topic Topic) {
	topic.Append(t, 0, values(0, 0, 100)...)
	topic.Append(t, 1, values(1, 0, 100)...)
	w := newWatcher(t)
	w.fail = errors.New("enough")
	done := make(chan error, 1)
	source := topic.Source(t)
	go func() { done <- source.Run(t.Context(), w) }()
	select {
	case err := <-done:
		w.close()
		if !errors.Is(err, w.fail) {
			t.Errorf("got %v, want the handler's error", err)
		}
	case <-time.After(patience):
		t.Fatalf("Run goes on %v after its handler failed", patience)
	}
}

// testBroken: a lost connection is reported, and when it is back the source goes on with the next record.
func testBroken(t *testing.T, topic Topic) {
	breaker, ok := topic.(Breaker)
	if !ok {
		t.Skip("this source has no connection that could break")
	}
	topic.Append(t, 0, values(0, 0, 300)...)
	w := newWatcher(t)
	end := runSource(t, topic, w)
	want := 300
	for range 3 {
		w.waitFor("the records before the break", func() bool { return w.counts()[0] == want })
		retries := w.retries
		breaker.Break(t)
		w.waitFor("a report that the broker is away", func() bool { return w.retries > retries })
		breaker.Mend(t)
		topic.Append(t, 0, values(0, want, 50)...)
		want += 50
	}
	w.waitFor("the records after the last break", func() bool { return w.counts()[0] == want })
	end()
}
