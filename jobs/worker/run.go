package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"cancha/internal/cellio"
	"cancha/jobs/job"
	"cancha/jobs/queue"
)

// slot runs one job after the other. A job's report goes its way while the next one runs.
func (w *Worker) slot() {
	for {
		select {
		case d := <-w.messages:
			if !w.take(d) {
				return
			}
		case <-w.drain.Done():
			return
		}
	}
}

// take does with a message what is to be done, and returns when the slot is free again; false: the worker ends before that.
func (w *Worker) take(d *queue.Delivery) bool {
	spec, err := job.Read(&d.Message)
	number, err2 := strconv.Atoi(d.Headers[job.HeaderAttempt])
	a := attempt{spec.ID, number}
	if err := errors.Join(err, err2); err != nil { // a foreign message: whoever sent it finds it there
		w.work.Go(func() { w.settle(func() error { return d.Dead(w.ctx, "no job of a scheduler: "+err.Error()) }) })
		return true
	}
	switch w.verdict(a, d.Count) {
	case job.Begin:
		r, l := w.run(spec, a)
		if l != nil {
			w.finish(d, a, r) // before what is in hand goes back, and before the process ends
			return w.await(l)
		}
		w.work.Go(func() { w.finish(d, a, r) })
	case job.Later:
		w.work.Go(func() { w.settle(func() error { return d.Retry(w.ctx, time.Second) }) })
	case job.Drop:
		w.work.Go(func() { w.settle(func() error { return d.Ack(w.ctx) }) })
	default: // closed: it comes again
	}
	return true
}

// verdict tells what to do with a message. Of one attempt there may be two: a scheduler that was killed after it had sent the first one,
// and before it had put that down, sends it again. So what this worker has in hand is not claimed a second time, which nobody could tell
// from the first.
func (w *Worker) verdict(a attempt, count int) job.Verdict {
	w.mu.Lock()
	v := w.had.take(a)
	w.mu.Unlock()
	if v != "" {
		return v
	}
	if v = w.claim(a, count); v != job.Begin {
		w.leave(a, false)
	}
	return v
}

// settle settles a message until it is settled, or comes again. One that is neither, as where the broker's disk is full, would stay in
// hand, and when as many are as may be, nothing would come any more.
func (w *Worker) settle(try func() error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := try()
		switch {
		case err == nil, w.ctx.Err() != nil:
			return
		case errors.Is(err, queue.ErrSettled), errors.Is(err, queue.ErrLost), errors.Is(err, queue.ErrClosed):
			w.config.Logger.Warn("jobs/worker: a message comes again", "error", err)
			return
		}
		w.config.Logger.Warn("jobs/worker: a message is not settled yet", "error", err)
		select {
		case <-time.After(wait):
		case <-w.ctx.Done():
			return
		}
	}
}

// run runs an attempt. The report is nil where nobody wants one, and the lost slot where the function has returned.
func (w *Worker) run(spec job.Spec, a attempt) (report *job.Report, l *lost) {
	ctx, cancel := context.WithCancelCause(w.ctx)
	defer cancel(nil)
	if spec.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, spec.Timeout, fmt.Errorf("it has taken longer than its timeout, %v", spec.Timeout))
		defer stop()
	}
	now := &run{since: time.Now(), cancel: cancel}
	cold := w.enter(a, spec.Type, now)
	o, left := w.call(ctx, spec, a, now)
	ran := time.Since(now.since)
	w.ended(now)
	if left != nil {
		l = &lost{a, now.since, left}
		o = w.lose(l, spec.Type, now.returned.Load(), context.Cause(ctx))
	}
	if errors.Is(context.Cause(ctx), ErrDropped) {
		return nil, l
	}
	return &job.Report{Job: a.job, Attempt: a.number, Worker: w.self.ID, Device: w.self.Device, Model: w.self.Model,
		Started: float64(now.since.UnixMicro()) / 1e6, Ran: ran.Seconds(), Cold: cold,
		Result: o.result, Error: o.err, Final: o.final, Last: o.last}, l
}

// fault is the error of a panic that the calling function has just recovered: with the functions of the cells, or the whole stack.
func fault(p any) error {
	f := cellio.FaultOf(p)
	if len(f.Trace) == 0 {
		return fmt.Errorf("%w\n%s", f, debug.Stack())
	}
	return &cellio.Fault{Text: strings.Join(f.Trace, "\n"), Stops: f.Stops, Err: f.Err}
}

// maxError is how much of an error is told, in bytes: a report that is too large for a message would never be sent.
const maxError = 16 << 10

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// enter notes that an attempt runs, and tells whether it is the first of its type here.
func (w *Worker) enter(a attempt, name string, r *run) (cold bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[a] = r
	cold = !w.seen[name]
	w.seen[name] = true
	return cold
}

func (w *Worker) ended(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.ended = time.Now()
}

// leave notes that an attempt is in hand no more.
func (w *Worker) leave(a attempt, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, a)
	w.had.leave(a, ended)
}

func (w *Worker) tell(r *run, share float64, doing string) {
	if !(share >= 0) { // with no number, nothing that the worker says would be JSON
		share = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.share, r.doing = min(share, 1), clip(doing, job.MaxText)
}

// finish reports how an attempt has ended, and is done with its message when the report is durable.
func (w *Worker) finish(d *queue.Delivery, a attempt, r *job.Report) {
	if r != nil && !w.report(r) {
		return
	}
	w.leave(a, r != nil)
	if r == nil && w.ctx.Err() != nil {
		return // it comes again elsewhere
	}
	w.settle(func() error { return d.Ack(w.ctx) })
}

// report publishes until it works; false: the worker was closed before.
func (w *Worker) report(r *job.Report) bool {
	body, err := json.Marshal(r)
	if err != nil { // a time that is no number
		body, _ = json.Marshal(&job.Report{Job: r.Job, Attempt: r.Attempt, Worker: r.Worker, Device: r.Device, Error: err.Error()})
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := w.config.Broker.Publish(w.ctx, job.QueueReports, queue.Message{ID: r.Job, Body: body, ContentType: "application/json"})
		if err == nil {
			return true
		}
		w.config.Logger.Warn("jobs/worker: a report is not sent yet", "job", r.Job, "error", err)
		select {
		case <-time.After(wait):
		case <-w.ctx.Done():
			return false
		}
	}
}
