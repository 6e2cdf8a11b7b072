package worker

import (
	"context"
	"fmt"
	"time"

	"cancha/jobs/job"
)

// UsualGrace is a worker's grace where its Config says nothing.
const UsualGrace = 5 * time.Second

// lost is a slot whose function goes on though it was told to stop, a grace ago.
type lost struct {
	attempt
	since    time.Time // when the function was called
	returned <-chan outcome
}

// lose counts a slot as lost, and returns how its attempt has ended. Returned tells that the function has, and a method of its result has not.
func (w *Worker) lose(l *lost, name string, returned bool, cause error) outcome {
	w.mu.Lock()
	w.lost[l] = true
	n := len(w.lost)
	w.mu.Unlock()
	w.wake()
	what := fmt.Sprintf("the function of %q does not heed its context, and goes on", name)
	if returned {
		what = fmt.Sprintf("a method of what the function of %q has returned (MarshalJSON, Error) does not return, and goes on", name)
	}
	o := outcome{err: fmt.Sprintf("%v; %v after that it has not ended: %s in worker %s, where it takes 1 of %d slots until that process ends",
		cause, w.config.Grace, what, w.self.ID, w.self.Slots)}
	w.config.Logger.Error("jobs/worker: a slot is lost, for a job does not end", "job", l.job, "attempt", l.number, "type", name, "cause",
		cause, "lost", n, "slots", w.self.Slots)
	if n >= w.self.Slots && w.config.Own && !w.config.Replaced {
		o.err, o.last = o.err+". No slot is left to try it again", true
	}
	return o
}

// await waits until a lost slot is none any more, for its function has returned after all; false: the worker ends before. While all slots
// are lost the worker takes no jobs, and what it has fetched goes back.
func (w *Worker) await(l *lost) bool {
	w.mu.Lock()
	all := len(w.lost) >= w.self.Slots
	if all {
		w.shut()
	}
	w.mu.Unlock()
	if all {
		w.once.Do(func() { close(w.stuck) })
	}
	select {
	case <-l.returned:
	case <-w.drain.Done():
		return false
	}
	w.mu.Lock()
	delete(w.lost, l)
	w.open()
	w.mu.Unlock()
	w.config.Logger.Warn("jobs/worker: a slot that was lost is free again", "job", l.job, "attempt", l.number)
	w.wake()
	return true
}

// open has the worker take jobs, and shut has it take none; mu is held.
func (w *Worker) open() {
	if w.takes == nil || w.takes.Err() != nil {
		w.takes, w.shut = context.WithCancel(w.drain)
		close(w.opened)
		w.opened = make(chan struct{})
	}
}

// taking is a context that ends when the worker takes no more jobs for now, or for good.
func (w *Worker) taking() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.takes
}

// reopens waits until the worker takes jobs; false: it ends before.
func (w *Worker) reopens() bool {
	for {
		w.mu.Lock()
		takes, opened := w.takes.Err() == nil, w.opened
		w.mu.Unlock()
		switch {
		case w.drain.Err() != nil:
			return false
		case takes:
			return true
		}
		select {
		case <-opened:
		case <-w.drain.Done():
		}
	}
}

// Stuck is closed when, for the first time, each slot has a job that does not end though nobody wants it any more. The worker takes no jobs
// then, unless one of those ends after all: nothing but the end of the process stops them for sure.
func (w *Worker) Stuck() <-chan struct{} { return w.stuck }

// AllStuck tells whether that is so now.
func (w *Worker) AllStuck() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.lost) >= w.self.Slots
}

// beatLost tells of lost slots; mu is held.
func (w *Worker) beatLost(b *job.Beat) {
	for l := range w.lost {
		b.Stuck = append(b.Stuck, job.Run{Job: l.job, Attempt: l.number, Elapsed: time.Since(l.since).Seconds()})
	}
	b.Worker.Stuck = len(b.Stuck)
}
