package scheduler_test

import (
	"context"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
)

// TestKilledOften: a submission that was in the hands of thirty schedulers, each of which was killed, is not lost: the next one takes it.
func TestKilledOften(t *testing.T) {
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, s := range scheduler.Queues() {
		if _, err := b.Declare(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Publish(t.Context(), job.QueueJobs, queue.Message{Body: []byte(`{"job_type":"t","job_id":"a"}`)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range 30 {
		c, err := b.Consume(t.Context(), job.QueueJobs, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(ctx); err != nil {
			t.Fatalf("after %d deaths it does not come: %v", i, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := scheduler.Start(t.Context(), b, st, scheduler.Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for ctx.Err() == nil {
		if j, err := s.Job(t.Context(), "a"); err == nil {
			if j.State != job.Queued {
				t.Errorf("got %s", j.State)
			}
			return
		}
	}
	t.Error("the scheduler does not know it")
}
