package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
)

// again is after how long a claim that was not answered is made again.
const again = time.Second

// claim asks the scheduler whether an attempt may begin, until it answers. "" tells that the worker was closed.
func (w *Worker) claim(a attempt, count int) job.Verdict {
	c := &claim{rand.Text(), count, make(chan job.Verdict, 1)}
	w.mu.Lock()
	w.claims[a] = c
	w.mu.Unlock()
	w.wake()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.claims, a)
	}()
	for asked := time.Now(); ; {
		select {
		case v := <-c.verdict:
			if v != job.Begin || time.Since(asked) < w.late() {
				return v
			}
			// This process was stopped after it was granted, and may have been given up since.
			w.mu.Lock()
			w.claims[a] = c
			w.mu.Unlock()
			asked = time.Now()
			w.wake()
		case <-time.After(again):
			asked = time.Now()
			w.wake()
		case <-w.ctx.Done():
			return ""
		}
	}
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
				w.config.Logger.Error("jobs/worker: the scheduler is not heard any more", "error", err)
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
	w.mu.Lock()
	defer w.mu.Unlock()
	a := attempt{o.Job, o.Attempt}
	if c := w.claims[a]; c != nil {
		c.verdict <- o.Verdict
		delete(w.claims, a)
		return
	}
	if r := w.running[a]; r != nil && o.Verdict == job.Drop {
		r.cancel(ErrDropped)
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
			w.send(ctx, &job.Beat{Worker: w.self, Gone: true})
			return
		}
	}
}

func (w *Worker) beat() *job.Beat {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &job.Beat{Worker: w.self, Host: w.host}
	b.Worker.Draining = w.drain.Err() != nil
	for a, r := range w.running {
		if !r.ended.IsZero() && time.Since(r.ended) < again { // its report is there in a moment
			continue
		}
		b.Running = append(b.Running, job.Run{Job: a.job, Attempt: a.number, Elapsed: time.Since(r.since).Seconds(), Progress: r.share, Doing: r.doing})
	}
	for a, c := range w.claims {
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
