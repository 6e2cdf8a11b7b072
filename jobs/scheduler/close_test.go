package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
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

// TestClose closes scheduler and worker, in both orders, while jobs come, run and end, and others ask. Nothing of them goes on.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for round := range 6 {
		closeInFlight(t, round%2 == 0)
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			var text strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
			t.Fatalf("%d goroutines, of %d: %s", runtime.NumGoroutine(), before, text.String())
		}
	}
}

func closeInFlight(t *testing.T, workerFirst bool) {
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.Start(t.Context(), b, st, scheduler.Settings{Placement: placement.Settings{Explore: -1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.Start(t.Context(), worker.Config{Broker: b, Worker: placement.Worker{ID: "w", Device: placement.CPU, Slots: 8},
		Funcs: map[string]worker.Func{
			"t": func(ctx context.Context, _ *worker.Task) (any, error) {
				select {
				case <-time.After(time.Millisecond):
				case <-ctx.Done():
				}
				return nil, context.Cause(ctx)
			}}})
	if err != nil {
		t.Fatal(err)
	}
	asked, ended := context.WithCancel(t.Context())
	all := make(chan error, 2)
	go func() {
		var err error
		for i := 0; err == nil && asked.Err() == nil; i++ {
			err = b.Publish(asked, job.QueueJobs, queue.Message{Body: fmt.Appendf(nil, `{"job_type":"t","job_id":"%d","priority":%d}`, i, i%10)})
		}
		all <- err
	}()
	go func() {
		var err error
		for err == nil {
			_, _, err = s.Counts(asked)
		}
		all <- err
	}()
	for counts := map[string]int64(nil); counts["events.completed"] < 50; {
		if _, counts, err = s.Counts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if workerFirst {
		err = errors.Join(w.Close(), s.Close())
	} else {
		err = errors.Join(s.Close(), w.Close())
	}
	ended()
	<-all
	<-all
	if err := errors.Join(err, b.Close(), st.Close()); err != nil {
		t.Error(err)
	}
}
