package streamtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/stream"
)

// watcher is a handler that checks each call against what package stream promises.
type watcher struct {
	t    testing.TB
	fail error // what Batch returns for records, if not nil

	mu       sync.Mutex
	changed  *sync.Cond
	closed   bool
	assigned []stream.Partition
	next     map[int]int // records seen of each partition
	inside   map[int]bool
	empty    map[int][]time.Time
	retries  int
}

func newWatcher(t testing.TB) *watcher {
	w := &watcher{t: t, next: map[int]int{}, inside: map[int]bool{}, empty: map[int][]time.Time{}}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// close notes that the run has ended: no call may come any more.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// enter starts a call; the caller unlocks mu.
func (w *watcher) enter(what string) {
	w.mu.Lock()
	if w.closed {
		w.t.Errorf("%s was called after Run had returned", what)
	}
	w.changed.Broadcast()
}

// Assigned implements stream.Handler.
func (w *watcher) Assigned(partitions []stream.Partition) {
	w.enter("Assigned")
	defer w.mu.Unlock()
	w.assigned = slices.Clone(partitions)
}

// Retry implements stream.Handler.
func (w *watcher) Retry(err error, wait time.Duration) {
	w.enter("Retry")
	defer w.mu.Unlock()
	if err == nil || wait < 0 {
		w.t.Errorf("Retry(%v, %v): want an error and the time until the next try", err, wait)
	}
	w.retries++
}

// Batch implements stream.Handler.
func (w *watcher) Batch(_ context.Context, b stream.Batch) error {
	if err := w.begin(b); err != nil {
		return err
	}
	// Between the two, another batch of the same partition must not come: give it the chance.
	time.Sleep(time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside[b.Partition] = false
	if len(b.Records) > 0 {
		w.check(b)
		return w.fail
	}
	w.empty[b.Partition] = append(w.empty[b.Partition], time.Now())
	return nil
}

func (w *watcher) begin(b stream.Batch) error {
	w.enter("Batch")
	defer w.mu.Unlock()
	if w.inside[b.Partition] {
		w.t.Errorf("two batches of partition %d at the same time", b.Partition)
	}
	w.inside[b.Partition] = true
	if !slices.Contains(w.assigned, stream.Partition{Topic: b.Topic, ID: b.Partition}) {
		w.t.Errorf("a batch of partition %d of topic %q, which Assigned did not name: %v", b.Partition, b.Topic, w.assigned)
	}
	if b.Topic == "" || b.Lost != 0 {
		w.t.Errorf("got topic %q, lost %d, want a topic and 0", b.Topic, b.Lost)
	}
	return nil
}

// check compares a batch's records with what was appended: each is the next one of its partition.
func (w *watcher) check(b stream.Batch) {
	for _, r := range b.Records {
		n := w.next[b.Partition]
		w.next[b.Partition]++
		if r.Topic != "" && r.Topic != b.Topic {
			w.t.Errorf("got a record of topic %q in a batch of %q", r.Topic, b.Topic)
		}
		if r.Partition != b.Partition || r.Offset != int64(n) {
			w.t.Errorf("got record %d/%d, want %d/%d", r.Partition, r.Offset, b.Partition, n)
		}
		if !strings.HasPrefix(string(r.Value), fmt.Sprintf("%d/%d ", b.Partition, n)) || len(r.Value) < n%700 {
			w.t.Errorf("record %d/%d: got value %.40q", b.Partition, n, r.Value)
		}
	}
	if last := b.Records[len(b.Records)-1].Offset; b.HighWatermark <= last {
		w.t.Errorf("partition %d: got high watermark %d after offset %d, want at least one more", b.Partition, b.HighWatermark, last)
	}
}

// counts returns how many records of each partition have come; partitions without any are left out. The caller is within
// waitFor, or the run has ended.
func (w *watcher) counts() map[int]int {
	counts := map[int]int{}
	for p, n := range w.next {
		if n > 0 {
			counts[p] = n
		}
	}
	return counts
}

// waitFor waits until a condition holds, which it asks for after each call of the source.
func (w *watcher) waitFor(what string, holds func() bool) {
	w.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.changed.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !holds() {
		if late {
			w.t.Fatalf("waited %v for %s; got %v records, assigned %v, %d retries", patience, what, w.counts(), w.assigned, w.retries)
		}
		w.changed.Wait()
	}
}
