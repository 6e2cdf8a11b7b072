package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
)

// ErrClosed is of a cluster that was closed.
var ErrClosed = errors.New("the cluster was closed; jobs.Open opens the jobs again")

// Submit puts jobs down, and returns their ids when they are durable. Those without an ID get one.
func (k *Cluster) Submit(ctx context.Context, specs ...Spec) (ids []string, err error) {
	if k.answers.over() {
		return nil, fmt.Errorf("jobs: submit: %w", ErrClosed)
	}
	messages := make([]queue.Message, 0, len(specs))
	for _, s := range specs {
		named := s.ID != ""
		if !named {
			s.ID = rand.Text()
		}
		if s.ReplyTo == "" {
			s.ReplyTo = k.answers.queue
		}
		m, err := s.Message()
		if err != nil {
			return nil, fmt.Errorf("jobs: submit: %w", err)
		}
		messages, ids = append(messages, m), append(ids, s.ID)
		k.answers.expect(s, named)
	}
	err = k.broker.Publish(ctx, job.QueueJobs, messages...)
	if errors.Is(err, queue.ErrUnknownQueue) { // no scheduler has been here; it will find them
		if _, err = k.broker.Declare(ctx, scheduler.Queues()[0]); err == nil {
			err = k.broker.Publish(ctx, job.QueueJobs, messages...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("jobs: submit: %w", err)
	}
	return ids, nil
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

// Wait waits until a job has ended. That it has failed is no error of Wait: Result.State tells. Of jobs of other processes it asks now and then.
func (k *Cluster) Wait(ctx context.Context, id string) (*Result, error) {
	if ended := k.answers.of(id); ended != nil {
		r, err := k.await(ctx, id, ended)
		if err != nil {
			return nil, fmt.Errorf("jobs: wait for %s: %w", id, err)
		}
		return r, nil
	}
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
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("jobs: wait for %s: %w", id, context.Cause(ctx))
		}
	}
}

// elsewhere is how often a job is looked at whose id this program has given: a process before it may have submitted it, which gets the result then.
const elsewhere = 2 * time.Second

// await waits for the end of a job that was submitted here.
func (k *Cluster) await(ctx context.Context, id string, e *ended) (*Result, error) {
	for {
		var look <-chan time.Time
		if e.spec != nil {
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
		if j, err := k.Job(ctx, id); err == nil && j.State.Ended() &&
			j.Other(e.spec) == "" { // with other parameters it was refused, and an answer is on its way
			return outcome(j), nil
		}
	}
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

// answers are the results of this process's jobs, and what it is told.
type answers struct {
	queue    string
	consumer queue.Consumer
	reading  sync.WaitGroup
	stop     context.CancelFunc
	closed   chan struct{} // when nothing is read any more

	mu      sync.Mutex
	waiting map[string]*ended
	asked   map[string]chan []byte
	old     []string // ids that have ended, the first one first
	kept    int      // bytes of their results
}

// Bounds of the results that are kept; of older ones the scheduler is asked.
const (
	mostKept      = 10_000
	mostKeptBytes = 64 << 20
)

// keep keeps how a job has ended, and forgets older ones.
func (a *answers) keep(id string, r *Result) {
	a.old, a.kept = append(a.old, id), a.kept+len(r.Value)
	for len(a.old) > mostKept || a.kept > mostKeptBytes && len(a.old) > 1 {
		a.kept -= len(a.waiting[a.old[0]].result.Value)
		delete(a.waiting, a.old[0])
		a.old = a.old[1:]
	}
}

// ended is a job's end; done is closed when it is there.
type ended struct {
	done   chan struct{}
	result *Result
	spec   *Spec // of one whose id was given; nil: it was made here
}

// listen declares a queue of answers, which is removed when this process has been away for so long, and reads it.
func listen(ctx context.Context, b queue.Broker, expires time.Duration) (*answers, error) {
	a := &answers{queue: "cancha.answers." + rand.Text(), waiting: map[string]*ended{}, asked: map[string]chan []byte{},
		closed: make(chan struct{})}
	if _, err := b.Declare(ctx, queue.Spec{Name: a.queue, Expires: expires}); err != nil {
		return nil, err
	}
	c, err := b.Consume(ctx, a.queue, 256)
	if err != nil {
		return nil, err
	}
	a.consumer = c
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.reading.Go(func() { a.read(ctx) })
	return a, nil
}

func (a *answers) read(ctx context.Context) {
	for {
		d, err := a.consumer.Next(ctx)
		if err != nil {
			return
		}
		a.take(d)
		a.reading.Go(func() { _ = d.Ack(ctx) }) // or it comes again
	}
}

// take gives an answer to who waits for it.
func (a *answers) take(d *queue.Delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reply := a.asked[d.CorrelationID]; reply != nil {
		reply <- d.Body
		delete(a.asked, d.CorrelationID)
		return
	}
	e := a.waiting[d.CorrelationID]
	if e == nil || e.result != nil {
		return
	}
	var o struct {
		ID      string          `json:"job_id"`
		Type    string          `json:"job_type"`
		Status  State           `json:"status"`
		Error   string          `json:"error"`
		Result  json.RawMessage `json:"result"`
		Worker  string          `json:"worker_id"`
		Device  string          `json:"worker_type"`
		Reason  string          `json:"reason"`
		Begun   int             `json:"attempts"`
		Seconds float64         `json:"execution_time"`
		Queued  float64         `json:"queue_time"`
	}
	if err := json.Unmarshal(d.Body, &o); err != nil {
		o.Error, o.Status = "a result that cannot be read: "+err.Error(), job.Failed
	}
	e.result = &Result{o.ID, o.Type, o.Status, o.Error, o.Result, o.Worker, o.Device, o.Reason, o.Begun, o.Seconds, o.Queued}
	close(e.done)
	a.keep(d.CorrelationID, e.result)
}

func (a *answers) expect(s Spec, named bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting[s.ID] != nil {
		return
	}
	e := &ended{done: make(chan struct{})}
	if named {
		e.spec = &s
	}
	a.waiting[s.ID] = e
}

func (a *answers) of(id string) *ended {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting[id]
}

// runs tells that a job was submitted here, and that its end is not known yet.
func (a *answers) runs(id string) bool {
	e := a.of(id)
	if e == nil {
		return false
	}
	select {
	case <-e.done:
		return false
	default:
		return true
	}
}

func (a *answers) ask(id string) chan []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[id] = make(chan []byte, 1)
	return a.asked[id]
}

func (a *answers) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asked, id)
}

func (a *answers) over() bool {
	select {
	case <-a.closed:
		return true
	default:
		return false
	}
}

// close is for one goroutine; again it does nothing.
func (a *answers) close() error {
	if a.over() {
		return nil
	}
	close(a.closed)
	a.stop()
	a.reading.Wait()
	return a.consumer.Close()
}
