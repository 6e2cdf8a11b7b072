package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
	"cancha/jobs/worker"
)

// TestFullDisk: when the disk of the store is full, nothing goes on, and the scheduler says why; with room it goes on by itself, and each
// job has run once. Only root may mount a small disk.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir()
	mount := func(flags uintptr, kilobytes int) error {
		return syscall.Mount("tmpfs", folder, "tmpfs", flags, fmt.Sprintf("size=%dk", kilobytes))
	}
	if err := mount(0, 1024); err != nil {
		t.Skip("needs to mount a small disk:", err)
	}
	defer func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) }()
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	st, err := store.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := scheduler.Start(t.Context(), b, st, scheduler.Settings{Placement: placement.Settings{Explore: -1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var runs atomic.Int32
	w, err := worker.Start(t.Context(), worker.Config{Broker: b, Worker: placement.Worker{ID: "w", Device: placement.CPU, Slots: 4},
		Funcs: map[string]worker.Func{"t": func(context.Context, *worker.Task) (any, error) { runs.Add(1); return nil, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const n = 300
	for i := range n {
		m := queue.Message{Body: fmt.Appendf(nil, `{"job_type":"t","job_id":"%d","x":"%s"}`, i, strings.Repeat("x", 10_000))}
		if err := errors.Join(b.Publish(t.Context(), job.QueueJobs, m), b.Publish(t.Context(), job.QueueJobs, m)); err != nil { // twice, as after a fault
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.Trouble(), "the disk is full"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("trouble: %q", s.Trouble())
		}
	}
	if err := mount(syscall.MS_REMOUNT, 64<<10); err != nil {
		t.Fatal(err)
	}
	c, err := b.Consume(t.Context(), job.QueueResults, n)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for seen := map[string]bool{}; len(seen) < n; {
		d, err := c.Next(ctx)
		if err == nil {
			seen[d.ID], err = true, d.Ack(ctx)
		}
		if err != nil {
			t.Fatalf("%d of %d jobs have ended: %v, %s", len(seen), n, err, s.Trouble())
		}
	}
	if runs.Load() != n || s.Trouble() != "" {
		t.Errorf("%d runs of %d jobs, trouble %q", runs.Load(), n, s.Trouble())
	}
}
