package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// do has the loop do something, and waits until its effects are durable.
func (s *Scheduler) do(ctx context.Context, ask func(s *state, now time.Time)) error {
	return s.ask(ctx, input{ask: ask, asked: make(chan struct{})})
}

// look has the loop do something that changes nothing: it does not wait for the disk.
func (s *Scheduler) look(ctx context.Context, ask func(s *state, now time.Time)) error {
	return s.ask(ctx, input{ask: ask, asked: make(chan struct{}), reads: true})
}

func (s *Scheduler) ask(ctx context.Context, i input) error {
	select {
	case s.in <- i:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	select {
	case <-i.asked:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// Cancel ends a job that has not ended, wherever it is. The error is store.ErrUnknown where there is none, or tells how it has ended.
func (s *Scheduler) Cancel(ctx context.Context, id string) error {
	return s.change(ctx, "cancel", func(st *state, now time.Time) error { return st.cancel(id, now) })
}

// Replay tries a dead job again, as if it had not been tried.
func (s *Scheduler) Replay(ctx context.Context, id string) error {
	return s.change(ctx, "replay", func(st *state, now time.Time) error { return st.replay(id, now) })
}

func (s *Scheduler) change(ctx context.Context, what string, do func(*state, time.Time) error) (err error) {
	if failed := s.do(ctx, func(st *state, now time.Time) { err = do(st, now) }); failed != nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("jobs/scheduler: %s: %w", what, err)
	}
	return nil
}

// Job returns a job as it is now: what it tells may not be on the disk yet.
func (s *Scheduler) Job(ctx context.Context, id string) (*job.Job, error) {
	j, err := s.job(ctx, id)
	if errors.Is(err, store.ErrUnknown) { // who has just submitted it asks before it is taken in: a turn later it is
		if err = s.do(ctx, func(*state, time.Time) {}); err == nil {
			j, err = s.job(ctx, id)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("jobs/scheduler: show: %w", err)
	}
	return j, nil
}

func (s *Scheduler) job(ctx context.Context, id string) (*job.Job, error) {
	all, err := s.now(ctx, []*job.Job{{Spec: job.Spec{ID: id}}})
	if err != nil || all[0].State != "" {
		return all[0], err
	}
	return s.store.Get(id)
}

// Jobs lists jobs as they are now, the last that came first; more tells that there may be others behind them.
func (s *Scheduler) Jobs(ctx context.Context, q store.Query) (all []*job.Job, more bool, err error) {
	if err = s.catchUp(ctx); err == nil {
		all, more, err = s.store.List(q)
	}
	if err == nil {
		all, err = s.now(ctx, all)
	}
	if err != nil {
		return nil, false, fmt.Errorf("jobs/scheduler: list: %w", err)
	}
	return all, more, nil
}

// catchUp waits until the store knows of what has been told: a result is sent while it is put down, and who has it may ask for a list at
// once. A store that fails is not waited for.
func (s *Scheduler) catchUp(ctx context.Context) error {
	var tried chan struct{}
	if err := s.look(ctx, func(*state, time.Time) { tried = s.tried }); err != nil || tried == nil {
		return err
	}
	select {
	case <-tried:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// now puts copies of those jobs that have not ended, or just have, in the place of what the store knows of them.
func (s *Scheduler) now(ctx context.Context, all []*job.Job) ([]*job.Job, error) {
	out := slices.Clone(all)
	err := s.look(ctx, func(st *state, _ time.Time) {
		for i, j := range out {
			if known := st.recent(j.ID); known != nil {
				c := *known
				out[i] = &c
			}
		}
	})
	return out, err
}

// Worker is a worker as the scheduler knows it.
type Worker struct {
	placement.Worker
	Host  string
	Heard time.Time // when it beat last
	Runs  []job.Run
	// Hung are attempts that nobody wants any more and that do not end: each takes a slot. Stuck is their number.
	Hung []job.Run `json:",omitempty"`
}

// Workers lists the workers that were heard of within a lease.
func (s *Scheduler) Workers(ctx context.Context) (all []Worker, err error) {
	err = s.look(ctx, func(st *state, _ time.Time) {
		for _, w := range st.byID() {
			one := Worker{Worker: w.Worker, Host: w.host, Heard: w.heard}
			for _, r := range w.running {
				one.Runs = append(one.Runs, r)
			}
			one.Hung = slices.Clone(w.stuck)
			for _, runs := range [][]job.Run{one.Runs, one.Hung} {
				slices.SortFunc(runs, func(a, b job.Run) int { return cmp.Compare(a.Job, b.Job) })
			}
			all = append(all, one)
		}
	})
	return all, err
}

// Heard waits until the scheduler has heard of a worker: from then on Workers lists it, and it gets jobs.
func (s *Scheduler) Heard(ctx context.Context, worker string) error {
	var heard <-chan struct{}
	if err := s.look(ctx, func(st *state, _ time.Time) { heard = st.await(worker) }); err != nil {
		return err
	}
	select {
	case <-heard:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// Counts are how many jobs are in each state that has not ended, and what the scheduler has counted since its store was made.
func (s *Scheduler) Counts(ctx context.Context) (states map[job.State]int, counted map[string]int64, err error) {
	states, counted = map[job.State]int{}, map[string]int64{}
	err = s.look(ctx, func(st *state, _ time.Time) {
		for _, t := range st.tasks {
			states[t.State]++
		}
		for name, n := range st.counts {
			counted[name] = n
		}
	})
	return states, counted, err
}

// Events returns what has happened behind a number, so many at most, and the number of the last there is.
func (s *Scheduler) Events(after uint64, most int) ([]store.Event, uint64, error) {
	return s.store.Events(after, most)
}

// Question is what another process asks of the scheduler, in job.QueueControl; the answer goes to the message's ReplyTo.
type Question struct {
	Ask   string      `json:"ask"` // one of cancel, replay, job, jobs, workers, counts, endings, check
	ID    string      `json:"id,omitempty"`
	Query store.Query `json:"query,omitzero"`
	After uint64      `json:"after,omitempty"` // of endings
	Most  int         `json:"most,omitempty"`  // of endings
	Specs []job.Spec  `json:"specs,omitempty"` // of check
}

// Answer is what it is told.
type Answer struct {
	Error   string            `json:"error,omitempty"`
	Unknown bool              `json:"unknown,omitempty"` // the error is store.ErrUnknown
	Jobs    []*job.Job        `json:"jobs,omitempty"`
	More    bool              `json:"more,omitempty"`
	Workers []Worker          `json:"workers,omitempty"`
	States  map[job.State]int `json:"states,omitempty"`
	Counted map[string]int64  `json:"counted,omitempty"`
	Endings *Endings          `json:"endings,omitempty"`
	Checked Checked           `json:"checked,omitzero"`
}

// questioned answers a question beside the loop, which it may need.
func (s *Scheduler) questioned(d *queue.Delivery, _ time.Time) {
	s.acks.Go(func() {
		body, err := s.answered(d.Body)
		if err == nil && d.ReplyTo != "" {
			err = s.broker.Publish(s.ctx, d.ReplyTo, queue.Message{CorrelationID: d.CorrelationID, Body: body, ContentType: "application/json"})
		}
		if err != nil { // who has asked is gone, or asks again
			s.logger.Warn("jobs/scheduler: a question was not answered", "error", err)
		}
	})
}

// answered is the answer as it is sent. Of a list of jobs that is too large for a message, it has the first ones, and says that there are more.
func (s *Scheduler) answered(question []byte) ([]byte, error) {
	a := s.answer(question)
	for {
		body, err := json.Marshal(a)
		switch {
		case err != nil || len(body) <= queue.MaxBody:
			return body, err
		case len(a.Jobs) < 2:
			return json.Marshal(Answer{Error: fmt.Sprintf("the answer has %d bytes, more than a message may have; ask for less", len(body))})
		}
		a.Jobs, a.More = a.Jobs[:len(a.Jobs)/2], true
	}
}

func (s *Scheduler) answer(body []byte) (a Answer) {
	q, err := Question{}, error(nil)
	if err = json.Unmarshal(body, &q); err != nil {
		return Answer{Error: "a question that cannot be read: " + err.Error()}
	}
	switch q.Ask {
	case "cancel":
		err = s.Cancel(s.ctx, q.ID)
	case "replay":
		err = s.Replay(s.ctx, q.ID)
	case "job":
		var j *job.Job
		if j, err = s.Job(s.ctx, q.ID); err == nil {
			a.Jobs = []*job.Job{j}
		}
	case "jobs":
		a.Jobs, a.More, err = s.Jobs(s.ctx, q.Query)
	case "workers":
		a.Workers, err = s.Workers(s.ctx)
	case "counts":
		a.States, a.Counted, err = s.Counts(s.ctx)
	case "endings":
		var e Endings
		e, err = s.Endings(s.ctx, q.After, q.Most)
		a.Endings = &e
	case "check":
		a.Checked, err = s.CheckAll(s.ctx, q.Specs)
	default:
		err = fmt.Errorf("a question %q; it is cancel, replay, job, jobs, workers, counts, endings or check", q.Ask)
	}
	if err != nil {
		return Answer{Error: err.Error(), Unknown: errors.Is(err, store.ErrUnknown)}
	}
	return a
}
