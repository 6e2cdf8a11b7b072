package scheduler

import (
	"context"

	"cancha/jobs/job"
)

// An attempt is put down before its worker hears that it may begin: one that ends its process at once would never be used up otherwise. The
// worker's slot is idle until then, and a cargo is long: it has all that has happened to all jobs, and what comes while one is under way
// waits for the next. So of jobs that the store knows, that they begin is put down alone, beside the cargo, which has it once more with the
// rest of the job. Jobs that workers claim before the store knows them wait for the cargo.

// starts are attempts that begin.
type starts struct {
	jobs   []*job.Job             // copies
	grants map[string][]job.Order // by worker
}

// granting returns where a grant waits until it may be told.
func (s *state) granting(o job.Order) map[string][]job.Order {
	t := s.tasks[o.Job]
	t.granted = true
	if t.down != t.Attempt {
		return s.grants
	}
	if s.starts.grants == nil {
		s.starts.grants = map[string][]job.Order{}
	}
	j := *t.Job
	s.starts.jobs = append(s.starts.jobs, &j)
	s.noted[j.ID] = j.Begun
	return s.starts.grants
}

// told notes that workers have heard of grants: one that claims once more has not.
func (s *state) told(grants map[string][]job.Order) {
	for _, all := range grants {
		for _, o := range all {
			if t := s.tasks[o.Job]; t != nil && t.Attempt == o.Attempt {
				t.granted = false
			}
		}
	}
}

// cover notes that the store has jobs as they are.
func (s *state) cover(changed map[string]*job.Job) {
	for id, j := range changed {
		if n, ok := s.noted[id]; ok && n <= j.Begun {
			delete(s.noted, id)
			s.covered = append(s.covered, id)
		}
	}
}

// begin has attempts begin, unless some are under way, or nothing is put down.
func (s *Scheduler) begin(l *loop) {
	if l.beginning || len(s.state.starts.jobs) == 0 || s.failing.Load() > 0 {
		return
	}
	l.beginning = true
	b, covered := s.state.starts, s.state.covered
	s.state.starts, s.state.covered = starts{}, nil
	s.acks.Go(func() {
		if s.persist([]func(context.Context) error{func(context.Context) error { return s.deposing(s.store.Begin(b.jobs, covered)) }}) {
			s.announce(b.grants)
		}
		s.began <- b.grants
	})
}
