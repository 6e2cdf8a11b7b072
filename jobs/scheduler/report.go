package scheduler

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// MaxResult is how large a result may be, in bytes of JSON: larger ones belong into a file, whose name is the result.
const MaxResult = 1 << 20

// report takes in how an attempt has ended. An error says why the report is to come again.
func (s *state) report(r *job.Report, now time.Time) error {
	t := s.adopted(r.Job, r.Attempt, now)
	if t == nil {
		return s.late(r)
	}
	switch {
	case slices.Contains(t.told, r.Attempt):
		s.counts["reports again"]++
		return nil
	case t.Attempt != r.Attempt || t.State == job.Queued:
		s.counts["executed twice"]++ // the attempt was given up, and went on all the same
		return nil
	}
	t.told = append(t.told, r.Attempt)
	r.Worker, r.Model, r.Error = clip(r.Worker, job.MaxText), clip(r.Model, job.MaxText), clip(r.Error, maxError)
	s.left(t, r.Worker)
	t.Worker, t.Ran = r.Worker, max(r.Ran, 0)
	if r.Device != "" {
		t.WorkerType, t.Model = r.Device, r.Model
	}
	t.planned, t.own = "", false
	switch fault := fault(r); {
	case fault != "":
		s.fail(t, fault, true, now)
	case r.Error != "" && r.Last:
		s.end(t, job.Dead, r.Error, now)
	case r.Error != "":
		s.fail(t, r.Error, r.Final, now)
	default:
		s.complete(t, r, now)
	}
	return nil
}

// late takes in a report of a job that is not open: it is the one that has ended it, and comes again, or one of an attempt that was given
// up, or that of a job whose submission comes again.
func (s *state) late(r *job.Report) error {
	j, err := s.find(r.Job)
	switch {
	case errors.Is(err, store.ErrUnknown) && s.unsure():
		return fmt.Errorf("job %q, which a scheduler that was killed has given, is not known yet", r.Job)
	case err != nil && !errors.Is(err, store.ErrUnknown):
		return err
	case err == nil && j.Attempt == r.Attempt:
		s.counts["reports again"]++
	default:
		s.counts["executed twice"]++
	}
	return nil
}

// maxError is how much of an error is kept, in bytes: with a result that is no larger than it may be, the message of a result is one that
// every broker takes.
const maxError = 16 << 10

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// mostWorn is how often a job's message may be handed out too often before anybody has begun with it.
const mostWorn = 3

// worn looks after a job whose message was handed out too often. It may have killed its workers, or waited in hand when others did: it is
// sent anew, and ends when that does not help. A message that came again and again while the job runs elsewhere, as after a restart of the
// broker, is not missed: if that worker falls silent, there will be a new one.
func (s *state) worn(d *queue.Delivery, now time.Time) {
	t := s.tasks[d.ID]
	if t == nil || strconv.Itoa(t.Attempt) != d.Headers[job.HeaderAttempt] || t.State != job.Assigned {
		return
	}
	if t.worn++; t.worn == mostWorn {
		s.end(t, job.Dead, fmt.Sprintf("its message was handed out %d times, %d times over, and its workers ended each time", d.Count, mostWorn), now)
		return
	}
	s.takeBack(t, now)
	s.stand(t, now)
}

// left takes a job off the list of what its worker runs.
func (s *state) left(t *task, id string) {
	if w := s.workers[id]; w != nil {
		delete(w.running, t.ID)
	}
	if t.State == job.Assigned { // it was begun before this scheduler was, and no beat has told
		t.Begun++
	}
	s.replan = true
}

// fault is what makes a result none.
func fault(r *job.Report) string {
	switch {
	case r.Error != "":
		return ""
	case len(r.Result) > MaxResult:
		return fmt.Sprintf("the result has %d bytes; at most %d: write large results into a file, and return its name", len(r.Result), MaxResult)
	case len(r.Result) > 0 && !json.Valid(r.Result):
		return "the result is no JSON"
	}
	return ""
}

// complete ends a job that has a result, and remembers how long it took.
func (s *state) complete(t *task, r *job.Report, now time.Time) {
	if w := s.workers[r.Worker]; w != nil {
		add := s.history.Add
		if r.Cold {
			add = s.history.AddCold
		}
		if _, err := add(t.work, w.Worker, t.Ran); err == nil {
			s.measured = true
		}
	}
	s.measures.completed(t, r.Cold)
	t.Result, t.Error, t.Progress = r.Result, "", 1
	s.end(t, job.Completed, "", now)
}

// fail has a job tried again after a while, or ends it.
func (s *state) fail(t *task, why string, final bool, now time.Time) {
	t.Error = why
	switch {
	case final:
		s.end(t, job.Failed, why, now)
	case t.Begun >= t.MaxAttempts():
		s.end(t, job.Dead, why, now)
	default:
		wait := s.settings.backoff(t.Begun, s.random())
		t.Again = now.Add(wait)
		t.Reason = fmt.Sprintf("attempt %d of %d failed; tried again in %v", t.Begun, t.MaxAttempts(), wait.Round(time.Millisecond))
		s.become(t.Job, job.Queued, now)
		s.enqueue(t, now)
	}
}
