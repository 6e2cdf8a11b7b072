package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/scheduler"
)

// submissions are those that were put into job_queue here and that the scheduler may not have seen yet: of two clients that send one id at
// the same time, the second hears that it is taken.
type submissions struct {
	mu  sync.Mutex
	all map[string]submission
}

type submission struct {
	content [32]byte
	at      time.Time
}

// arriving is for how long the scheduler may not know of a submission: what is older has come, and been forgotten since.
const arriving = time.Minute

// take notes a submission, unless one of the same id and of other content is on its way.
func (s *submissions) take(spec *job.Spec, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]submission{}
	}
	if len(s.all) >= mostArriving {
		s.prune(now)
	}
	before, ok := s.all[spec.ID]
	if ok && now.Sub(before.at) < arriving && before.content != spec.Content() {
		return fmt.Errorf("%w: job_id: %q was submitted just now with another type or other parameters: take a new id for each", scheduler.ErrOther, spec.ID)
	}
	s.all[spec.ID] = submission{spec.Content(), now}
	return nil
}

// mostArriving is how many are noted before old ones are looked for.
const mostArriving = 10_000

// prune forgets those that have come. Where all are new, it forgets all: there was no room to tell more.
func (s *submissions) prune(now time.Time) {
	for id, one := range s.all {
		if now.Sub(one.at) >= arriving {
			delete(s.all, id)
		}
	}
	if len(s.all) >= mostArriving {
		clear(s.all)
	}
}

// forget is for what did not get into the queue, and for what the scheduler knows.
func (s *submissions) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// admit tells whether a submission may be put into the queue: its type is not misspelled, and its id not another job's.
func (s *Server) admit(ctx context.Context, spec *job.Spec) error {
	known, err := s.config.Scheduler.Check(ctx, spec)
	if err != nil {
		return err
	}
	if known {
		s.submissions.forget(spec.ID)
		return nil
	}
	return s.submissions.take(spec, time.Now())
}
