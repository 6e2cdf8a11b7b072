package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cancha/internal/callback"
	"cancha/internal/cellio"
	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
)

// calling is what a run knows of the calls of what its user has handed to the query: functions, sinks, formats, sources, places for
// checkpoints. They run on goroutines that may end, and where a cell has declared them, they can be stopped. The zero value is ready.
type calling struct {
	mu   sync.Mutex
	ctx  context.Context // of the calls that begin; replaced when they are stopped
	stop context.CancelFunc
}

// do calls f on a goroutine of its own. A panic in it, or its goroutine's end, is its error.
func (c *calling) do(f func() error) error {
	c.mu.Lock()
	if c.ctx == nil {
		c.ctx, c.stop = context.WithCancel(context.Background()) // an orderly end calls functions, too, after all contexts have ended
	}
	ctx := c.ctx
	c.mu.Unlock()
	return callback.Do(ctx, f)
}

// stopAll stops the calls that are under way, where they are of cells' functions.
func (c *calling) stopAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
		c.ctx, c.stop = nil, nil
	}
}

// How long a call of a user's function may go on that keeps a query from ending, from the end of the call before it: where the query ends in
// order, and where it does not, because it was cancelled or has failed.
const (
	callPatience   = stopPatience
	brokenPatience = time.Second
	callLook       = 50 * time.Millisecond
)

// watchCalls stops, once nothing is read any more, what a user's function has not ended in a long time: one call, whatever it waits for or
// computes. It returns when over is closed.
func (r *Running) watchCalls(over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-r.reading.Done():
	}
	look := time.NewTicker(callLook)
	defer look.Stop()
	ended, since := int64(-1), time.Now()
	for {
		select {
		case <-over:
			return
		case <-look.C:
		}
		patience := r.patience()
		switch n, busy := r.graph.calls.Ended(); {
		case !busy || n != ended:
			ended, since = n, time.Now()
		case time.Since(since) >= patience:
			why := fmt.Sprintf("A function that was handed to the query had not returned %v after the query was to end, and was stopped.", patience)
			if r.note(why); r.broken() == nil {
				r.fail(errors.New(why))
			}
			r.calling.stopAll()
			since = time.Now()
		}
	}
}

// patience is how long a call may keep the query from ending.
func (r *Running) patience() time.Duration {
	patience := cmp.Or(r.query.callPatience, callPatience)
	if r.broken() != nil {
		return min(patience, brokenPatience)
	}
	return patience
}

// stoppable calls what may end late for good reasons, as a sink that flushes when it is closed. Once nothing is read any more, and it has not
// returned in time, only functions of cells in it are stopped; anything else is waited for.
func (r *Running) stoppable(f func() error) error {
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		look := time.NewTicker(callLook)
		defer look.Stop()
		for since := time.Now(); ; {
			select {
			case <-over:
				return
			case <-look.C:
			}
			switch {
			case r.reading.Err() == nil && r.broken() == nil:
				since = time.Now()
			case time.Since(since) >= r.patience():
				r.calling.stopAll()
				since = time.Now()
			}
		}
	})
	defer watching.Wait()
	defer close(over)
	return r.calling.do(f)
}

// called calls what a user has handed to a query, which may panic or end its goroutine. The error, which ends the query, says what it was.
func called(what string, calls *callback.Count, f func() error) (err error) {
	calls.Begin()
	defer calls.End()
	err = contained(what, f)
	if fault := (*cellio.Fault)(nil); err == nil || errors.As(err, &fault) && fault.Stops {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// handed calls a method of what a user has handed to a query, a sink for one. Of a panic in it, the error says where it was.
func handed(what string, f func() error) error {
	err := contained(what, f)
	if fault, ok := err.(*cellio.Fault); ok && !fault.Stops {
		return fmt.Errorf("%s: a fault inside it: %w", what, fault)
	}
	return err
}

// contained makes a panic of f an error.
func contained(what string, f func() error) (err error) {
	returned := false
	defer callback.Catch(what, &returned, &err)
	err = f()
	returned = true
	return err
}

// flow is a step without memory as package flow takes it; calls counts those of its function.
func (s step) flow(calls *callback.Count) flow.Step {
	step := flow.Step{Step: s.Step, Func: s.fn}
	switch f := s.fn.(type) {
	case func([]value.Value) (value.Value, error):
		step.Func = counted(calls, f)
	case func([]value.Value) (bool, error):
		step.Func = counted(calls, f)
	}
	return step
}

func counted[T any](calls *callback.Count, f func([]value.Value) (T, error)) func([]value.Value) (T, error) {
	return func(values []value.Value) (T, error) {
		calls.Begin()
		defer calls.End()
		return f(values)
	}
}
