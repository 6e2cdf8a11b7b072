package scheduler

import (
	"fmt"
	"time"

	"cancha/jobs/job"
)

// limit notes until when an attempt that has begun may go on. Its worker ends it at its timeout; where that says nothing, it ends here.
func (s *state) limit(t *task, now time.Time) {
	if t.Timeout == 0 {
		return
	}
	t.until = latest(t.Started.Add(t.Timeout), now).Add(s.settings.Grace)
	s.limits.add(t.ID, t.until)
}

// overdue ends attempts that have taken longer than they may, whatever their workers do.
func (s *state) overdue(now time.Time) {
	for e := range s.limits.over(now) {
		t := s.tasks[e.id]
		switch {
		case t == nil || t.State != job.Running || t.Timeout == 0: // it has ended, or waits again
		case t.until.After(now): // it is another attempt, or the scheduler did not run for a while
			s.limits.add(e.id, t.until)
		case s.deaf(now): // how it has ended may be told, and not heard
			t.until = now.Add(s.settings.Grace)
			s.limits.add(e.id, t.until)
		default:
			s.overrun(t, now)
		}
	}
}

// overrun has an attempt fail that has taken too long. What its worker reports of it later is of no account.
func (s *state) overrun(t *task, now time.Time) {
	s.drop(t)
	s.left(t, t.Worker)
	s.counts["attempts overdue"]++
	t.told = append(t.told, t.Attempt)
	t.planned, t.own = "", false
	t.Ran = max(now.Sub(t.Started).Seconds(), 0)
	s.fail(t, fmt.Sprintf("it has taken longer than its timeout, %v, and worker %s has not ended it within %v more", t.Timeout, t.Worker,
		s.settings.Grace), false, now)
}
