package server

import (
	"context"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/scheduler"
)

// asker asks the scheduler and the broker. What is dear is asked now and then, and told to all meanwhile: it costs the same however many look.
type asker struct {
	config   Config
	counts   recent[counts]
	measures recent[scheduler.Measures]
	queues   recent[[]queueView]
	workers  recent[[]scheduler.Worker]
}

func newAsker(c Config) *asker {
	return &asker{config: c, counts: recent[counts]{least: time.Second / 2}, measures: recent[scheduler.Measures]{least: time.Second},
		queues:  recent[[]queueView]{least: time.Second / 2},
		workers: recent[[]scheduler.Worker]{least: time.Second / 4}}
}

// recent is an answer of a moment ago.
type recent[T any] struct {
	mu    sync.Mutex    // held while one asks: the others wait for that answer
	least time.Duration // for which an answer is good
	until time.Time
	value T
	err   error
}

// share is for how many times as long as it took to make an answer is good, at least: the scheduler spends so small a share of its time with it.
const share = 50

// get returns the answer there is, or asks. It is not the caller's context that ask gets: others wait for the answer, too.
func (r *recent[T]) get(patience time.Duration, ask func(context.Context) (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if begun := time.Now(); begun.After(r.until) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r.value, r.err = ask(ctx)
		now := time.Now()
		r.until = now.Add(r.least)
		if r.err == nil { // a failure took as long as the patience, and may be over
			r.until = now.Add(max(r.least, min(share*now.Sub(begun), time.Minute)))
		}
	}
	return r.value, r.err
}

// counts are what the scheduler counts, and stats that with what it measures.
type (
	counts struct {
		States  map[job.State]int
		Counted map[string]int64
	}
	stats struct {
		counts
		scheduler.Measures
	}
)

// patience is how long the scheduler and the broker are waited for, and hopeless how long the scheduler is while something fails: until it
// works again, it answers nobody.
const (
	patience = 5 * time.Second
	hopeless = time.Second
)

func (a *asker) patience() time.Duration {
	if a.config.Scheduler.Trouble() != "" {
		return hopeless
	}
	return patience
}

// present asks who works.
func (a *asker) present() ([]scheduler.Worker, error) {
	return a.workers.get(a.patience(), a.config.Scheduler.Workers)
}

// stats asks what was counted and measured. To measure is dear where very many jobs wait: 1.4 s for 100,000. Counts are not, and stay young.
func (a *asker) stats() (s stats, err error) {
	s.counts, err = a.counts.get(a.patience(), func(ctx context.Context) (c counts, err error) {
		c.States, c.Counted, err = a.config.Scheduler.Counts(ctx)
		return c, err
	})
	if err != nil {
		return s, err
	}
	s.Measures, err = a.measures.get(a.patience(), func(ctx context.Context) (scheduler.Measures, error) {
		return a.config.Scheduler.Measures(ctx, a.config.Absent)
	})
	return s, err
}

// messages asks the broker for what its queues have, all at once. One that cannot be told has its error.
func (a *asker) messages() []queueView {
	all, _ := a.queues.get(patience, func(ctx context.Context) ([]queueView, error) {
		names := viewedQueues()
		views := make([]queueView, len(names))
		var asking sync.WaitGroup
		for i, q := range names {
			asking.Go(func() {
				info, err := a.config.Broker.Inspect(ctx, q.name)
				views[i] = viewQueue(q, info, err)
			})
		}
		asking.Wait()
		return views, nil
	})
	return all
}
