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
	s.overdue(now)
	for _, l := range []*line{s.waiting[""], s.waiting[placement.CPU], s.waiting[placement.GPU], &s.later, &s.deadlines, &s.limits, &s.strange} {
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
			s.silent(w, now)
		}
	}
	s.miss(now)
	if !s.restored.IsZero() && !now.Before(s.restored.Add(s.grace())) {
		s.giveAnew(now)
	}
}

// anew is after what time there is another plan though nothing has happened, while jobs wait: a worker that was slow to tell of itself
// takes jobs again, and what was predicted of those that run may have come otherwise.
const anew = time.Second

// slept tells that the scheduler itself did not run for so long: it was stopped, or its machine was. Workers are not silent because nobody
// has listened.
func (s *state) slept(d time.Duration) {
	for _, w := range s.workers {
		w.heard, w.free = w.heard.Add(d), time.Time{}
	}
	for _, t := range s.out {
		t.heard, t.until = t.heard.Add(d), t.until.Add(d)
	}
	for _, at := range []*time.Time{&s.restored, &s.echoed} {
		if !at.IsZero() {
			*at = at.Add(d)
		}
	}
}

// echo takes in what the scheduler has said to itself. If that was long ago, the broker was away, and so it was for the workers: they get
// the time that they need to find it again, as if all had just been heard of.
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
	sooner(s.limits.next())
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
	for e := range s.later.over(now) {
		if t := s.tasks[e.id]; t != nil && t.State == job.Queued && t.left == 0 && t.SameAs == "" {
			s.stand(t, now)
		}
	}
}

// giveUp ends jobs of a type that none of the workers that are there has, and none has ever had. Where there is no worker, nobody knows.
func (s *state) giveUp(now time.Time) {
	for e := range s.strange.over(now) {
		t := s.tasks[e.id]
		switch {
		case t == nil || t.State != job.Queued || s.knows(t.Type):
		case len(s.workers) == 0 || s.served(t):
			s.strange.add(e.id, now.Add(s.settings.Unknown))
		default:
			s.stop(t, job.Failed, fmt.Sprintf("job_type: %q; no worker runs it, and none has come in %v that does. They run %s", t.Type,
				s.settings.Unknown, s.known()), now)
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
	for e := range s.deadlines.over(now) {
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
	for _, t := range s.outsideIf(func(t *task) bool { return t.State == job.Running && t.Worker == w.ID }) {
		s.takeFrom(t, w, now)
	}
	s.unassign(w, now)
}

// unassign has what only a worker that is gone, or stuck, was given go elsewhere, or wait and say why.
func (s *state) unassign(w *worker, now time.Time) {
	alone := !slices.ContainsFunc(s.byID(), func(other *worker) bool { return other.ID != w.ID && other.Device == w.Device && !other.AllStuck() })
	for _, t := range s.outsideIf(func(t *task) bool { return t.State == job.Assigned }) {
		switch {
		case (t.own && t.planned == w.ID || alone && t.WorkerType == w.Device):
			s.takeBack(t, now)
			s.wait(t)
		case t.planned == w.ID:
			t.planned = ""
		}
	}
}

// silent gives up a worker of which nothing is heard. Its process may be stopped and hold what it had fetched: what it may have fetched
// before is sent again, for whoever is free next.
func (s *state) silent(w *worker, now time.Time) {
	s.silenced[w.Device] = now
	s.lose(w, now)
	for _, t := range s.outsideIf(func(t *task) bool {
		return t.State == job.Assigned && !t.own && t.WorkerType == w.Device && !t.sent.IsZero() && !t.sent.After(w.heard)
	}) {
		s.resend(t, "worker "+w.ID+", of which nothing is heard, may have fetched it", now)
	}
}

// resend has a job wait for another message, for the one that was sent is not where it should be. What comes of that one is refused.
func (s *state) resend(t *task, why string, now time.Time) {
	t.Reason = why + ": it is sent again"
	s.counts["sent again"]++
	s.takeBack(t, now)
	s.wait(t)
}

// turns are when the last message was sent with which a worker has begun, by priority: those that were sent to the same queue before it
// have had their turn.
type turns [job.MaxPriority + 1]time.Time

// begins notes that a message has had its turn.
func (s *state) begins(t *task) {
	if t.own || t.sent.IsZero() {
		return
	}
	of := s.turns[t.WorkerType]
	if of == nil {
		of = &turns{}
		s.turns[t.WorkerType] = of
	}
	of[t.Priority] = latest(of[t.Priority], t.sent)
}

// haunts is for how long a worker that has fallen silent may hold messages of which nobody knows: as long as its connection is there, the
// broker goes on to give it some.
const haunts = time.Hour

// passedOver tells whether a worker of the device may hold a job's message, and others have begun with what was sent a lease later, or
// less, and is no more urgent.
func (s *state) passedOver(t *task, now time.Time) bool {
	of, at := s.turns[t.WorkerType], s.silenced[t.WorkerType]
	if t.own || of == nil || at.IsZero() || now.Sub(at) > haunts || now.Sub(t.sent) <= s.settings.Lease {
		return false
	}
	for _, sent := range of[:t.Priority+1] {
		if sent.After(t.sent) {
			return true
		}
	}
	return false
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

// missMessages sends jobs again whose messages are not where they were sent, for a worker that could begin with them has had nothing to do
// for a lease, or has begun with later ones: a foreign program has taken them from a queue of all workers, as the original's workers do, or
// somebody has purged it, or another worker has fetched them ahead and is busy for hours. They go to a worker's own queue, where nobody
// else looks; what comes of the first message is refused.
func (s *state) missMessages(now time.Time) {
	for _, t := range s.outsideIf(func(t *task) bool { return t.State == job.Assigned && !t.sent.IsZero() && s.unclaimed(t, now) }) {
		t.passed = true
		s.resend(t, fmt.Sprintf("nobody has begun with it within %v, though a worker is free", now.Sub(t.sent).Round(time.Millisecond)), now)
	}
	for _, t := range s.outsideIf(func(t *task) bool { return t.State == job.Assigned && !t.sent.IsZero() && s.passedOver(t, now) }) {
		t.passed = true
		s.resend(t, fmt.Sprintf("nobody has begun with it within %v, though later ones have had their turn", now.Sub(t.sent).Round(time.Millisecond)), now)
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

// outsideIf are the jobs that were given to workers and are so, in a fixed order.
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

// giveAnew looks after jobs that another scheduler had given and nobody has begun: whether their messages are there is not known, so they
// are sent anew, and the old ones refused.
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
