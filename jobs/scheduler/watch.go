package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// tick does what it is time for.
func (s *state) tick(now time.Time) {
	s.wake(now)
	s.expire(now)
	s.giveUp(now)
	for _, l := range []*line{s.waiting[""], s.waiting[placement.CPU], s.waiting[placement.GPU], &s.later, &s.deadlines, &s.strange} {
		l.prune(2*len(s.tasks), func(id string) bool { return s.tasks[id] != nil })
	}
	if len(s.aside) > 2*len(s.tasks)+spare {
		s.aside = slices.DeleteFunc(s.aside, func(id string) bool { return s.tasks[id] == nil })
	}
	if s.standing() && now.Sub(s.placed) >= anew {
		s.replan = true
	}
	if s.deaf(now) { // silence says nothing
		return
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

// anew is after what time there is another plan though nothing has happened, while jobs wait: a worker that was slow to tell of itself takes jobs again, and what was
// predicted of those that run may have come otherwise.
const anew = time.Second

// slept tells that the scheduler itself did not run for so long: it was stopped, or its machine was. Workers are not silent because nobody has listened.
func (s *state) slept(d time.Duration) {
	for _, w := range s.workers {
		w.heard, w.free = w.heard.Add(d), time.Time{}
	}
	for _, t := range s.out {
		t.heard = t.heard.Add(d)
	}
	for _, at := range []*time.Time{&s.restored, &s.echoed} {
		if !at.IsZero() {
			*at = at.Add(d)
		}
	}
}

// echo takes in what the scheduler has said to itself. If that was long ago, the broker was away, and so it was for the workers: they get the time that they need to find it
// again, as if all had just been heard of.
func (s *state) echo(now time.Time) {
	if s.deaf(now) {
		s.slept(now.Sub(s.echoed))
		for _, w := range s.workers {
			w.heard = now
		}
		for _, t := range s.out {
			t.heard = now
		}
	}
	s.echoed = now
}

// deaf tells that the scheduler does not even hear itself.
func (s *state) deaf(now time.Time) bool { return !s.echoed.IsZero() && now.Sub(s.echoed) > s.grace() }

// grace is for how long a new scheduler waits for workers to tell what they have.
func (s *state) grace() time.Duration { return 2 * s.settings.Lease / beats }

// next is when tick is to be called again; zero: nothing is to be done at any time. While the scheduler is deaf, nobody is missed.
func (s *state) next(now time.Time) (at time.Time) {
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	sooner(s.later.next())
	sooner(s.deadlines.next())
	sooner(s.strange.next())
	if s.deaf(now) {
		return at
	}
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
			s.stand(t, now)
		}
	}
}

// giveUp ends jobs of a type that none of the workers that are there has, and none has ever had. Where there is no worker, nobody knows.
func (s *state) giveUp(now time.Time) {
	for {
		e, ok := s.strange.due(now)
		if !ok {
			return
		}
		t := s.tasks[e.id]
		switch {
		case t == nil || t.State != job.Queued || s.knows(t.Type):
		case len(s.workers) == 0 || s.served(t):
			s.strange.add(e.id, now.Add(s.settings.Unknown))
		default:
			s.stop(t, job.Failed, fmt.Sprintf("job_type: %q; no worker runs it, and none has come in %v that does. They run %s", t.Type, s.settings.Unknown, s.known()), now)
		}
	}
}

// knows tells whether a worker of this type has been there, also under a scheduler before, or comes: the four types are those of all.
func (s *state) knows(kind string) bool {
	if job.Family(kind) != kind { // of a process that does not come back
		return false
	}
	return s.types[kind] || s.types[anyType] || s.history.Knows(kind) || slices.Contains(job.Types(), kind)
}

// anyType stands for what a worker runs that names no types.
const anyType = ""

// learn notes which types a worker runs.
func (s *state) learn(w *placement.Worker) {
	if w.Types == nil {
		s.types[anyType] = true
	}
	for _, kind := range w.Types {
		s.types[kind] = true
	}
}

// known lists the types that were heard of, the first ones of many.
func (s *state) known() string {
	all := slices.Sorted(maps.Keys(s.types))
	if len(all) > 20 {
		all = append(all[:20], "…")
	}
	return strings.Join(all, ", ")
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
	slices.SortFunc(all, func(a, b *worker) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// lose gives up a worker: what it runs, and what only it was given, goes elsewhere.
func (s *state) lose(w *worker, now time.Time) {
	delete(s.workers, w.ID)
	s.counts["workers lost"]++
	s.replan = true
	alone := !slices.ContainsFunc(s.byID(), func(other *worker) bool { return other.Device == w.Device })
	for _, t := range s.outside() {
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
	for _, t := range s.outsideIf(func(t *task) bool {
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
	for _, t := range s.outsideIf(func(t *task) bool { return t.State == job.Assigned && !t.sent.IsZero() && s.unclaimed(t, now) }) {
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

// outside are the jobs that were given to workers, in a fixed order.
func (s *state) outside() []*task { return s.outsideIf(func(*task) bool { return true }) }

func (s *state) outsideIf(is func(*task) bool) (all []*task) {
	for _, t := range s.out {
		if is(t) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *task) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// takeFrom has a job wait again that a lost worker runs, or may run. What comes of that attempt is of no account.
func (s *state) takeFrom(t *task, w *worker, now time.Time) {
	t.Error = fmt.Sprintf("worker %s has not been heard of for %v", w.ID, now.Sub(w.heard).Round(time.Millisecond))
	if now.Sub(w.heard) < s.settings.Lease {
		t.Error = "worker " + w.ID + " does not run it any more"
	}
	s.counts["attempts lost"]++
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
	for _, t := range s.given() {
		if t.State == job.Assigned && t.before { // not by the time at which it was given, which another clock may have told
			s.takeBack(t, now)
			s.stand(t, now)
		}
	}
	held := s.held
	s.held = nil
	for _, t := range held {
		if s.tasks[t.ID] == t && t.State == job.Queued && t.before {
			s.enqueue(t, now)
		}
	}
}
