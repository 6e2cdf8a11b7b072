package store_test

import (
	"errors"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/store"
)

// TestBegin: of an attempt whose beginning was put down alone, the next one who opens the folder knows, unless the job was put down later
// with that, or is another one.
func TestBegin(t *testing.T) {
	now := time.Now()
	given := job.Job{Spec: job.Spec{ID: "a", Type: "t"}, State: job.Assigned, Submitted: now, Attempt: 2, Begun: 1}
	begun := given
	begun.State, begun.Begun, begun.Started, begun.Worker, begun.WorkerType, begun.Model = job.Running, 2, now.Add(time.Second), "w", placement.CPU, "m"
	with := func(j job.Job, change func(*job.Job)) *job.Job { change(&j); return &j }
	for name, c := range map[string]struct {
		later *job.Job // put down after the beginning
		want  *job.Job
	}{
		"nothing came later":    {nil, &begun},
		"it runs, as is known":  {with(begun, func(j *job.Job) { j.Worker = "v" }), with(begun, func(j *job.Job) { j.Worker = "v" })},
		"it has ended":          {with(begun, func(j *job.Job) { j.State = job.Failed }), with(begun, func(j *job.Job) { j.State = job.Failed })},
		"it waits again":        {with(given, func(j *job.Job) { j.State = job.Queued }), with(given, func(j *job.Job) { j.State = job.Queued })},
		"it is given once more": {with(given, func(j *job.Job) { j.Attempt = 3 }), with(given, func(j *job.Job) { j.Attempt = 3 })},
		"another has its id": {with(given, func(j *job.Job) { j.Submitted = now.Add(time.Minute) }),
			with(given, func(j *job.Job) { j.Submitted = now.Add(time.Minute) })},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := opened(t, folder)
			err := errors.Join(s.Commit(&store.Changes{Jobs: []*job.Job{&given}}), s.Begin([]*job.Job{&begun}, nil))
			if c.later != nil {
				err = errors.Join(err, s.Commit(&store.Changes{Jobs: []*job.Job{c.later}}))
			}
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time nothing is taken over
				s = opened(t, folder)
				got, err := s.Get("a")
				if err := errors.Join(err, s.Close()); err != nil {
					t.Fatal(err)
				}
				if got.State != c.want.State || got.Attempt != c.want.Attempt || got.Begun != c.want.Begun || got.Worker != c.want.Worker ||
					!got.Started.Equal(c.want.Started) {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			}
		})
	}
}

// TestBeginForgotten: a job that the store does not have, or not any more, is not made of its beginning, and one that was covered is not there.
func TestBeginForgotten(t *testing.T) {
	folder := t.TempDir()
	s := opened(t, folder)
	j := &job.Job{Spec: job.Spec{ID: "a", Type: "t"}, State: job.Assigned, Submitted: time.Now(), Attempt: 1, Begun: 1}
	k := *j
	k.ID, k.Begun = "b", 0
	begun := k
	begun.State, begun.Begun = job.Running, 1
	err := errors.Join(s.Commit(&store.Changes{Jobs: []*job.Job{&k}}), s.Begin([]*job.Job{j, &begun}, nil), s.Begin(nil, []string{"b"}), s.Close())
	if err != nil {
		t.Fatal(err)
	}
	s = opened(t, folder)
	defer s.Close()
	if got, err := s.Get("a"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := s.Get("b"); err != nil || got.State != job.Assigned {
		t.Errorf("got %+v, %v", got, err)
	}
}
