package server

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/scheduler"
)

// submissions are those that were put into job_queue here and that the scheduler may not have seen yet: of two clients that send one id, or
// one key, at the same time, the second hears that it is taken.
type submissions struct {
	mu  sync.Mutex
	all map[name]submission
}

// name is a job's id, or its key.
type name struct {
	key  bool
	text string
}

type submission struct {
	id      string
	content [32]byte
	at      time.Time
}

// arriving is for how long the scheduler may not know of a submission: what is older has come, and been forgotten since.
const arriving = time.Minute

// take notes a submission, unless one of the same id or key and of other content may be on its way: then it returns that one's id. fresh are
// the names that were not noted before.
func (s *submissions) take(spec *job.Spec, now time.Time) (fresh []name, other string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[name]submission{}
	}
	if len(s.all) >= mostArriving {
		s.prune(now)
	}
	one := submission{spec.ID, spec.Content(), now}
	names := []name{{false, spec.ID}}
	if spec.Key != "" {
		names = append(names, name{true, spec.Key})
	}
	for _, n := range names {
		before, ok := s.all[n]
		if ok && now.Sub(before.at) < arriving && before.content != one.content {
			return nil, before.id, n.taken()
		}
		if !ok {
			fresh = append(fresh, n)
		}
	}
	for _, n := range names {
		s.all[n] = one
	}
	return fresh, "", nil
}

// release is for a submission that was refused.
func (s *submissions) release(fresh []name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range fresh {
		delete(s.all, n)
	}
}

func (n name) taken() error {
	field, what := "job_id", "id"
	if n.key {
		field, what = "key", "key"
	}
	return fmt.Errorf("%w: %s: %q was submitted just now with another type or other parameters: take a new %s for each", scheduler.ErrOther, field, n.text, what)
}

// mostArriving is how many are noted before old ones are looked for.
const mostArriving = 10_000

// prune forgets those that have come. Where all are new, it forgets all: there was no room to tell more.
func (s *submissions) prune(now time.Time) {
	for n, one := range s.all {
		if now.Sub(one.at) >= arriving {
			delete(s.all, n)
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
	maps.DeleteFunc(s.all, func(_ name, one submission) bool { return one.id == id })
}

// admit tells whether a submission may be put into the queue: its type is not misspelled, and its id and its key not another job's. It is
// noted before the scheduler is asked: what the scheduler took in meanwhile, and was forgotten here for that, the scheduler tells of.
func (s *Server) admit(ctx context.Context, spec *job.Spec) error {
	for {
		fresh, other, taken := s.submissions.take(spec, time.Now())
		if taken == nil {
			known, err := s.config.Scheduler.Check(ctx, spec)
			switch {
			case err != nil:
				s.submissions.release(fresh)
			case known:
				s.submissions.forget(spec.ID)
			}
			return err
		}
		if _, err := s.config.Scheduler.Job(ctx, other); err != nil { // it is still on its way
			return taken
		}
		s.submissions.forget(other) // the scheduler has it, and is asked what came of it
	}
}
