package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
)

// again is after how long a claim that was not answered is made again.
const again = time.Second

// claim asks the scheduler whether an attempt may begin, until it answers. "" tells that the worker was closed.
func (w *Worker) claim(a attempt, count int) job.Verdict {
	c := &claim{token: rand.Text(), count: count, verdict: make(chan job.Verdict, 1)}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.claims, a)
	}()
	for asked := w.ask(a, c); ; {
		select {
		case v := <-c.verdict:
			if v != job.Begin || w.now().Sub(asked) < w.late() {
				return v
			}
			asked = w.ask(a, c) // this process was stopped after it was granted, and may have been given up since
		case <-time.After(again):
			asked = w.ask(a, c)
		case <-w.ctx.Done():
			return ""
		}
	}
}

// ask makes a claim, which is told with the next beat, and has that be at once. It returns a time before that.
func (w *Worker) ask(a attempt, c *claim) time.Time {
	w.mu.Lock()
	w.claims[a] = c
	c.told = false
	w.mu.Unlock()
	at := w.now()
	w.wake()
	return at
}

// late is after what time an answer is of no account any more: less than a lease, which is five beats.
func (w *Worker) late() time.Duration { return max(4*w.config.Beat, 2*again) }

// wake has the worker beat at once.
func (w *Worker) wake() {
	select {
	case w.pulse <- struct{}{}:
	default:
	}
}

// listen hears what the scheduler says.
func (w *Worker) listen() {
	for {
		m, err := w.orders.Next(w.ctx)
		if err != nil {
			if w.ctx.Err() == nil {
				w.config.Logger.Error("jobs/worker: it ends, for the scheduler is not heard any more", "error", err)
				w.end(fmt.Errorf("the scheduler is not heard any more: %w", err))
			}
			return
		}
		var all []job.Order
		if json.Unmarshal(m.Body, &all) != nil {
			continue
		}
		for _, o := range all {
			w.obey(o)
		}
	}
}

func (w *Worker) obey(o job.Order) {
	if o.Process != "" && o.Process != w.process {
		return // of another one of this id
	}
	if o.Verdict == job.Leave {
		w.leaves()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	a := attempt{o.Job, o.Attempt}
	if c := w.claims[a]; c != nil {
		select {
		case c.verdict <- o.Verdict:
		default: // it has one that it has not looked at yet
		}
		delete(w.claims, a)
		return
	}
	if r := w.running[a]; r != nil && o.Verdict == job.Drop {
		r.cancel(ErrDropped)
	}
}

// leaves ends a worker whose id another process has. What it has taken goes back at once, and not only when it is closed.
func (w *Worker) leaves() {
	err := fmt.Errorf("%w: %q; give this one an id of its own", ErrSameID, w.self.ID)
	w.config.Logger.Error("jobs/worker: it ends", "error", err)
	w.end(err)
	for _, c := range w.sources() {
		_ = c.Close() // Close tells of what is wrong with it
	}
}

// keepBeating tells what the worker does until it is closed, and then that it is gone.
func (w *Worker) keepBeating() {
	tick := time.NewTicker(w.config.Beat)
	defer tick.Stop()
	for {
		w.send(w.ctx, w.beat())
		select {
		case <-tick.C:
		case <-w.pulse:
		case <-w.ctx.Done():
			w.work.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			w.send(ctx, &job.Beat{Worker: w.self, Process: w.process, Gone: true})
			return
		}
	}
}

func (w *Worker) beat() *job.Beat {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &job.Beat{Worker: w.self, Process: w.process, Host: w.host}
	b.Worker.Draining = w.drain.Err() != nil
	for a, r := range w.running {
		if !r.ended.IsZero() && time.Since(r.ended) < again { // its report is there in a moment
			continue
		}
		b.Running = append(b.Running, job.Run{Job: a.job, Attempt: a.number, Elapsed: time.Since(r.since).Seconds(), Progress: r.share, Doing: r.doing})
	}
	w.beatLost(b)
	for a, c := range w.claims {
		if c.told { // it is made again where no answer comes
			continue
		}
		c.told = true
		b.Claims = append(b.Claims, job.Claim{Job: a.job, Attempt: a.number, Token: c.token, Count: c.count})
	}
	return b
}

func (w *Worker) send(ctx context.Context, b *job.Beat) {
	body, err := json.Marshal(b)
	if err == nil {
		err = w.config.Broker.Announce(ctx, job.TopicWorkers, queue.Message{Body: body})
	}
	if err != nil && ctx.Err() == nil { // the next one comes soon
		w.config.Logger.Warn("jobs/worker: the scheduler was not told", "error", err)
	}
}
