package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
)

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
	old     []*ended // that have ended, or whose results go elsewhere, the first one first
	kept    int      // bytes of their results
}

// Bounds of the results that are kept; of older ones the scheduler is asked.
const (
	mostKept      = 10_000
	mostKeptBytes = 64 << 20
)

// keep keeps how a job has ended, and forgets older ones.
func (a *answers) keep(e *ended) {
	a.old, a.kept = append(a.old, e), a.kept+e.bytes()
	for len(a.old) > mostKept || a.kept > mostKeptBytes && len(a.old) > 1 {
		first := a.old[0]
		a.kept -= first.bytes()
		if a.waiting[first.id] == first {
			delete(a.waiting, first.id)
		}
		a.old[0], a.old = nil, a.old[1:]
	}
}

// submitted is a job as it is submitted here; named tells that its id was given, and not made.
type submitted struct {
	Spec
	named bool
}

// ended is a job's end; done is closed when it is there, or when the job is tried again, which leaves no result.
type ended struct {
	id     string
	done   chan struct{}
	result *Result
	spec   *Spec // of one whose id was given, or whose result goes elsewhere; nil: of others
	away   bool  // its result goes elsewhere
	at     time.Time
}

func (e *ended) over() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// bytes are those of the result that is kept. Of one that goes elsewhere none is, should it come here all the same.
func (e *ended) bytes() int {
	if e.result == nil || e.away {
		return 0
	}
	return len(e.result.Value)
}

// listen declares a queue of answers, which is removed when this process has been away for so long, and reads it.
func listen(ctx context.Context, b queue.Broker, expires time.Duration) (*answers, error) {
	a := newAnswers("cancha.answers." + rand.Text())
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

func newAnswers(queue string) *answers {
	return &answers{queue: queue, waiting: map[string]*ended{}, asked: map[string]chan []byte{}, closed: make(chan struct{})}
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

// take gives an answer to who waits for it: that to a question by its correlation id, and a job's by its job_id, since the correlation id of
// that is what who has submitted it likes.
func (a *answers) take(d *queue.Delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reply := a.asked[d.CorrelationID]; reply != nil {
		reply <- d.Body
		delete(a.asked, d.CorrelationID)
		return
	}
	r := readResult(d)
	e := a.waiting[r.ID]
	if e == nil || e.over() {
		return
	}
	e.result = r
	close(e.done)
	switch {
	case r.State == job.Dead: // who waits hears so; it may be tried again, by whoever, so that the next one asks
		delete(a.waiting, r.ID)
	case !e.away: // those are among the old ones already
		a.keep(e)
	}
}

// readResult reads a job's result from its message.
func readResult(d *queue.Delivery) *Result {
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
	if o.ID == "" {
		o.ID = d.ID
	}
	return &Result{o.ID, o.Type, o.Status, o.Error, o.Result, o.Worker, o.Device, o.Reason, o.Begun, o.Seconds, o.Queued}
}

// expect notes jobs that are submitted, all or none. One that was submitted before and has ended is waited for anew: it may have been
// forgotten since, and run again. The error is ErrOther where one that has not ended is of other content. undo is for when they were not
// submitted after all.
func (a *answers) expect(all []submitted) (undo func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var added []*ended
	for i := range all {
		s := &all[i]
		before := a.waiting[s.ID]
		if before != nil && !before.over() {
			if before.spec != nil && before.spec.Other(&s.Spec) != "" {
				err = fmt.Errorf("%w: job_id: %q is of another job of this process, which has not ended: take a new id for each", ErrOther, s.ID)
				break
			}
			continue
		}
		e := &ended{id: s.ID, done: make(chan struct{}), away: s.ReplyTo != a.queue, at: time.Now()}
		if s.named || e.away {
			spec := s.Spec // alone: all would be as long-lived
			e.spec = &spec
		}
		a.waiting[s.ID] = e
		added = append(added, e)
	}
	if err != nil {
		a.remove(added)
		return func() {}, err
	}
	for _, e := range added {
		if e.away {
			a.keep(e)
		}
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.remove(added)
	}, nil
}

// remove forgets jobs; who waits for them asks the scheduler from then on.
func (a *answers) remove(all []*ended) {
	for _, e := range all {
		if a.waiting[e.id] == e {
			delete(a.waiting, e.id)
		}
		if !e.over() {
			close(e.done)
		}
	}
}

// renew forgets how a job has ended that is tried again, or is about to be said to have: an answer that is on its way is out of date.
func (a *answers) renew(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.waiting[id]; e != nil {
		a.remove([]*ended{e})
	}
}

func (a *answers) of(id string) *ended {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting[id]
}

// runs tells that a job was submitted here, and that its end is not known yet.
func (a *answers) runs(id string) bool {
	e := a.of(id)
	return e != nil && !e.over()
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
