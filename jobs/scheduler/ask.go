package scheduler

import (
	"fmt"
	"time"

	"cancha/jobs/job"
)

// cancel ends a job that has not ended.
func (s *state) cancel(id string, now time.Time) error {
	t := s.tasks[id]
	if t == nil {
		j, err := s.find(id)
		if err != nil {
			return err
		}
		return fmt.Errorf("job %q is %s already", id, j.State)
	}
	s.stop(t, job.Cancelled, "", now)
	return nil
}

// replay tries a dead job again, as if it had not been tried.
func (s *state) replay(id string, now time.Time) error {
	if t := s.tasks[id]; t != nil {
		return fmt.Errorf("job %q has not ended: it is %s", id, t.State)
	}
	j, err := s.find(id)
	if err != nil {
		return err
	}
	if j.State != job.Dead {
		return fmt.Errorf("job %q is %s; only dead ones are tried again", id, j.State)
	}
	if !j.Deadline.IsZero() && !j.Deadline.After(now) {
		return fmt.Errorf("the deadline of job %q, %s, has passed", id, j.Deadline.Format(time.RFC3339))
	}
	if other, ok := s.keys[j.Key]; ok {
		return fmt.Errorf("job %q of the same key is on its way; wait for it", other)
	}
	work, err := j.Work()
	if err != nil {
		return err
	}
	again := *j // the other one may be on its way to the store
	j = &again
	t := &task{Job: j, work: work}
	j.Begun, j.Again, j.Ended, j.SameAs = 0, time.Time{}, time.Time{}, ""
	j.Reason = "tried again"
	s.tasks[id] = t
	s.takeKey(t)
	s.become(j, job.Queued, now)
	s.bound(t)
	return s.resolve(t, now)
}
