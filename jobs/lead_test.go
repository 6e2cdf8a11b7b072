package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"cancha/jobs"
	"cancha/jobs/local"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
)

// shared is a broker with one lock, as machines share it.
type shared struct {
	queue.Broker
	mu   sync.Mutex
	held *oneLock
}

func (b *shared) Lock(_ context.Context, name string) (queue.Lock, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held != nil {
		return nil, fmt.Errorf("%s: %w", name, queue.ErrHeld)
	}
	b.held = &oneLock{b, make(chan struct{})}
	return b.held, nil
}

// depose has nobody hold the lock.
func (b *shared) depose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.held.lost)
	b.held = nil
}

type oneLock struct {
	b    *shared
	lost chan struct{}
}

func (k *oneLock) Lost() <-chan struct{} { return k.lost }

func (k *oneLock) Close() error {
	k.b.mu.Lock()
	defer k.b.mu.Unlock()
	if k.b.held == k {
		k.b.held = nil
	}
	return nil
}

// Of two schedulers with a folder each one has the jobs of a broker, and the other one those that come after it; who loses the lock ends.
func TestLeads(t *testing.T) {
	carrier, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = carrier.Close() })
	b := &shared{Broker: carrier}
	open := func() *jobs.Cluster {
		k, err := jobs.Open(t.Context(), jobs.Config{Broker: b, Schedule: true, Folder: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.Close() })
		return k
	}
	led := func(k *jobs.Cluster) *scheduler.Scheduler {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s, err := k.Lead(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second := open(), open()
	if first.Scheduler() == nil || first.Standby() != nil || second.Scheduler() != nil || !errors.Is(second.Standby(), scheduler.ErrLed) {
		t.Fatalf("%v, %v; want that the second one is led", first.Standby(), second.Standby())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s, third := led(second), open()
	if third.Scheduler() != nil {
		t.Fatal("two lead")
	}
	b.depose()
	<-s.Done()
	if s.Trouble() != scheduler.ErrLed.Error() {
		t.Errorf("it has ended for %q", s.Trouble())
	}
	led(third)
}
