package scheduler

import (
	"math"
	"slices"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
)

// beat takes in what a worker tells of itself, and answers its claims.
func (s *state) beat(b *job.Beat, now time.Time) {
	if b.Worker.Validate() != nil || queue.CheckName(job.WorkerQueue(b.Worker.Device, b.Worker.ID)) != nil {
		s.counts["beats that make no sense"]++
		return
	}
	w := s.workers[b.Worker.ID]
	if w != nil && !s.speaks(w, b, now) {
		return
	}
	if b.Gone {
		s.gone(b.Worker.ID, now)
		return
	}
	if w = s.workers[b.Worker.ID]; w == nil {
		w = &worker{process: b.Process}
		s.workers[b.Worker.ID] = w
		s.replan = true
		s.arrived(b.Worker.ID)
	}
	s.learn(&b.Worker)
	if w.Device != b.Worker.Device || w.Memory != b.Worker.Memory || !slices.Equal(w.Types, b.Worker.Types) ||
		w.heard.IsZero() { // a new one, or one that runs others now
		defer s.recall()
	}
	s.replan = s.replan || w.Draining != b.Worker.Draining
	if b.Worker.AllStuck() && !w.AllStuck() {
		defer s.unassign(w, now)
	}
	s.replan = s.replan || w.Stuck != b.Worker.Stuck
	w.Worker, w.host, w.heard, w.running, w.stuck = b.Worker, b.Host, now, map[string]job.Run{}, b.Stuck
	for _, r := range b.Running {
		s.goesOn(w, r, now)
	}
	for _, c := range b.Claims {
		if v := s.claim(w, c, now); v != "" {
			s.order(w.ID, job.Order{Job: c.Job, Attempt: c.Attempt, Verdict: v})
		}
	}
	w.rests(len(b.Claims) > 0, now)
}

// await gives a channel that is closed once a worker of this id has been heard of.
func (s *state) await(worker string) <-chan struct{} {
	arrival := s.awaited[worker]
	if arrival == nil {
		arrival = make(chan struct{})
		s.awaited[worker] = arrival
	}
	if s.workers[worker] != nil {
		s.arrived(worker)
	}
	return arrival
}

func (s *state) arrived(worker string) {
	if arrival := s.awaited[worker]; arrival != nil {
		close(arrival)
		delete(s.awaited, worker)
	}
}

// rests notes since when a worker could begin with more.
func (w *worker) rests(claims bool, now time.Time) {
	switch busy := len(w.running)+w.Stuck >= max(w.Slots, 1) || claims; {
	case busy:
		w.free = time.Time{}
	case w.free.IsZero():
		w.free = now
	}
}

// speaks tells whether a beat is of the process that has the worker's id. Of two that call themselves so, the first one has it: the other
// is told to leave as soon as the first has been heard of once more, and takes its place when that was silent for two beats, or said that
// it is gone.
func (s *state) speaks(w *worker, b *job.Beat, now time.Time) bool {
	switch {
	case w.process == "" || b.Process == w.process:
		w.process = b.Process
		if w.rival != "" && now.Sub(w.since) > s.settings.Lease/(2*beats) { // not by what was on its way when it was killed
			s.counts["workers refused"]++
			s.order(w.ID, job.Order{Process: w.rival, Verdict: job.Leave})
			w.rival = ""
		}
		return true
	case b.Gone:
		if w.rival == b.Process {
			w.rival = ""
		}
		return false
	case now.Sub(w.heard) > s.grace() && !s.deaf(now):
		s.silenced[w.Device] = now // the process before may be one that is stopped
		s.lose(w, now)
		return true
	case w.rival != b.Process:
		w.rival, w.since = b.Process, now
	}
	return false
}

// adopted returns an open job. An attempt that is later than any of which this scheduler knows was given by the one before it, which was
// killed between sending it and putting that down: it is as good as one of its own.
func (s *state) adopted(id string, attempt int, now time.Time) *task {
	t := s.tasks[id]
	if t != nil && t.State == job.Queued && t.left == 0 && t.SameAs == "" && attempt > t.Attempt && attempt < math.MaxInt32 {
		t.Attempt, t.Assigned, t.planned, t.own, t.before, t.sent = attempt, now, "", false, !s.restored.IsZero(), now
		s.become(t.Job, job.Assigned, now)
	}
	return t
}

// goesOn takes in that an attempt runs. One that nobody wants stops.
func (s *state) goesOn(w *worker, r job.Run, now time.Time) {
	t := s.adopted(r.Job, r.Attempt, now)
	switch {
	case t == nil && s.unsure(): // its submission may come again
		return
	case t == nil, t.Attempt != r.Attempt, t.State == job.Queued, t.State == job.Running && t.Worker != w.ID:
		s.order(w.ID, job.Order{Job: r.Job, Attempt: r.Attempt, Verdict: job.Drop})
		return
	case t.State == job.Assigned: // it was begun before this scheduler was
		s.begin(t, w, now.Add(-time.Duration(r.Elapsed*float64(time.Second))), now)
	}
	w.running[r.Job], t.heard = r, now
	t.Progress, t.Doing = min(max(r.Progress, 0), 1), clip(r.Doing, job.MaxText)
}

// claim decides whether an attempt may begin. "" tells that its worker hears so in a moment, and has only asked once more.
func (s *state) claim(w *worker, c job.Claim, now time.Time) job.Verdict {
	t := s.adopted(c.Job, c.Attempt, now)
	switch {
	case t == nil, t.Attempt != c.Attempt, t.State == job.Queued:
		s.counts["claims refused"]++
		return job.Drop
	case t.State == job.Assigned && c.Count > 1 && !s.restored.IsZero(): // who had it before may have begun, and tell so in a moment
		return job.Later
	case t.State == job.Assigned:
	case t.Worker == w.ID && c.Token == t.token: // the answer to the same claim was lost
		t.heard = now
		if t.granted {
			return ""
		}
		return job.Begin
	case t.Worker != w.ID && (s.deaf(now) || s.alive(t, now)):
		return job.Later
	}
	// A worker does not claim what it runs: if it asks for its own, the process was another one, which is gone.
	if t.Begun >= t.MaxAttempts() {
		s.end(t, job.Dead, "its worker ended, or its attempts failed, as often as it may be tried", now)
		return job.Drop
	}
	if t.State == job.Running {
		s.counts["attempts lost"]++
	}
	t.token = c.Token
	s.begins(t)
	s.begin(t, w, now, now)
	w.running[t.ID] = job.Run{Job: t.ID, Attempt: t.Attempt}
	return job.Begin
}

// alive tells whether the worker that runs a job was heard of lately, with it: that it was heard of is not enough, for it may have been
// started again.
func (s *state) alive(t *task, now time.Time) bool {
	return s.workers[t.Worker] != nil && now.Sub(t.heard) <= 2*s.settings.Lease/beats
}

// begin notes that a worker runs a job.
func (s *state) begin(t *task, w *worker, since, now time.Time) {
	t.Begun++
	t.heard, t.before = now, false
	t.Started, t.Worker, t.WorkerType, t.Model = since, w.ID, w.Device, w.Model
	s.limit(t, now)
	if t.State == job.Running {
		s.note(t.Job, now)
		return
	}
	s.become(t.Job, job.Running, now)
}

// gone forgets a worker that has said so. What it had comes again by the broker.
func (s *state) gone(id string, now time.Time) {
	if w := s.workers[id]; w != nil {
		s.lose(w, now)
	}
}
