package scheduler

import (
	"errors"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/store"
)

// restore takes in the open jobs of a scheduler that was before, in the order in which they came. left tells that it was closed: then the
// store knows of all that it has done. One that was killed may have sent messages whose jobs the store has as queued, and others whose
// submissions come again.
func (s *state) restore(all []*job.Job, left bool, now time.Time) error {
	s.restored, s.killed = now, !left
	for _, j := range all {
		work, err := j.Work()
		if err != nil { // of a program that took larger ones
			work = placement.Work{Type: job.Family(j.Type)}
		}
		t := &task{Job: j, work: work, ready: j.Submitted, before: j.State == job.Assigned || j.State == job.Queued && s.killed}
		s.tasks[j.ID] = t
		if j.State == job.Queued && !j.Again.IsZero() { // the last attempt has failed
			t.told = []int{j.Attempt}
		}
		if j.State == job.Assigned || j.State == job.Running {
			s.out[j.ID] = t
		}
		if j.SameAs == "" {
			s.takeKey(t)
		}
	}
	for _, j := range all {
		if err := s.resume(s.tasks[j.ID], now); err != nil {
			return err
		}
	}
	return nil
}

// unsure tells that workers may have jobs of which this scheduler does not know yet.
func (s *state) unsure() bool { return s.killed && !s.restored.IsZero() }

// resume goes on with a job. Of its worker nothing was heard yet.
func (s *state) resume(t *task, now time.Time) error {
	if t == nil { // it has ended with one that it waited for
		return nil
	}
	s.bound(t)
	switch {
	case t.State == job.Running:
		t.heard = now
		s.limit(t, now)
		if s.workers[t.Worker] != nil {
			break
		}
		s.workers[t.Worker] = &worker{Worker: placement.Worker{ID: t.Worker, Device: t.WorkerType, Model: t.Model, Draining: true},
			heard: now, running: map[string]job.Run{}}
	case t.State != job.Queued:
	case t.SameAs != "":
		other, err := s.find(t.SameAs)
		// Its time was over, or it was taken by an older version for a job of the same key since its id is called so: as if it had not been.
		if errors.Is(err, store.ErrUnknown) || err == nil && (t.Key == "" || other.Key != t.Key) {
			t.SameAs = ""
			return s.resolve(t, now)
		}
		if err == nil {
			s.joined(t, other, now)
		}
		return err
	default:
		return s.resolve(t, now)
	}
	return nil
}
