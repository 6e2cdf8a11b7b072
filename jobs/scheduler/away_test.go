package scheduler_test

import (
	"context"
	"errors"
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

// served is a broker that another process would serve.
func served(t *testing.T, folder string) (end func()) {
	t.Helper()
	b, err := local.Open(folder, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := local.Serve(b, local.Socket(folder), "")
	if err != nil {
		t.Fatal(errors.Join(err, b.Close()))
	}
	return func() {
		if err := errors.Join(s.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestAway: a broker that is away for much longer than a lease, while a job runs, is nobody's fault: the job goes on, and ends once; so do
// those that come then.
func TestAway(t *testing.T) {
	const lease = 500 * time.Millisecond
	folder := t.TempDir()
	end := served(t, folder)
	dial := func() *local.Remote {
		b, err := local.Dial(t.Context(), local.Socket(folder), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() }) // its broker is closed by then
		return b
	}
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b := dial()
	s, err := scheduler.Start(t.Context(), b, st, scheduler.Settings{Lease: lease, Placement: placement.Settings{Explore: -1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begun, finish := make(chan struct{}, 10), make(chan struct{})
	for _, id := range []string{"v", "w"} {
		w, err := worker.Start(t.Context(), worker.Config{Broker: dial(), Beat: lease / 5,
			Worker: placement.Worker{ID: id, Device: placement.CPU, Slots: 2}, Funcs: map[string]worker.Func{
				"t": func(context.Context, *worker.Task) (any, error) { begun <- struct{}{}; <-finish; return nil, nil }}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
	}
	submit := func(id string) {
		if err := b.Publish(t.Context(), job.QueueJobs, queue.Message{ID: id, Body: []byte(`{"job_type":"t"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	begins := func(id string) {
		t.Helper()
		select {
		case <-begun:
		case <-time.After(20 * time.Second):
			j, err := s.Job(t.Context(), id)
			workers, err2 := s.Workers(t.Context())
			_, counts, err3 := s.Counts(t.Context())
			info, err4 := b.Inspect(t.Context(), job.QueueCPU)
			close(finish)
			t.Fatalf("%s does not begin: %+v\n%+v\n%v\n%+v\n%v", id, j, workers, counts, info, errors.Join(err, err2, err3, err4))
		}
	}
	submit("a")
	begins("a")
	end()
	<-time.After(4 * lease)
	end = served(t, folder)
	t.Cleanup(func() { end() })
	submit("b")
	begins("b")
	close(finish)
	for _, id := range []string{"a", "b"} {
		for j := (&job.Job{}); !j.State.Ended(); time.Sleep(5 * time.Millisecond) {
			if j, err = s.Job(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if j.State.Ended() && (j.State != job.Completed || j.Begun != 1) {
				t.Errorf("%+v", j)
			}
		}
	}
	if _, counts, err := s.Counts(t.Context()); err != nil || counts["attempts lost"]+counts["executed twice"]+counts["workers lost"] != 0 {
		t.Errorf("%v, %v", counts, err)
	}
}
