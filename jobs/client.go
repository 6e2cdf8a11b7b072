package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
)

// ErrClosed is of a cluster that was closed.
var ErrClosed = errors.New("the cluster was closed; jobs.Open opens the jobs again")

// ErrOther tells that the ID or the Key of a job is of another job, of another type or with other parameters.
var ErrOther = scheduler.ErrOther

// Submit puts jobs down, and returns their ids when they are durable. Those without an ID get one. The error is ErrOther, and none is put
// down, where an ID or a Key is known to be of another job, which has another type or other parameters. Where no scheduler is there to tell,
// or the other job is on its way, too, that one fails instead which the scheduler meets later: its Result says so.
func (k *Cluster) Submit(ctx context.Context, specs ...Spec) (ids []string, err error) {
	if k.answers.over() {
		return nil, fmt.Errorf("jobs: submit: %w", ErrClosed)
	}
	messages, all := make([]queue.Message, 0, len(specs)), make([]submitted, 0, len(specs))
	for _, s := range specs {
		one := submitted{Spec: s, named: s.ID != ""}
		if !one.named {
			one.ID = rand.Text()
		}
		if one.ReplyTo == "" {
			one.ReplyTo = k.answers.queue
		}
		m, err := one.Message()
		if err != nil {
			return nil, fmt.Errorf("jobs: submit: %w", err)
		}
		messages, all, ids = append(messages, m), append(all, one), append(ids, one.ID)
	}
	if err := k.clash(ctx, all); err != nil {
		return nil, fmt.Errorf("jobs: submit: %w", err)
	}
	undo, err := k.answers.expect(all)
	if err == nil {
		err = k.publish(ctx, messages)
	}
	if err != nil {
		undo()
		return nil, fmt.Errorf("jobs: submit: %w", err)
	}
	return ids, nil
}

func (k *Cluster) publish(ctx context.Context, messages []queue.Message) error {
	err := k.broker.Publish(ctx, job.QueueJobs, messages...)
	if errors.Is(err, queue.ErrUnknownQueue) { // no scheduler has been here; it will find them
		if _, err = k.broker.Declare(ctx, scheduler.Queues()[0]); err == nil {
			err = k.broker.Publish(ctx, job.QueueJobs, messages...)
		}
	}
	return err
}

// Result is how a job has ended.
type Result struct {
	ID, Type string
	State    State
	Error    string          // of a job that is not completed
	Value    json.RawMessage // of one that is
	Worker   string
	Device   string // "cpu" or "gpu"
	Reason   string // why it went there
	Attempts int
	Seconds  float64 // that the last attempt ran
	Queued   float64 // seconds from submission to the begin of the last attempt
}

// Decode reads the value into what to points at. The error is the job's where it is not completed.
func (r *Result) Decode(to any) error {
	if r.State != job.Completed {
		return fmt.Errorf("jobs: job %s is %s: %s", r.ID, r.State, r.Error)
	}
	if err := json.Unmarshal(r.Value, to); err != nil {
		return fmt.Errorf("jobs: the result of job %s: %w", r.ID, err)
	}
	return nil
}

// arriving is for how long a job may be unknown that another process has submitted just now.
const arriving = 2 * time.Second

// Wait waits until a job has ended. That it has failed is no error of Wait: Result.State tells. A dead one that is tried again has not ended.
// Of jobs whose results go elsewhere, and of those of other processes, it asks now and then.
func (k *Cluster) Wait(ctx context.Context, id string) (r *Result, err error) {
	for r == nil && err == nil { // once more where the job is tried again meanwhile
		if e := k.answers.of(id); e != nil {
			r, err = k.await(ctx, id, e)
		} else {
			r, err = k.poll(ctx, id)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("jobs: wait for %s: %w", id, err)
	}
	return r, nil
}

// glance is how often a job is looked at whose result does not come here.
const glance = 200 * time.Millisecond

// poll waits for the end of a job that was not submitted here, or has been dead.
func (k *Cluster) poll(ctx context.Context, id string) (*Result, error) {
	for begin := time.Now(); ; {
		j, err := k.Job(ctx, id)
		switch {
		case errors.Is(err, ErrUnknown) && time.Since(begin) < arriving:
		case err != nil:
			return nil, err
		case j.State.Ended():
			return outcome(j), nil
		}
		select {
		case <-time.After(glance):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// elsewhere is how often a job is looked at whose id this program has given: a process before it may have submitted it, which gets the result then.
const elsewhere = 2 * time.Second

// await waits for the end of a job that was submitted here. Without a result and an error it was tried again meanwhile.
func (k *Cluster) await(ctx context.Context, id string, e *ended) (*Result, error) {
	for {
		select { // before anything else that may be so, too
		case <-e.done:
			return e.result, nil
		default:
		}
		var look <-chan time.Time
		switch {
		case e.away:
			look = time.After(glance)
		case e.spec != nil:
			look = time.After(elsewhere)
		}
		select {
		case <-e.done:
			return e.result, nil
		case <-k.answers.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-look:
		}
		if r, err := k.glimpse(ctx, id, e); r != nil || err != nil {
			return r, err
		}
	}
}

// glimpse looks whether a job has ended that was submitted here, and whose result may go elsewhere. It is nil, without an error, where
// nobody knows yet.
func (k *Cluster) glimpse(ctx context.Context, id string, e *ended) (*Result, error) {
	j, err := k.Job(ctx, id)
	switch {
	case errors.Is(err, ErrUnknown) && e.away && time.Since(e.at) > e.spec.Keep()+arriving: // it is forgotten by now, and was on its way until then
		return nil, err
	case err != nil:
		return nil, nil
	}
	why := j.Other(e.spec)
	switch {
	case why == "" && j.State.Ended():
		return outcome(j), nil
	case why != "" && e.away: // else the answer that it was refused is on its way
		return &Result{ID: id, Type: e.spec.Type, State: job.Failed, Error: why}, nil
	}
	return nil, nil
}

func outcome(j *Job) *Result {
	r := &Result{ID: j.ID, Type: j.Type, State: j.State, Error: j.Error, Value: j.Result, Worker: j.Worker, Device: string(j.WorkerType),
		Reason: j.Reason, Attempts: j.Begun, Seconds: j.Ran}
	if !j.Started.IsZero() {
		r.Queued = j.Started.Sub(j.Submitted).Seconds()
	}
	return r
}

// Job returns a job as it is now; ErrUnknown where there is none.
func (k *Cluster) Job(ctx context.Context, id string) (*Job, error) {
	if k.answers.over() {
		return nil, fmt.Errorf("jobs: job %s: %w", id, ErrClosed)
	}
	if s := k.Scheduler(); s != nil {
		return s.Job(ctx, id)
	}
	a, err := k.ask(ctx, scheduler.Question{Ask: "job", ID: id})
	if err != nil {
		return nil, err
	}
	return a.Jobs[0], nil
}

// Jobs lists jobs, the last that came first; more tells that there may be others behind them.
func (k *Cluster) Jobs(ctx context.Context, q Query) (all []*Job, more bool, err error) {
	if s := k.Scheduler(); s != nil {
		return s.Jobs(ctx, q)
	}
	a, err := k.ask(ctx, scheduler.Question{Ask: "jobs", Query: q})
	return a.Jobs, a.More, err
}

// Cancel ends a job that has not ended, wherever it is.
func (k *Cluster) Cancel(ctx context.Context, id string) error {
	if s := k.Scheduler(); s != nil {
		return s.Cancel(ctx, id)
	}
	_, err := k.ask(ctx, scheduler.Question{Ask: "cancel", ID: id})
	return err
}

// Replay tries a dead job again.
func (k *Cluster) Replay(ctx context.Context, id string) error {
	err := k.replay(ctx, id)
	if err == nil {
		k.answers.renew(id)
	}
	return err
}

func (k *Cluster) replay(ctx context.Context, id string) error {
	if s := k.Scheduler(); s != nil {
		return s.Replay(ctx, id)
	}
	_, err := k.ask(ctx, scheduler.Question{Ask: "replay", ID: id})
	return err
}

// Endings returns the jobs that have ended behind the event of a number, so many events at most (0: 2000), and where to go on: a follower
// that asks so again and again sees each end once. See scheduler.Endings for what it may have missed.
func (k *Cluster) Endings(ctx context.Context, after uint64, most int) (Endings, error) {
	if s := k.Scheduler(); s != nil {
		return s.Endings(ctx, after, most)
	}
	a, err := k.ask(ctx, scheduler.Question{Ask: "endings", After: after, Most: most})
	if err == nil && a.Endings == nil {
		err = errors.New("jobs: endings: the scheduler is of an older version")
	}
	if err != nil {
		return Endings{}, err
	}
	return *a.Endings, nil
}

// Workers lists the workers that were heard of lately.
func (k *Cluster) Workers(ctx context.Context) ([]Worker, error) {
	if s := k.Scheduler(); s != nil {
		return s.Workers(ctx)
	}
	a, err := k.ask(ctx, scheduler.Question{Ask: "workers"})
	return a.Workers, err
}

// ask asks a scheduler that is elsewhere, and waits for its answer as long as the context allows.
func (k *Cluster) ask(ctx context.Context, q scheduler.Question) (a scheduler.Answer, err error) {
	if k.answers.over() {
		return a, fmt.Errorf("jobs: %s: %w", q.Ask, ErrClosed)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	id := rand.Text()
	reply := k.answers.ask(id)
	defer k.answers.forget(id)
	err = k.broker.Publish(ctx, job.QueueControl, queue.Message{ID: id, CorrelationID: id, ReplyTo: k.answers.queue, Body: body})
	if errors.Is(err, queue.ErrUnknownQueue) {
		return a, fmt.Errorf("jobs: %s: no scheduler has been here; start one (cancha scheduler): %w", q.Ask, err)
	}
	if err != nil {
		return a, fmt.Errorf("jobs: %s: %w", q.Ask, err)
	}
	select {
	case body := <-reply:
		err = json.Unmarshal(body, &a)
	case <-k.answers.closed:
		return a, fmt.Errorf("jobs: %s: %w", q.Ask, ErrClosed)
	case <-ctx.Done():
		return a, fmt.Errorf("jobs: %s: no scheduler answers: %w", q.Ask, context.Cause(ctx))
	}
	switch {
	case a.Unknown:
		return a, fmt.Errorf("jobs: %s: %w", q.ID, ErrUnknown)
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, err
}
