package scheduler

import (
	"fmt"
	"slices"
	"time"

	"cancha/jobs/job"
)

// tick does what it is time for.
func (s *state) tick(now time.Time) {
	s.wake(now)
	s.expire(now)
	for _, l := range []*line{&s.waiting, &s.later, &s.deadlines} {
		l.prune(2*len(s.tasks), func(id string) bool { return s.tasks[id] != nil })
	}
	for _, w := range s.byID() {
		if now.Sub(w.heard) > s.settings.Lease {
			s.lose(w, now)
		}
	}
	s.miss(now)
	if !s.restored.IsZero() && !now.Before(s.restored.Add(s.grace())) {
		s.giveAnew(now)
	}
}

// slept tells that the scheduler itself did not run for so long: it was stopped, or its machine was. Workers are not silent because nobody has listened.
func (s *state) slept(d time.Duration) {
	for _, w := range s.workers {
		w.heard, w.free = w.heard.Add(d), time.Time{}
	}
	for _, t := range s.out {
		t.heard = t.heard.Add(d)
	}
	if !s.restored.IsZero() {
		s.restored = s.restored.Add(d)
	}
}

// grace is for how long a new scheduler waits for workers to tell what they have.
func (s *state) grace() time.Duration { return 2 * s.settings.Lease / beats }

// next is when tick is to be called again; zero: nothing is to be done at any time.
func (s *state) next() (at time.Time) {
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	sooner(s.later.next())
	sooner(s.deadlines.next())
	for _, w := range s.workers {
		sooner(w.heard.Add(s.settings.Lease + time.Millisecond))
	}
	if !s.restored.IsZero() {
		sooner(s.restored.Add(s.grace()))
	}
	return at
}

// wake has jobs wait for a worker whose time has come.
func (s *state) wake(now time.Time) {
	for {
		e, ok := s.later.due(now)
		if !ok {
			return
		}
		if t := s.tasks[e.id]; t != nil && t.State == job.Queued && t.left == 0 && t.SameAs == "" {
			t.ready = now
			s.wait(t)
		}
	}
}

// expire ends jobs whose deadline has passed.
func (s *state) expire(now time.Time) {
	for {
		e, ok := s.deadlines.due(now)
		if !ok {
			return
		}
		if t := s.tasks[e.id]; t != nil && t.Deadline.Equal(e.at) { // another one may have had the id before
			s.stop(t, job.Failed, "its deadline, "+t.Deadline.Format(time.RFC3339)+", has passed", now)
		}
	}
}

// byID are the workers in a fixed order.
func (s *state) byID() (all []*worker) {
	for _, w := range s.workers {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *worker) int { return compareIDs(a.ID, b.ID) })
	return all
}

// lose gives up a worker: what it runs, and what only it was given, goes elsewhere.
func (s *state) lose(w *worker, now time.Time) {
	delete(s.workers, w.ID)
	s.counts["workers lost"]++
	s.replan = true
	alone := !slices.ContainsFunc(s.byID(), func(other *worker) bool { return other.Device == w.Device })
	for _, t := range s.held() {
		switch {
		case t.State == job.Running && t.Worker == w.ID:
			s.takeFrom(t, w, now)
		case t.State == job.Assigned && (t.own && t.planned == w.ID || alone && t.WorkerType == w.Device):
			s.takeBack(t, now)
			s.wait(t)
		case t.State == job.Assigned && t.planned == w.ID:
			t.planned = ""
		}
	}
}

// miss looks for jobs that are not where they should be.
func (s *state) miss(now time.Time) {
	if now.Sub(s.looked) < s.settings.Lease/(2*beats) { // some thousands may be out, and a turn takes a millisecond
		return
	}
	s.looked = now
	s.missRuns(now)
	s.missMessages(now)
}

// missRuns takes jobs from workers that are heard of without them: started again, they know nothing of what they ran.
func (s *state) missRuns(now time.Time) {
	for _, t := range s.heldIf(func(t *task) bool {
		return t.State == job.Running && s.workers[t.Worker] != nil && now.Sub(t.heard) > s.settings.Lease
	}) {
		w := s.workers[t.Worker]
		delete(w.running, t.ID)
		s.takeFrom(t, w, now)
	}
}

// missMessages sends jobs again whose messages are not where they were sent, for a worker that could begin with them has had nothing to do for a lease: a
// foreign program has taken them from a queue of all workers, as the original's workers do, or somebody has purged it, or another worker has fetched them ahead and is
// busy for hours. They go to a worker's own queue, where nobody else looks; what comes of the first message is refused.
func (s *state) missMessages(now time.Time) {
	for _, t := range s.heldIf(func(t *task) bool { return t.State == job.Assigned && !t.sent.IsZero() && s.unclaimed(t, now) }) {
		t.Reason = fmt.Sprintf("nobody has begun with it within %v, though a worker is free: it is sent again", now.Sub(t.sent).Round(time.Millisecond))
		t.passed = true
		s.counts["sent again"]++
		s.takeBack(t, now)
		s.wait(t)
	}
}

// unclaimed tells whether a worker would have begun with a job if its message were there.
func (s *state) unclaimed(t *task, now time.Time) bool {
	for _, w := range s.workers {
		could := w.Device == t.WorkerType && w.runs(t) && !w.Draining && (!t.own || w.ID == t.Worker)
		if could && !w.free.IsZero() && now.Sub(latest(w.free, t.sent)) > s.settings.Lease && now.Sub(w.heard) <= 2*s.settings.Lease/beats {
			return true
		}
	}
	return false
}

// held are the jobs that were given to workers, in a fixed order.
func (s *state) held() []*task { return s.heldIf(func(*task) bool { return true }) }

func (s *state) heldIf(is func(*task) bool) (all []*task) {
	for _, t := range s.out {
		if is(t) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *task) int { return compareIDs(a.ID, b.ID) })
	return all
}

// takeFrom has a job wait again that a lost worker runs, or may run. What comes of that attempt is of no account.
func (s *state) takeFrom(t *task, w *worker, now time.Time) {
	t.Error = fmt.Sprintf("worker %s has not been heard of for %v", w.ID, now.Sub(w.heard).Round(time.Millisecond))
	if now.Sub(w.heard) < s.settings.Lease {
		t.Error = "worker " + w.ID + " does not run it any more"
	}
	if t.Begun >= t.MaxAttempts() {
		s.end(t, job.Dead, t.Error, now)
		return
	}
	t.planned, t.own = "", false
	s.become(t.Job, job.Queued, now)
	s.enqueue(t, now)
}

// giveAnew looks after jobs that another scheduler had given and nobody has begun: whether their messages are there is not known, so they are sent anew, and
// the old ones refused.
func (s *state) giveAnew(now time.Time) {
	s.restored = time.Time{}
	for _, t := range s.held() {
		if t.State == job.Assigned && t.before { // not by the time at which it was given, which another clock may have told
			s.takeBack(t, now)
			s.wait(t)
		}
	}
}
