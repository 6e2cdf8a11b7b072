package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
)

// Func runs a job of one type. What it returns is the result, as JSON. Its context ends when nobody wants the job any more, and it should
// return soon after.
type Func func(ctx context.Context, t *Task) (result any, err error)

// Task is one attempt at a job, as a Func sees it.
type Task struct {
	job.Spec
	Attempt int // from 1
	tell    func(share float64, doing string)
}

// NewTask returns a task for a test of a Func; tell, which may be nil, is called by Progress.
func NewTask(s job.Spec, tell func(share float64, doing string)) *Task {
	if tell == nil {
		tell = func(float64, string) {}
	}
	return &Task{Spec: s, Attempt: 1, tell: tell}
}

// Progress tells the share that is done, from 0 to 1, and what is being done; it costs nothing to tell often.
func (t *Task) Progress(share float64, doing string) { t.tell(share, doing) }

// Final makes of an error one that would come again: the job is not tried again.
func Final(err error) error { return &final{err} }

// IsFinal tells whether an error was made so.
func IsFinal(err error) bool { return errors.As(err, new(*final)) }

type final struct{ error }

func (f *final) Unwrap() error { return f.error }

// ErrDropped is the cause with which the context of a job ends that was cancelled, or given to another worker.
var ErrDropped = errors.New("the job is not wanted here any more")

// ErrSameID tells that another process works under the worker's id, and was there first. It ends the worker; a process that is started
// again after the other one was killed waits for two beats, and has the id then.
var ErrSameID = fmt.Errorf("another process works under the same id: %w", ErrDropped)

// Config says what a worker is. Broker, Funcs and Worker.Device are needed.
type Config struct {
	Broker queue.Broker
	// Worker is what the scheduler knows of it: its id ("": the host's name and the process's number), device, model, rates, memory, slots.
	// Types are those of Funcs.
	Worker placement.Worker
	Funcs  map[string]Func
	// Own has it take only jobs that no other worker can run, so that it does not have to know the types that all know.
	Own bool
	// Beat is how often it tells what it does; 0: 2 s, which is what a scheduler's usual lease asks for.
	Beat time.Duration
	// Grace is for how long a job may go on after its context has ended, as by its timeout. Then its attempt has ended whatever its
	// function does, and the slot in which that goes on is lost: no other job runs there until it has returned. 0: UsualGrace.
	Grace time.Duration
	// Replaced tells that whoever starts the worker starts another process in its place when Stuck is closed, so that jobs which only this
	// worker runs are tried again.
	Replaced bool
	Logger   *slog.Logger // nil: silence
}

// Worker is one that works.
type Worker struct {
	config Config
	self   placement.Worker
	host   string
	// process tells it from others that call themselves the same.
	process string
	now     func() time.Time

	orders    queue.Listener
	consumers map[string]queue.Consumer // by queue; guarded by mu
	messages  chan *queue.Delivery
	pulse     chan struct{} // wakes the beat, with room for one

	ctx    context.Context // ends with Close
	end    context.CancelCauseFunc
	work   sync.WaitGroup  // of what has to do with jobs
	beats  sync.WaitGroup  // of what is said and heard
	drain  context.Context // ends with Drain
	drains context.CancelFunc
	stuck  chan struct{} // closed when all slots are lost
	once   sync.Once     // of that

	mu      sync.Mutex
	claims  map[attempt]*claim
	running map[attempt]*run // until their reports are on the disk
	seen    map[string]bool  // types that have been run
	had     had
	lost    map[*lost]bool     // slots
	takes   context.Context    // ends when all slots are lost, and with drain
	shut    context.CancelFunc // of takes
	opened  chan struct{}      // closed, and made anew, when takes is
}

// attempt names an attempt at a job.
type attempt struct {
	job    string
	number int
}

// had are the attempts that a worker has in hand or has ended: true is of one that has.
type had struct {
	at  map[attempt]bool
	old []attempt // that have ended, the first one first
}

// remembered is how many ended attempts are remembered: more than a worker ends while a second message of one is on its way.
const remembered = 4096

// take tells what is to be done with another message of an attempt; "": it is the only one, and taken from now on.
func (h *had) take(a attempt) job.Verdict {
	switch ended, is := h.at[a]; {
	case !is:
		h.at[a] = false
		return ""
	case ended:
		return job.Drop
	}
	return job.Later
}

// leave notes that an attempt is in hand no more; ended: its report is on the disk.
func (h *had) leave(a attempt, ended bool) {
	delete(h.at, a)
	if !ended {
		return
	}
	h.at[a], h.old = true, append(h.old, a)
	if len(h.old) > remembered {
		delete(h.at, h.old[0])
		h.old = h.old[1:]
	}
}

// claim waits for an answer.
type claim struct {
	token   string
	count   int
	told    bool             // with a beat; mu is held
	verdict chan job.Verdict // with room for one
}

// run is an attempt that goes on.
type run struct {
	since  time.Time
	ended  time.Time // its report is on its way; zero: it runs
	share  float64
	doing  string
	cancel context.CancelCauseFunc
	// returned tells that the function has returned, and that what it has returned is being written, by methods of it.
	returned atomic.Bool
}

// Start begins to take jobs. The context is for the call alone.
func Start(ctx context.Context, c Config) (*Worker, error) {
	w, err := newWorker(c)
	if err == nil {
		err = w.begin(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("jobs/worker: start: %w", err)
	}
	return w, nil
}

func newWorker(c Config) (*Worker, error) {
	if c.Broker == nil || len(c.Funcs) == 0 {
		return nil, errors.New("a worker needs a broker, and functions to run")
	}
	if c.Grace < 0 {
		return nil, fmt.Errorf("a grace of %v; a time from 0", c.Grace)
	}
	w := &Worker{process: rand.Text(), now: time.Now, config: c, self: c.Worker, consumers: map[string]queue.Consumer{},
		messages: make(chan *queue.Delivery), pulse: make(chan struct{}, 1),
		claims: map[attempt]*claim{}, running: map[attempt]*run{}, lost: map[*lost]bool{}, stuck: make(chan struct{}),
		opened: make(chan struct{}), seen: map[string]bool{}, had: had{at: map[attempt]bool{}}}
	w.host, _ = os.Hostname() // or nobody knows
	w.self.ID = cmp.Or(w.self.ID, fmt.Sprintf("%s-%d", cmp.Or(w.host, "worker"), os.Getpid()))
	w.self.Types = slices.Sorted(maps.Keys(c.Funcs))
	w.self.Slots = max(w.self.Slots, 1)
	w.config.Beat = cmp.Or(c.Beat, 2*time.Second)
	w.config.Grace = cmp.Or(c.Grace, UsualGrace)
	if w.config.Logger == nil {
		w.config.Logger = slog.New(slog.DiscardHandler)
	}
	w.ctx, w.end = context.WithCancelCause(context.Background())
	w.drain, w.drains = context.WithCancel(w.ctx)
	w.open()
	return w, w.self.Validate()
}

// ID is the worker's.
func (w *Worker) ID() string { return w.self.ID }

// Done is closed when the worker takes no more jobs for good: it was closed, its broker was, or another process has its id. Close is still
// to be called.
func (w *Worker) Done() <-chan struct{} { return w.ctx.Done() }

// Err is why the worker has ended, ErrSameID where another process has its id; nil: it works, or was closed.
func (w *Worker) Err() error {
	if err := context.Cause(w.ctx); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

func (w *Worker) begin(ctx context.Context) (err error) {
	if w.orders, err = w.config.Broker.Listen(ctx, job.WorkerTopic(w.self.ID)); err != nil {
		return err
	}
	if err := w.consume(ctx); err != nil {
		return errors.Join(err, w.Close())
	}
	w.beats.Go(w.listen)
	w.beats.Go(w.keepBeating)
	for range w.self.Slots {
		w.work.Go(w.slot)
	}
	return nil
}

// ownExpires is after how long without its worker a worker's own queue is removed.
const ownExpires = time.Minute

// consume begins to take messages, the worker's own first. In hand are those that run, those whose end is on its way, and one that is next.
func (w *Worker) consume(ctx context.Context) error {
	own := job.WorkerQueue(w.self.Device, w.self.ID)
	names := []string{own}
	if !w.config.Own {
		names = append(names, job.DeviceQueue(w.self.Device))
	}
	for _, name := range names {
		spec := queue.Spec{Name: name, MaxDeliveries: 20, Priorities: true, Shared: name != own, Dead: job.QueueLost}
		if name == own {
			spec.Expires = ownExpires
		}
		if err := w.source(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// source begins to take messages of one queue.
func (w *Worker) source(ctx context.Context, spec queue.Spec) error {
	c, err := w.consumer(ctx, spec)
	if err != nil {
		return err
	}
	w.work.Go(func() {
		for c != nil && w.feed(c) {
			_ = c.Close() // its queue is gone, or what it has fetched is to go back
			c = w.anew(spec)
		}
	})
	return nil
}

func (w *Worker) consumer(ctx context.Context, spec queue.Spec) (queue.Consumer, error) {
	if _, err := w.config.Broker.Declare(ctx, spec); err != nil {
		return nil, err
	}
	c, err := w.config.Broker.Consume(ctx, spec.Name, w.prefetch())
	if err == nil {
		w.mu.Lock()
		w.consumers[spec.Name] = c
		w.mu.Unlock()
	}
	return c, err
}

// anew takes messages of a queue once more: of the worker's own that has expired while it was away, or stopped, or of any when a slot that
// was lost is free again. nil: the worker ends before.
func (w *Worker) anew(spec queue.Spec) queue.Consumer {
	for w.reopens() {
		if c, err := w.consumer(w.drain, spec); err == nil {
			return c
		}
		select {
		case <-time.After(again):
		case <-w.drain.Done():
		}
	}
	return nil
}

// ending is how many jobs for each slot may have ended and not been reported: the way of a report takes longer than a short job.
const ending = 16

// prefetch is one for each slot of a GPU, whose work is long; a CPU's may be short.
func (w *Worker) prefetch() int {
	if w.self.Device == placement.GPU {
		return w.self.Slots
	}
	return w.self.Slots * ending
}

// feed hands messages to whichever slot is free. It is true where the queue is to be consumed anew.
func (w *Worker) feed(c queue.Consumer) bool {
	takes := w.taking()
	for {
		d, err := c.Next(takes)
		switch {
		case err == nil:
		case takes.Err() != nil || errors.Is(err, queue.ErrUnknownQueue):
			return w.drain.Err() == nil
		default: // or it would be thought to live
			w.config.Logger.Error("jobs/worker: it ends, for no more jobs come", "error", err)
			w.end(fmt.Errorf("no more jobs come: %w", err))
			return false
		}
		select {
		case w.messages <- d:
		case <-takes.Done(): // another worker is not to wait until what runs here has ended
			w.settle(func() error { return d.Retry(w.ctx, 0) })
			return w.drain.Err() == nil
		}
	}
}

// Drain takes no more jobs, and waits until those that run have ended, or the context has.
func (w *Worker) Drain(ctx context.Context) error {
	w.drains()
	for _, c := range w.sources() {
		c.Stop()
	}
	w.wake()
	ended := make(chan struct{})
	go func() { w.work.Wait(); close(ended) }() // it ends when Close has ended the work
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *Worker) sources() []queue.Consumer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.consumers))
}

var errClosed = fmt.Errorf("the worker was closed: %w", ErrDropped)

// Close ends the worker. What it runs comes again elsewhere; Drain comes first where it is to end here. A function that does not return
// within the grace is not waited for any longer: it goes on in this process, and what comes of it is of no account.
func (w *Worker) Close() (err error) {
	w.end(errClosed)
	w.work.Wait()
	w.beats.Wait()
	err = w.orders.Close()
	for _, c := range w.sources() {
		err = errors.Join(err, c.Close())
	}
	return err
}
