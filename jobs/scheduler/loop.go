package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// loop is where run is: what goes with the next cargo, and whether one is under way.
type loop struct {
	next      cargo
	flying    bool
	beginning bool      // attempts are put down that begin
	forgotten time.Time // when jobs were forgotten last
	expected  time.Time // when the next turn begins at the latest, unless the scheduler is stopped from outside
}

// run takes what has come, turn by turn, until the scheduler is closed. What is to be done about it goes its way meanwhile, one cargo at a time: what
// comes while one is under way goes together with the next.
func (s *Scheduler) run() {
	l := &loop{next: cargo{effects: newEffects()}, forgotten: time.Now(), expected: time.Now()}
	for turn := []input(nil); s.ctx.Err() == nil && s.leads(); turn = s.wait(l) { // the first is for what the store had
		s.turn(l, turn, time.Now())
	}
	s.finish(l)
}

// leads tells whether the store is still this scheduler's, which ends where it is not.
func (s *Scheduler) leads() bool {
	err := s.store.Leads()
	if errors.Is(err, store.ErrDeposed) {
		s.lost(err)
		return false
	}
	return true
}

func (s *Scheduler) turn(l *loop, turn []input, now time.Time) {
	s.say(now)
	s.lateness(now.Sub(l.expected))
	l.next.handled = append(l.next.handled, s.handle(turn, now)...)
	l.next.asked = append(l.next.asked, asked(turn)...)
	s.state.tick(now)
	s.countStuck()
	if s.state.replan && !now.Before(s.plan) {
		s.state.place(now)
		s.plan = now.Add(max(planning, pauses*time.Since(now)))
	}
	s.countIdle()
	if now.Sub(l.forgotten) > time.Minute && !l.flying && !s.forget(now) { // or there are more
		l.forgotten = now
	}
	s.announce(s.state.orders)
	clear(s.state.orders)
	s.begin(l)
	s.depart(l)
	l.expected = now.Add(s.pause()) // from the turn's begin: it may be stopped in the middle of one
}

// lateness gives workers the time for which the scheduler itself did not run.
func (s *Scheduler) lateness(late time.Duration) {
	if late > s.beat() {
		s.logger.Warn("jobs/scheduler: it did not run for a while; workers get that time", "late", late)
		s.state.slept(late)
	}
}

// depart has the next cargo carried out, if there is any, and none is under way.
func (s *Scheduler) depart(l *loop) {
	if l.flying || s.state.none() && l.next.empty() {
		return
	}
	l.next.effects, l.flying, l.next.tried = s.state.take(), true, make(chan struct{})
	s.tried = l.next.tried
	s.fly(l.next)
	l.next = cargo{effects: newEffects()}
}

// finishing is for how long a scheduler that is closed goes on with what is under way, so that its follower need not wonder whether that was done.
const finishing = 2 * time.Second

func (s *Scheduler) finish(l *loop) {
	stop := time.AfterFunc(finishing, s.stop)
	defer stop.Stop()
	if l.flying {
		<-s.landed
	}
	if l.beginning {
		<-s.began
	}
}

// cargo is what is to be done, and who hears when it is: messages are acknowledged, and who has asked is answered.
type cargo struct {
	effects
	counts   map[string]int64
	measures []byte
	handled  []settling
	asked    []chan struct{}
	tried    chan struct{} // closed when the store has put its changes down, or has failed to once
}

func (c *cargo) empty() bool { return len(c.handled)+len(c.asked) == 0 }

// fly begins to carry out a cargo; that is over when s.landed says so.
func (s *Scheduler) fly(c cargo) {
	c.counts = maps.Clone(s.state.counts)
	if c.measured && time.Since(s.measured) > time.Second { // or with the next one
		s.measured = time.Now()
		c.measures, _ = json.Marshal(s.state.history) // of finite numbers
	}
	s.acks.Go(func() {
		if s.whole = s.carryOut(&c); s.whole {
			s.acknowledge(c.handled)
			for _, asked := range c.asked {
				close(asked)
			}
		}
		s.landed <- struct{}{}
	})
}

func asked(turn []input) (all []chan struct{}) {
	for _, i := range turn {
		if i.asked != nil && !i.reads {
			all = append(all, i.asked)
		}
	}
	return all
}

// planning is how often there is a plan at most: what comes meanwhile is planned together. After a long one there is a pause of some times
// as long: workers have work ahead, and are not to wait for an answer.
const (
	planning = time.Millisecond
	pauses   = 5
)

// wait waits until something has come, a cargo has landed, or it is time for something, and takes all that has come.
func (s *Scheduler) wait(l *loop) (turn []input) {
	t := time.NewTimer(s.pause())
	defer t.Stop()
	select {
	case i := <-s.in:
		turn = append(turn, i)
	case <-t.C:
	case <-s.landed:
		l.flying = false
		s.state.landed(time.Now())
	case grants := <-s.began:
		l.beginning = false
		s.state.told(grants)
	case <-s.ctx.Done():
		return nil
	}
	for len(turn) < 4*ahead {
		select {
		case i := <-s.in:
			turn = append(turn, i)
		default:
			return turn
		}
	}
	return turn
}

// longest is how long a turn waits where it is time for nothing.
const longest = time.Second

// pause is in what time the next turn is at the latest, unless the scheduler is stopped from outside.
func (s *Scheduler) pause() time.Duration {
	return min(max(time.Until(s.due()), 0), longest)
}

// due is when the next turn is at the latest.
func (s *Scheduler) due() time.Time {
	at := s.said.Add(s.beat())
	if next := s.state.next(time.Now()); !next.IsZero() && next.Before(at) {
		at = next
	}
	if s.state.replan && s.plan.Before(at) {
		at = s.plan
	}
	return at
}

// settling is a message that is done with; of a dead letter, why it is one.
type settling struct {
	*queue.Delivery
	dead string
}

// handle takes in what has come, and returns what is to be acknowledged for it. What cannot be handled now comes again.
func (s *Scheduler) handle(turn []input, now time.Time) (handled []settling) {
	for _, i := range turn {
		switch {
		case i.beat != nil:
			s.state.beat(i.beat, now)
		case i.ask != nil:
			i.ask(s.state, now)
			if i.reads {
				close(i.asked)
			}
		case i.echo:
			s.state.echo(now)
		case i.submission != nil:
			refused, err := s.state.accept(&i.submission.Message, i.submission.Count > 1, now)
			if err != nil {
				s.again(i.submission, err)
				continue
			}
			handled = append(handled, settling{i.submission, refused})
		case i.report != nil:
			if err := s.reported(i.report, now); err != nil {
				s.again(i.report, err)
				continue
			}
			handled = append(handled, settling{i.report, ""})
		case i.lost != nil:
			s.state.worn(i.lost, now)
			handled = append(handled, settling{i.lost, ""})
		case i.question != nil:
			s.questioned(i.question, now)
			handled = append(handled, settling{i.question, ""})
		}
	}
	return handled
}

// again has a message come again after a fault of the store.
func (s *Scheduler) again(d *queue.Delivery, err error) {
	s.logger.Error("jobs/scheduler: a message cannot be handled now", "id", d.ID, "error", err)
	s.acks.Go(func() {
		s.settle(func() error { return d.Retry(s.ctx, time.Second) })
		s.leave(d)
	})
}

// reported takes a report in; the error tells that it is to come again.
func (s *Scheduler) reported(d *queue.Delivery, now time.Time) error {
	r := &job.Report{}
	if err := json.Unmarshal(d.Body, r); err != nil {
		s.logger.Error("jobs/scheduler: a report that cannot be read", "id", d.ID, "error", err)
		return nil
	}
	s.state.twice = d.Count > 1
	defer func() { s.state.twice = false }()
	return s.state.report(r, now)
}

// carryOut does what is to be done: what has changed is committed and what is to be sent is published, at once, again and again until it
// works. It is false where the scheduler was closed before.
func (s *Scheduler) carryOut(c *cargo) bool {
	tasks := []func(context.Context) error{}
	tried := sync.OnceFunc(func() { close(c.tried) })
	if changes := s.changes(c); len(changes.Jobs)+len(changes.Sent) > 0 {
		tasks = append(tasks, func(context.Context) error {
			err := s.commit(changes)
			tried()
			if err == nil {
				s.announce(c.grants)
			}
			return err
		})
	} else {
		tried()
		s.announce(c.grants) // once more, of attempts that were put down before
	}
	by := map[string][]outgoing{}
	for _, m := range c.messages {
		by[m.queue] = append(by[m.queue], m)
	}
	for name, all := range by {
		tasks = append(tasks, func(ctx context.Context) error { return s.publish(ctx, name, all) })
	}
	if !s.persist(tasks) {
		return false
	}
	s.sentIDs = s.sentIDs[:0] // they went along with the changes
	for _, m := range c.messages {
		if m.result != "" {
			s.sentIDs = append(s.sentIDs, m.result)
		}
	}
	return true
}

// commit puts changes down. Where the store is another scheduler's by now, this one ends.
func (s *Scheduler) commit(c *store.Changes) error {
	return s.deposing(s.store.Commit(c))
}

// deposing ends this scheduler where an error of the store tells that it is another one's.
func (s *Scheduler) deposing(err error) error {
	if errors.Is(err, store.ErrDeposed) {
		s.lost(err)
	}
	return err
}

// changes are what the store is to put down.
func (s *Scheduler) changes(c *cargo) *store.Changes {
	out := &store.Changes{Events: c.events, Sent: s.sentIDs, Measured: c.measures, Counts: c.counts}
	for _, j := range c.changed {
		out.Jobs = append(out.Jobs, j)
	}
	return out
}

// persist does tasks at the same time, and those that have failed again after a while.
func (s *Scheduler) persist(tasks []func(context.Context) error) bool {
	failing := false
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		failed := s.together(tasks)
		if len(failed) == 0 {
			if failing && s.failing.Add(-1) == 0 { // or the trouble of others stands there
				s.trouble.Store(nil)
			}
			return true
		}
		if !failing {
			failing = true
			s.failing.Add(1)
		}
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			return false
		}
		tasks = failed
	}
}

// together does tasks at the same time, and returns those that have failed.
func (s *Scheduler) together(tasks []func(context.Context) error) (failed []func(context.Context) error) {
	errs := make([]error, len(tasks))
	var all sync.WaitGroup
	for i, task := range tasks {
		all.Go(func() { errs[i] = task(s.carry) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			text := err.Error()
			s.trouble.Store(&text)
			s.logger.Error("jobs/scheduler: nothing goes on until this works", "error", err)
			failed = append(failed, tasks[i])
		}
	}
	return failed
}

// publish sends messages to one queue. A result for a queue that is not there, or takes no more, goes to the one where results go that name
// none: what one has asked for does not hold up all.
func (s *Scheduler) publish(ctx context.Context, name string, all []outgoing) error {
	messages := make([]queue.Message, len(all))
	for i, m := range all {
		messages[i] = m.Message
	}
	err := s.broker.Publish(ctx, name, messages...)
	if (errors.Is(err, queue.ErrUnknownQueue) || errors.Is(err, queue.ErrFull)) && all[0].reply() && name != job.QueueResults {
		s.logger.Warn("jobs/scheduler: results go to "+job.QueueResults+", for the queue that was asked for does not take them", "queue", name, "error", err)
		return s.broker.Publish(ctx, job.QueueResults, messages...)
	}
	if errors.Is(err, queue.ErrUnknownQueue) { // of a worker that has just gone, or was away for so long that its queue has expired
		s.logger.Warn("jobs/scheduler: a worker's queue is gone", "queue", name)
		s.put(input{ask: func(st *state, now time.Time) { st.bounced(all, now) }})
		return nil
	}
	return err
}

func (s *Scheduler) announce(orders map[string][]job.Order) {
	for worker, all := range orders {
		body, err := json.Marshal(all)
		if err == nil {
			err = s.broker.Announce(s.ctx, job.WorkerTopic(worker), queue.Message{Body: body})
		}
		if err != nil { // it asks again
			s.logger.Warn("jobs/scheduler: a worker was not reached", "worker", worker, "error", err)
		}
	}
}

// acknowledge settles messages, all at the same time.
func (s *Scheduler) acknowledge(all []settling) {
	for _, d := range all {
		s.acks.Go(func() {
			s.settle(func() error {
				if d.dead != "" {
					return d.Dead(s.ctx, d.dead)
				}
				return d.Ack(s.ctx)
			})
			s.leave(d.Delivery)
		})
	}
}

// settle settles a message until it is settled, or comes again, and is known. One that is neither, as where the disk is full, would stay in
// hand, and when as many are as may be, nothing would come any more.
func (s *Scheduler) settle(try func() error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := try()
		if err == nil || errors.Is(err, queue.ErrSettled) || errors.Is(err, queue.ErrLost) || errors.Is(err, queue.ErrClosed) {
			return
		}
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			return
		}
	}
}

// forgetting is how many jobs are forgotten in one turn: that takes milliseconds, in which nothing else goes on.
const forgetting = 500

// forget has the store forget what nobody needs any more, and tells whether there is more of it.
func (s *Scheduler) forget(now time.Time) (more bool) {
	n, err := s.store.Expire(now, forgetting)
	if err != nil {
		s.logger.Warn("jobs/scheduler: jobs whose time is over are not forgotten", "error", err)
	}
	return err == nil && n == forgetting
}
