package scheduler

import (
	"errors"
	"fmt"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// accept takes a submission in. One that was there before is answered with what became of it. One that nobody can run fails, and refused
// says why. An error is the store's: the submission is to come again. again tells that it has been handed out before.
func (s *state) accept(m *queue.Message, again bool, now time.Time) (refused string, err error) {
	spec, invalid := job.Read(m)
	if spec.ID == "" || len(spec.ID) > job.MaxText {
		spec.ID = s.newID()
	}
	before, err := s.find(spec.ID)
	switch {
	case err == nil:
		s.counts["submitted again"]++
		if why := before.Other(&spec); why != "" && invalid == nil {
			s.clash(spec, why, now)
			return why, nil
		}
		if before.State.Ended() {
			s.sendAgain(before)
		}
		return "", nil
	case !errors.Is(err, store.ErrUnknown):
		return "", err
	case invalid != nil:
		s.refuse(spec, invalid, now)
		return invalid.Error(), nil
	}
	return s.admit(spec, again, now)
}

// clash answers a submission that has the id of another job: with that one's result it would be told what it has not asked. Nothing is put
// down, for the id is the other's.
func (s *state) clash(spec job.Spec, why string, now time.Time) {
	s.counts["refused"]++
	s.send(&job.Job{Spec: spec, State: job.Failed, Submitted: now, Ended: now, Error: why})
	s.messages[len(s.messages)-1].result = "" // the one that the store has may be still to be sent
}

// find returns a job, whether it has ended or not. Of one that has ended just now the store may not know, or may know another state: a job
// that was to wait for it would wait for ever, and one that is submitted again would run again.
func (s *state) find(id string) (*job.Job, error) {
	if j := s.recent(id); j != nil {
		return j, nil
	}
	return s.past.Get(id)
}

// recent returns a job that has not ended, or of whose end the store does not know; nil: ask that.
func (s *state) recent(id string) *job.Job {
	if t := s.tasks[id]; t != nil {
		return t.Job
	}
	if j := s.changed[id]; j != nil {
		return j
	}
	return s.flying.changed[id]
}

// byKey returns the job that was submitted last under a key, unless it ends as another one does.
func (s *state) byKey(key string) (*job.Job, error) {
	for _, keys := range []map[string]string{s.keys, s.effects.keys, s.flying.keys} {
		if id, ok := keys[key]; ok {
			return s.find(id)
		}
	}
	return s.past.ByKey(key)
}

// refuse has a submission fail that nobody can run: its result says why.
func (s *state) refuse(spec job.Spec, why error, now time.Time) {
	// What is wrong with it is left out, so that what is kept is right.
	kept := job.Spec{ID: spec.ID, Type: spec.Type, ReplyTo: spec.ReplyTo, Correlation: spec.Correlation}
	if kept.Type == "" {
		kept.Type = "unknown"
	}
	if kept.Check() != nil {
		kept = job.Spec{ID: spec.ID, Type: "unknown"}
	}
	t := &task{Job: &job.Job{Spec: kept, State: job.Queued, Submitted: now}}
	s.tasks[kept.ID] = t
	s.counts["refused"]++
	s.end(t, job.Failed, why.Error(), now)
}

// admit makes a job of a submission. One that a scheduler before has had in hand may have been given by it. One whose key is of something
// else fails, and refused says why.
func (s *state) admit(spec job.Spec, again bool, now time.Time) (refused string, err error) {
	same, err := s.same(&spec)
	if err != nil {
		return "", err
	}
	work, _ := spec.Work() // it was looked at by Read
	t := &task{Job: &job.Job{Spec: spec, State: job.Queued, Submitted: now}, work: work, before: again && s.unsure()}
	s.tasks[spec.ID] = t
	s.note(t.Job, now)
	s.bound(t)
	if same != nil {
		return s.joined(t, same, now), nil
	}
	s.takeKey(t)
	if err := s.resolve(t, now); err != nil { // it comes again, as if it had not been here
		delete(s.tasks, spec.ID)
		s.freeKey(t)
		delete(s.changed, spec.ID)
		return "", err
	}
	return "", nil
}

// joined has a job end as another one of its key does. Where that asks for something else this one fails: with its result it would be told
// what it has not asked.
func (s *state) joined(t *task, other *job.Job, now time.Time) (refused string) {
	if why := other.OtherOfKey(&t.Spec); why != "" {
		s.counts["refused"]++
		t.SameAs = ""
		s.end(t, job.Failed, why, now)
		return why
	}
	t.SameAs = other.ID
	s.follow(t, other, now)
	return ""
}

// takeKey notes that an open job has its key, if it has one.
func (s *state) takeKey(t *task) {
	if t.Key != "" {
		s.keys[t.Key] = t.ID
	}
}

// freeKey frees a job's key, and tells whether the job had it.
func (s *state) freeKey(t *task) bool {
	if t.Key == "" || s.keys[t.Key] != t.ID {
		return false
	}
	delete(s.keys, t.Key)
	return true
}

// same returns the job that was submitted before under the same key, unless it has failed: then the key is free.
func (s *state) same(spec *job.Spec) (*job.Job, error) {
	if spec.Key == "" {
		return nil, nil
	}
	j, err := s.byKey(spec.Key)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return nil, nil
	case err != nil:
		return nil, err
	case j.State.Ended() && j.State != job.Completed:
		return nil, nil
	}
	return j, nil
}

// follow has a job end as another one of its key has, or wait for that.
func (s *state) follow(t *task, other *job.Job, now time.Time) {
	if !other.State.Ended() {
		t.Reason = fmt.Sprintf("job %s was submitted before under the same key; this one ends as that one does", other.ID)
		s.followers[other.ID] = append(s.followers[other.ID], t.ID)
		return
	}
	t.Result, t.Worker, t.WorkerType, t.Model, t.Ran = other.Result, other.Worker, other.WorkerType, other.Model, other.Ran
	t.Reason = "as job " + other.ID + " of the same key"
	s.end(t, other.State, other.Error, now)
}

// resolve looks for the jobs that a job waits for, and has it wait.
func (s *state) resolve(t *task, now time.Time) error {
	t.left = 0
	for _, id := range t.After {
		other, err := s.find(id)
		switch {
		case errors.Is(err, store.ErrUnknown):
			s.end(t, job.Failed, fmt.Sprintf("after: there is no job %q; submit it before", id), now)
			return nil
		case err != nil:
			return err
		case !other.State.Ended():
			t.left++
			s.blocked[id] = append(s.blocked[id], t.ID)
		case other.State != job.Completed:
			s.end(t, job.Failed, "after: job "+id+" is "+string(other.State), now)
			return nil
		}
	}
	if t.left > 0 {
		t.Reason = fmt.Sprintf("waits for %d jobs", t.left)
		return nil
	}
	s.enqueue(t, now)
	return nil
}

// bound notes a job's deadline, also of one that waits for another one.
func (s *state) bound(t *task) {
	if !t.Deadline.IsZero() {
		s.deadlines.add(t.ID, t.Deadline)
	}
}

// enqueue has a job wait for its time, or for a worker.
func (s *state) enqueue(t *task, now time.Time) {
	if at := latest(t.NotBefore, t.Again); at.After(now) {
		s.later.add(t.ID, at)
		return
	}
	if t.before && s.unsure() {
		t.Reason = "a scheduler that was killed may have given it to a worker, which would tell within " + s.grace().String()
		s.held = append(s.held, t)
		return
	}
	t.Reason = ""
	s.stand(t, now)
}

// stand has a job wait from now on.
func (s *state) stand(t *task, now time.Time) {
	t.ready, t.before = now, false
	if meant := s.misspelled(t.Type); meant != "" {
		s.end(t, job.Failed, misspelling(t.Type, meant).Error(), now)
		return
	}
	if !s.knows(t.Type) {
		s.strange.add(t.ID, now.Add(s.settings.Unknown))
	}
	s.wait(t)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// wait puts a job into the line of those that could run. Waiting raises a priority, by one each Ageing: so the order of two jobs never
// changes, and is that of the times at which both would be of the same.
func (s *state) wait(t *task) {
	ageing := s.settings.Placement.Ageing
	if ageing == 0 {
		ageing = 30
	}
	s.waiting[t.Device].add(t.ID, t.ready.Add(-time.Duration(float64(t.Priority)*ageing*float64(time.Second))))
	s.replan = true
}
