package scheduler

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// A job goes to the very worker that a strategy has named, by that worker's own queue: from the device's, any other one would take it.
func TestStrategy(t *testing.T) {
	b := newBench(t)
	settings := placement.Settings{Strategy: placement.StrategyFunc(func(j placement.Job, all []placement.Candidate) string {
		if j.Type == "odd" {
			panic("no such thing")
		}
		return all[len(all)-1].ID
	})}
	var err error
	if b.planner, err = placement.NewPlanner(b.history, settings); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		b.beats(cpu(id), "", "")
	}
	b.submit(`{"job_id":"j","job_type":"vector_addition","parameters":{"size":10}}`)
	if j := b.tasks["j"]; j.Worker != "c" || !strings.Contains(j.Reason, "by the program's strategy") ||
		!strings.HasPrefix(strings.Join(b.sent, " "), "cpu_queue.c j1") {
		t.Errorf("got %+v, sent %v", j.Job, b.sent)
	}
	b.submit(`{"job_id":"odd","job_type":"odd"}`)
	b.step(time.Second, func() {})
	if j := b.tasks["odd"]; j.Reason != "waits: the program's strategy has failed: panic: no such thing" {
		t.Errorf("got %+v", j.Job)
	}
}

// A scheduler goes on while a strategy does not return: it answers, says what is wrong, and places jobs once the strategy has answered.
func TestStrategyNotReturning(t *testing.T) {
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	proceed := make(chan struct{})
	strategy := placement.StrategyFunc(func(_ placement.Job, all []placement.Candidate) string { <-proceed; return all[0].ID })
	s, err := Start(t.Context(), b, st, Settings{Placement: placement.Settings{Strategy: strategy}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), b.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	send := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.Declare(t.Context(), queue.Spec{Name: job.WorkerQueue(placement.CPU, "a")})
	send(err)
	beat, _ := json.Marshal(&job.Beat{Worker: cpu("a"), Process: "p"})
	send(b.Announce(t.Context(), job.TopicWorkers, queue.Message{Body: beat}))
	send(b.Publish(t.Context(), job.QueueJobs, queue.Message{ID: "j", Body: []byte(`{"job_id":"j","job_type":"vector_addition","parameters":{"size":10}}`)}))
	is := func() *job.Job { // as of some turn
		t.Helper()
		j, err := s.Job(t.Context(), "j")
		if err != nil && !errors.Is(err, store.ErrUnknown) {
			t.Fatal(err)
		}
		return j
	}
	for !strings.Contains(s.Trouble(), `asked about job "j" at `) {
		is()
	}
	if j := is(); j == nil || !strings.Contains(j.Reason, "has not answered") {
		t.Errorf("got %+v", j)
	}
	close(proceed)
	for j := is(); s.Trouble() != "" || j.State != job.Assigned; j = is() {
	}
}
