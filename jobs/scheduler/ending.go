package scheduler

import (
	"context"
	"errors"
	"fmt"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// Ending is a job's end, and the number of that event.
type Ending struct {
	Number uint64   `json:"number"`
	ID     string   `json:"id"`
	Job    *job.Job `json:"job,omitempty"` // nil: it was replayed since, or its time is over
}

// Endings are those of a stretch of events.
type Endings struct {
	All []Ending `json:"all,omitempty"`
	// Next is the number of the event that was looked at last: ask behind it.
	Next uint64 `json:"next"`
	// More tells that there are events behind it.
	More bool `json:"more,omitempty"`
	// Missed tells that there are none any more right behind the number that was asked for, or that the store is another one than that
	// number is of: a list of the jobs that have ended tells what is missing.
	Missed bool `json:"missed,omitempty"`
}

// What one answer looks at and has at most.
const (
	mostEndings = 2000              // events
	mostBytes   = queue.MaxBody / 4 // of parameters and results, above which it ends
)

// Endings returns the jobs that have ended behind the event of a number, in that order, of so many events at most; 0: 2000. Each end is
// there once for as long as its event is kept, and the job as it is.
func (s *Scheduler) Endings(ctx context.Context, after uint64, most int) (e Endings, err error) {
	if most <= 0 || most > mostEndings {
		most = mostEndings
	}
	if err := s.catchUp(ctx); err != nil {
		return e, fmt.Errorf("jobs/scheduler: endings: %w", err)
	}
	events, last, err := s.store.Events(after, most)
	if err == nil {
		e, err = s.endings(ctx, after, events)
	}
	if err != nil {
		return e, fmt.Errorf("jobs/scheduler: endings: %w", err)
	}
	if after > last { // of another store
		e.Missed, e.Next = true, last
	}
	e.More = e.Next < last
	return e, nil
}

func (s *Scheduler) endings(ctx context.Context, after uint64, events []store.Event) (Endings, error) {
	e, bytes := Endings{Next: after, Missed: len(events) > 0 && events[0].Number > after+1}, 0
	for _, event := range events {
		if bytes > mostBytes || ctx.Err() != nil {
			return e, context.Cause(ctx)
		}
		e.Next = event.Number
		if !event.State.Ended() {
			continue
		}
		j, err := s.store.Get(event.Job)
		if err != nil && !errors.Is(err, store.ErrUnknown) {
			return e, err
		}
		one := Ending{Number: event.Number, ID: event.Job}
		if err == nil && j.State == event.State && j.Ended.Equal(event.At) {
			one.Job, bytes = j, bytes+len(j.Result)+len(j.Parameters)
		}
		e.All = append(e.All, one)
	}
	return e, nil
}
