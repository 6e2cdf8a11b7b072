package scheduler

import (
	"cmp"
	"errors"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/store"
)

func compareIDs(a, b string) int { return cmp.Compare(a, b) }

// restore takes in the open jobs of a scheduler that was before, in the order in which they came.
func (s *state) restore(all []*job.Job, now time.Time) error {
	for _, j := range all {
		work, err := j.Work()
		if err != nil { // of a program that took larger ones
			work = placement.Work{Type: j.Type}
		}
		t := &task{Job: j, work: work, ready: j.Submitted}
		s.tasks[j.ID] = t
		if j.State == job.Assigned || j.State == job.Running {
			s.out[j.ID], t.before = t, j.State == job.Assigned
		}
		if key := j.IdempotencyKey(); j.SameAs == "" {
			s.keys[key] = j.ID
		}
	}
	for _, j := range all {
		if err := s.resume(s.tasks[j.ID], now); err != nil {
			return err
		}
	}
	s.restored = now
	return nil
}

// resume goes on with a job. Of its worker nothing was heard yet.
func (s *state) resume(t *task, now time.Time) error {
	if t == nil { // it has ended with one that it waited for
		return nil
	}
	s.bound(t)
	switch {
	case t.State == job.Running:
		t.heard = now
		if s.workers[t.Worker] != nil {
			break
		}
		s.workers[t.Worker] = &worker{Worker: placement.Worker{ID: t.Worker, Device: t.WorkerType, Model: t.Model, Draining: true}, heard: now, running: map[string]job.Run{}}
	case t.State != job.Queued:
	case t.SameAs != "":
		other, err := s.find(t.SameAs)
		if errors.Is(err, store.ErrUnknown) { // its time was over: as if it had not been
			t.SameAs = ""
			return s.resolve(t, now)
		}
		if err == nil {
			s.follow(t, other, now)
		}
		return err
	default:
		return s.resolve(t, now)
	}
	return nil
}
