package scheduler

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// place decides where those jobs go that wait, and where those stay that were given and have not begun.
func (s *state) place(now time.Time) {
	s.replan, s.placed = false, now
	given, waiting := s.given(), s.first(s.horizon())
	if len(given)+len(waiting) == 0 {
		return
	}
	all := make([]placement.Job, 0, len(given)+len(waiting))
	for _, t := range append(given, waiting...) {
		all = append(all, t.planning(now))
	}
	for _, d := range s.planner.Plan(all, s.planning(now)).Decisions {
		s.decide(s.tasks[d.Job], d, now)
	}
	for _, t := range waiting {
		if t.State == job.Queued {
			s.wait(t)
		}
	}
	s.replan = false
}

func (s *state) horizon() int { return cmp.Or(s.settings.Placement.Horizon, 256) }

// given are the jobs that workers have and have not begun, in the order in which they were given.
func (s *state) given() (all []*task) {
	for _, t := range s.out {
		if t.State == job.Assigned {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *task) int { return cmp.Or(a.Assigned.Compare(b.Assigned), cmp.Compare(a.ID, b.ID)) })
	return all
}

// standing tells whether jobs wait that could run.
func (s *state) standing() bool {
	for _, l := range s.waiting {
		if len(l.all) > 0 {
			return true
		}
	}
	return false
}

// first takes jobs out of the lines of those that wait: so many of those that order no device, and half as many of those that order each,
// or a busy GPU's would keep a free CPU idle.
func (s *state) first(most int) (all []*task) {
	unserved := most / 4
	for _, device := range append([]placement.Device{""}, placement.Devices()...) {
		n := most
		if device != "" {
			n = most / 2
		}
		all = append(all, s.firstOf(s.waiting[device], n, &unserved)...)
	}
	return all
}

// firstOf takes so many jobs out of a line, and a few more that no worker there is can run, which say why. The rest of the latter stands aside until
// there is another worker: or 256 jobs for a GPU that there is not would be all that is ever looked at.
func (s *state) firstOf(l *line, most int, unserved *int) (all []*task) {
	taken := map[*task]bool{} // one that was begun elsewhere, and waits again, stands in the line twice
	for served := 0; served < most; {
		e, ok := l.pop()
		if !ok {
			break
		}
		t := s.tasks[e.id]
		if t == nil || t.State != job.Queued || taken[t] {
			continue
		}
		taken[t] = true
		switch {
		case s.served(t):
			served++
		case *unserved > 0:
			*unserved--
		default:
			t.Reason = "waits: no worker that is there can run it"
			s.aside = append(s.aside, t.ID)
			continue
		}
		all = append(all, t)
	}
	return all
}

// served tells whether a worker is there that runs jobs of this type on the device that this one orders, and has the memory.
func (s *state) served(t *task) bool {
	for _, w := range s.workers {
		if (t.Device == "" || t.Device == w.Device) && (w.Types == nil || slices.Contains(w.Types, t.Type)) && (w.Memory == 0 || t.work.Memory <= w.Memory) {
			return true
		}
	}
	return false
}

// recall puts those back into the line that stand aside: another worker is there.
func (s *state) recall() {
	all := s.aside
	s.aside = nil
	for _, id := range all {
		if t := s.tasks[id]; t != nil && t.State == job.Queued {
			s.wait(t)
		}
	}
}

func (t *task) planning(now time.Time) placement.Job {
	return placement.Job{ID: t.ID, Type: t.Type, Work: t.work, Device: t.Device, PreferGPU: t.PreferGPU, Priority: t.Priority,
		Waited: max(now.Sub(t.ready).Seconds(), 0), Worker: t.planned}
}

// planning are the workers as the planner sees them, in a fixed order.
func (s *state) planning(now time.Time) (all []placement.Worker) {
	for _, w := range s.workers {
		p := w.Worker
		p.Stalled = now.Sub(w.heard) > s.settings.Lease/2
		p.Running = nil
		for _, r := range w.running {
			if t := s.tasks[r.Job]; t != nil {
				p.Running = append(p.Running, placement.Run{Work: t.work, Elapsed: now.Sub(t.Started).Seconds(), Progress: r.Progress})
			}
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b placement.Worker) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// decide does what the planner says of a job.
func (s *state) decide(t *task, d placement.Decision, now time.Time) {
	if t.State == job.Assigned && (d.From == "" || !s.moves(t, d)) {
		return // it stays, and the reason is still that for which it went there
	}
	t.Reason, t.Predicted = d.Reason(), d.Predicted()
	switch {
	case t.State == job.Assigned:
		s.takeBack(t, now)
		if d.Now {
			s.give(t, d, now)
		} else {
			s.wait(t)
		}
	case d.Now:
		s.give(t, d, now)
	}
}

// moves tells whether a job is taken from the queue in which it is. From one of which any worker of the device takes it, it goes to another
// device alone, and only to begin there at once: the message that it leaves behind is refused when it is claimed.
func (s *state) moves(t *task, d placement.Decision) bool {
	if t.own {
		return true
	}
	w := s.workers[d.Worker]
	return d.Now && w != nil && w.Device != t.WorkerType
}

// takeBack has a job wait again that was given and has not begun.
func (s *state) takeBack(t *task, now time.Time) {
	s.drop(t)
	t.planned, t.own = "", false
	s.become(t.Job, job.Queued, now)
}

// bounced has jobs wait again whose messages were for a queue that is gone. Its worker declares it anew if it lives: that takes a moment.
func (s *state) bounced(all []outgoing, now time.Time) {
	for _, m := range all {
		t := s.tasks[m.ID]
		if t == nil || t.State != job.Assigned || strconv.Itoa(t.Attempt) != m.Headers[job.HeaderAttempt] {
			continue
		}
		t.Again = now.Add(s.settings.Backoff)
		s.takeBack(t, now)
		s.enqueue(t, now)
	}
}

// give sends a job to the queue of a device, or of one worker where no other of the device can run it.
func (s *state) give(t *task, d placement.Decision, now time.Time) {
	w := s.workers[d.Worker]
	t.planned, t.own, t.before, t.sent = d.Worker, t.passed || d.Alone || s.alone(t, w), false, time.Time{}
	t.Attempt++
	t.Assigned, t.Worker, t.WorkerType, t.Model, t.Progress, t.Doing = now, "", w.Device, w.Model, 0, ""
	to := job.DeviceQueue(w.Device)
	if t.own {
		to, t.Worker = job.WorkerQueue(w.Device, w.ID), w.ID
	}
	m, err := t.Message()
	if err != nil {
		s.end(t, job.Failed, err.Error(), now)
		return
	}
	m.Headers = map[string]string{job.HeaderAttempt: strconv.Itoa(t.Attempt)}
	s.messages = append(s.messages, outgoing{to, m, ""})
	s.become(t.Job, job.Assigned, now)
}

// alone tells whether another worker of the device could not run the job.
func (s *state) alone(t *task, w *worker) bool {
	for _, other := range s.workers {
		if other.Device == w.Device && other.ID != w.ID && !other.runs(t) {
			return true
		}
	}
	return false
}

func (w *worker) runs(t *task) bool {
	return (w.Types == nil || slices.Contains(w.Types, t.Type)) && (w.Memory == 0 || t.work.Memory <= w.Memory)
}
