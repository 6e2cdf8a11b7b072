package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cancha/internal/cellio"
	"cancha/jobs/job"
)

// outcome is what a function has returned, or why it has returned nothing.
type outcome struct {
	result any
	err    error
}

// call calls the function of a job's type, and waits until it has returned, or until a grace has passed since its context has ended. In the
// latter case left is not nil, and has the outcome when the function returns after all.
func (w *Worker) call(ctx context.Context, spec job.Spec, a attempt, now *run) (o outcome, left <-chan outcome) {
	f := w.config.Funcs[spec.Type]
	if f == nil {
		return outcome{err: fmt.Errorf("this worker does not run %q", spec.Type)}, nil // another one may
	}
	task := &Task{Spec: spec, Attempt: a.number, tell: func(share float64, doing string) { w.tell(now, share, doing) }}
	returned := make(chan outcome, 1)
	go invoke(ctx, f, task, returned) // it ends with the function: if that heeds no context, nothing but the end of the process stops it
	select {
	case o = <-returned:
		return o, nil
	case <-ctx.Done():
	}
	grace := time.NewTimer(w.config.Grace)
	defer grace.Stop()
	select {
	case o = <-returned:
		return o, nil
	case <-grace.C:
		return outcome{}, returned
	}
}

// errGoexit tells that a function has ended its goroutine.
var errGoexit = errors.New("the function has ended its goroutine (runtime.Goexit, which t.FailNow of package testing calls, too), and so it has returned nothing: return an error instead")

// invoke calls a function; a panic is an error, and so is the end of the goroutine.
func invoke(ctx context.Context, f Func, t *Task, returned chan<- outcome) {
	o := outcome{err: errGoexit}
	defer func() { returned <- o }()
	defer cellio.Enter(ctx)()
	defer func() {
		if p := recover(); p != nil {
			o.err = fault(p)
		}
		if o.err != nil && ctx.Err() != nil {
			o.err = context.Cause(ctx)
		}
	}()
	o.result, o.err = f(ctx, t)
}
