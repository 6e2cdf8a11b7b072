package scheduler

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	randv2 "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// Scheduler is one that works. Start makes it; Close ends it.
type Scheduler struct {
	broker   queue.Broker
	store    *store.Store
	logger   *slog.Logger
	state    *state
	in       chan input
	room     map[string]chan struct{} // by queue: has a value for each unit of what is in hand
	end      context.CancelCauseFunc
	ctx      context.Context
	carry    context.Context // of what is carried out; it ends a while after ctx
	stop     context.CancelFunc
	work     sync.WaitGroup              // the loop, and who feeds it
	acks     sync.WaitGroup              // what goes its way beside the loop
	plan     time.Time                   // when the next one may be made
	landed   chan struct{}               // a cargo has been carried out; with room for one
	began    chan map[string][]job.Order // these grants were put down, and told; with room for one
	failing  atomic.Int32                // what does not work now, of a cargo and of attempts that begin
	measured time.Time                   // when measurements were put down last
	tried    chan struct{}               // of the last cargo; the loop's. nil: there was none
	sentIDs  []string                    // of jobs whose result was sent, which the store does not know yet
	trouble  atomic.Pointer[string]
	idle     atomic.Pointer[string] // why nothing is placed; nil: all is
	patience time.Duration          // after which Start tells that it waits for the broker, and for what
	name     string                 // by which it knows what it has said itself
	stuck    atomic.Pointer[[2]int] // workers with slots that are lost, and how many these are; nil: none yet
	said     time.Time              // when it did last
	saying   atomic.Bool            // it is on its way
	whole    bool                   // the last cargo was carried out; who waits for landed may read it
	sources  []interface{ Close() error }
	lock     queue.Lock // nil: the broker is one process's, which the store's folder is, too
}

// input is something that has happened: one of its fields is set.
type input struct {
	submission, report, lost, question *queue.Delivery
	beat                               *job.Beat
	ask                                func(s *state, now time.Time)
	asked                              chan struct{} // closed when the effects of ask are durable
	reads                              bool          // ask has none, so asked is closed at once
	echo                               bool          // what the scheduler has said to itself
}

// mostResults is how many results wait in a local result_queue for somebody to read them. The store has them, too.
const mostResults = 100_000

// Queues are what a scheduler declares: those of the contract, and its own.
func Queues() []queue.Spec {
	// More than a job is tried: it ends a message that kills who reads it. What the scheduler reads has no limit: some hundred messages are
	// in hand when it is killed, and when that was twenty times, as by a memory that is too small, all of them would be dead letters, of
	// jobs that nobody has heard of.
	const deliveries = 20
	return []queue.Spec{
		{Name: job.QueueJobs, Priorities: true, Shared: true},
		{Name: job.QueueCPU, MaxDeliveries: deliveries, Priorities: true, Shared: true, Dead: job.QueueLost},
		{Name: job.QueueGPU, MaxDeliveries: deliveries, Priorities: true, Shared: true, Dead: job.QueueLost},
		{Name: job.QueueResults, Shared: true, MaxLength: mostResults},
		{Name: job.QueueReports},
		{Name: job.QueueControl},
	}
}

// Start begins with the jobs that the store has. The store and the broker stay the caller's, who closes them after Close; logger may be
// nil. The context is for the call alone. While the broker is away Start waits for it, and says so each five seconds. The error is ErrLed
// where the broker is a queue.Locker, and another scheduler has its jobs.
func Start(ctx context.Context, b queue.Broker, st *store.Store, settings Settings, logger *slog.Logger) (*Scheduler, error) {
	s := &Scheduler{broker: b, store: st, logger: logger, name: rand.Text(), patience: 5 * time.Second, whole: true,
		in: make(chan input, 1024), room: map[string]chan struct{}{},
		landed: make(chan struct{}, 1), began: make(chan map[string][]job.Order, 1)}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if err := s.prepare(ctx, settings); err != nil {
		return nil, errors.Join(fmt.Errorf("jobs/scheduler: start: %w", err), s.closeSources())
	}
	return s, nil
}

func (s *Scheduler) prepare(ctx context.Context, settings Settings) (err error) {
	if settings, err = settings.normalize(); err != nil {
		return err
	}
	if err := s.lead(ctx); err != nil {
		return err
	}
	if err := s.load(settings); err != nil {
		return err
	}
	for _, q := range Queues() {
		var notes []string
		err := s.patiently(ctx, func(ctx context.Context) (err error) { notes, err = s.broker.Declare(ctx, q); return err })
		if err != nil {
			return err
		}
		for _, note := range notes {
			s.logger.Warn("jobs/scheduler: "+note, "queue", q.Name)
		}
	}
	s.ctx, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	s.carry, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.listen(ctx); err != nil {
		s.end(nil)
		s.stop()
		s.work.Wait()
		return err
	}
	s.work.Go(s.run)
	if s.lock != nil {
		s.work.Go(s.follow)
	}
	return nil
}

// ErrLed tells that another scheduler, with a store of its own, has the broker's jobs.
var ErrLed = errors.New("another scheduler has the jobs of this broker")

// lockName is the lock of who schedules, where a broker has locks.
const lockName = "cancha.scheduler"

// lead takes the lock of a broker that several machines share: two schedulers with a store each would have a half of the jobs each.
func (s *Scheduler) lead(ctx context.Context) error {
	locker, is := s.broker.(queue.Locker)
	if !is {
		return nil
	}
	err := s.patiently(ctx, func(ctx context.Context) (err error) { s.lock, err = locker.Lock(ctx, lockName); return err })
	if errors.Is(err, queue.ErrHeld) {
		return fmt.Errorf("%w: %w", ErrLed, err)
	}
	return err
}

// follow ends the scheduler when another one leads.
func (s *Scheduler) follow() {
	select {
	case <-s.lock.Lost():
		s.lost(ErrLed)
	case <-s.ctx.Done():
	}
}

// load makes the state of what the store has.
func (s *Scheduler) load(settings Settings) error {
	measured, counts, err := s.store.State()
	if err != nil {
		return err
	}
	history := &placement.History{}
	if measured != nil {
		if err := json.Unmarshal(measured, history); err != nil {
			s.logger.Warn("jobs/scheduler: what was measured before cannot be read; it is measured anew", "error", err)
			history = &placement.History{}
		}
	}
	if s.state, err = newState(settings, s.store, history); err != nil {
		return err
	}
	s.state.newID, s.state.random = rand.Text, randv2.Float64
	if counts != nil {
		s.state.counts = counts
	}
	var open []*job.Job
	if err := s.store.Open(func(j *job.Job) error { open = append(open, j); return nil }); err != nil {
		return err
	}
	if err := s.store.Unsent(func(j *job.Job) error { s.state.sendAgain(j); return nil }); err != nil {
		return err
	}
	return s.state.restore(open, s.store.Left(), time.Now())
}

// patiently does something that waits while the broker is away, and tells that it does.
func (s *Scheduler) patiently(ctx context.Context, do func(context.Context) error) error {
	for {
		try, cancel := context.WithTimeout(ctx, s.patience)
		err := do(try)
		waited := try.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !waited {
			return err
		}
		s.logger.Warn("jobs/scheduler: it waits for the broker, and begins when that is there", "error", err)
	}
}

// ahead is how many messages are taken in advance: what is worked on in one turn.
const ahead = 1024

// listen begins to take what comes.
func (s *Scheduler) listen(ctx context.Context) error {
	var heard queue.Listener
	err := s.patiently(ctx, func(ctx context.Context) (err error) { heard, err = s.broker.Listen(ctx, job.TopicWorkers); return err })
	if err != nil {
		return err
	}
	s.sources = append(s.sources, heard)
	for _, name := range []string{job.QueueJobs, job.QueueReports, job.QueueControl, job.QueueLost} {
		s.room[name] = make(chan struct{}, most/unit)
	}
	for name, as := range map[string]func(*queue.Delivery) input{
		job.QueueJobs:    func(d *queue.Delivery) input { return input{submission: d} },
		job.QueueReports: func(d *queue.Delivery) input { return input{report: d} },
		job.QueueControl: func(d *queue.Delivery) input { return input{question: d} },
		job.QueueLost:    func(d *queue.Delivery) input { return input{lost: d} },
	} {
		var c queue.Consumer
		err := s.patiently(ctx, func(ctx context.Context) (err error) { c, err = s.broker.Consume(ctx, name, ahead); return err })
		if err != nil {
			return err
		}
		s.sources = append(s.sources, c)
		s.work.Go(func() { s.feed(c, s.room[name], as) })
	}
	s.work.Go(func() { s.hear(heard) })
	return nil
}

// The most of one queue that is in hand, in bytes of bodies: of large ones fewer are taken ahead, since all that is worked on lies in
// memory some times.
const (
	most = 32 << 20
	unit = 64 << 10
)

// units is how much of that a message takes.
func units(d *queue.Delivery) int { return min(len(d.Body)/unit, most/unit) }

// leave makes room for others when a message is settled.
func (s *Scheduler) leave(d *queue.Delivery) {
	for range units(d) {
		<-s.room[d.Queue]
	}
}

func (s *Scheduler) feed(c queue.Consumer, room chan<- struct{}, as func(*queue.Delivery) input) {
	for {
		d, err := c.Next(s.ctx)
		if err != nil {
			s.lost(err)
			return
		}
		for range units(d) {
			select {
			case room <- struct{}{}:
			case <-s.ctx.Done():
				return
			}
		}
		if !s.put(as(d)) {
			return
		}
	}
}

func (s *Scheduler) hear(l queue.Listener) {
	for {
		m, err := l.Next(s.ctx)
		if err != nil {
			s.lost(err)
			return
		}
		b := &job.Beat{}
		if json.Unmarshal(m.Body, b) != nil { // a foreign message, of which nobody waits for an answer
			continue
		}
		i := input{beat: b}
		if b.Echo != "" {
			i = input{echo: true}
		}
		if (b.Echo == "" || b.Echo == s.name) && !s.put(i) {
			return
		}
	}
}

// say has the scheduler say something to itself, as often as a worker beats: while that does not come back, it hears nobody, and silence
// says nothing of workers.
func (s *Scheduler) say(now time.Time) {
	if now.Before(s.said.Add(s.beat())) || !s.saying.CompareAndSwap(false, true) {
		return
	}
	s.said = now
	s.acks.Go(func() {
		defer s.saying.Store(false)
		body, err := json.Marshal(&job.Beat{Echo: s.name})
		if err == nil {
			err = s.broker.Announce(s.ctx, job.TopicWorkers, queue.Message{Body: body})
		}
		if err != nil && s.ctx.Err() == nil { // the next one is soon
			s.logger.Warn("jobs/scheduler: it does not hear itself", "error", err)
		}
	})
}

func (s *Scheduler) beat() time.Duration { return s.state.settings.Lease / beats }

// put hands something to the loop, unless it has ended.
func (s *Scheduler) put(i input) bool {
	select {
	case s.in <- i:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// lost ends the scheduler where it can do nothing any more, though nobody has closed it: the broker is gone, or another one has its store.
func (s *Scheduler) lost(err error) {
	if s.ctx.Err() == nil {
		text := err.Error()
		s.trouble.Store(&text)
		s.logger.Error("jobs/scheduler: it ends", "error", err)
		s.end(err)
	}
}

// Done is closed when the scheduler has ended, as where its broker was closed, or the store is another one's now; Trouble says why.
func (s *Scheduler) Done() <-chan struct{} { return s.ctx.Done() }

// Trouble is why nothing goes on at the moment, as a full disk, a broker that is away, or a strategy that does not answer; "": all is well.
func (s *Scheduler) Trouble() string {
	for _, trouble := range []*atomic.Pointer[string]{&s.trouble, &s.idle} {
		if t := trouble.Load(); t != nil {
			return *t
		}
	}
	return ""
}

// countIdle notes whether a strategy keeps jobs from being placed. When it has answered, they are.
func (s *Scheduler) countIdle() {
	why, before := s.state.planner.Trouble(), s.idle.Load()
	switch {
	case why != "" && (before == nil || *before != why):
		s.idle.Store(&why)
		s.logger.Error("jobs/scheduler: no jobs are placed", "error", why)
	case why == "" && before != nil:
		s.idle.Store(nil)
		s.logger.Warn("jobs/scheduler: jobs are placed again, for the program's strategy has answered")
		s.state.replan, s.plan = true, time.Time{} // and not after the pause that a long plan has
	}
}

// Stuck counts the workers that have lost slots to jobs which do not end though nobody wants them any more, and these slots. It does not
// wait for the scheduler.
func (s *Scheduler) Stuck() (workers, slots int) {
	if n := s.stuck.Load(); n != nil {
		workers, slots = n[0], n[1]
	}
	return workers, slots
}

// countStuck notes what Stuck tells.
func (s *Scheduler) countStuck() {
	workers, slots := s.Stuck()
	var n [2]int
	for _, w := range s.state.workers {
		if w.Stuck > 0 {
			n[0], n[1] = n[0]+1, n[1]+w.Stuck
		}
	}
	if n != [2]int{workers, slots} {
		s.stuck.Store(&n)
	}
}

var errClosed = errors.New("the scheduler was closed")

// Close ends the scheduler, and waits for that. What it has not acknowledged comes to the next one.
func (s *Scheduler) Close() error {
	s.end(errClosed)
	s.work.Wait()
	s.acks.Wait()
	s.stop()
	err := s.closeSources()
	if s.whole && s.store.Leads() == nil { // or somebody else has the store
		err = errors.Join(err, s.store.Leave())
	}
	return err
}

func (s *Scheduler) closeSources() (err error) {
	for _, c := range s.sources {
		err = errors.Join(err, c.Close())
	}
	s.sources = nil
	if s.lock != nil { // after all that may be done by one alone
		err = errors.Join(err, s.lock.Close())
		s.lock = nil
	}
	return err
}
