package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"cancha/internal/cellio"
	"cancha/jobs/job"
)

// outcome is how an attempt has ended, as its report has it: nothing of it is the user's any more, so that no method of theirs is called.
type outcome struct {
	result json.RawMessage
	err    string // "": there is none
	final  bool   // the error would come again
	last   bool   // no slot is left to try it again
}

// call calls the function of a job's type, and waits until it has returned and what it has returned is written, or until a grace has passed
// since its context has ended. In the latter case left is not nil, and has the outcome if that comes after all.
func (w *Worker) call(ctx context.Context, spec job.Spec, a attempt, now *run) (o outcome, left <-chan outcome) {
	f := w.config.Funcs[spec.Type]
	if f == nil {
		return outcome{err: fmt.Sprintf("this worker does not run %q", spec.Type)}, nil // another one may
	}
	task := &Task{Spec: spec, Attempt: a.number, tell: func(share float64, doing string) { w.tell(now, share, doing) }}
	returned := make(chan outcome, 1)
	go invoke(ctx, f, task, &now.returned, returned) // if it heeds no context, nothing but the end of the process stops it
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

// Why there is nothing of a function that has ended its goroutine, and of one whose result or error has: a method of it was called.
const (
	goexit = "the function has ended its goroutine (runtime.Goexit, which t.FailNow of package testing calls, too), " +
		"and so it has returned nothing: return an error instead"
	goexitWriting = "a method of what the function has returned has ended its goroutine (runtime.Goexit), " +
		"and so nothing is known of it: return a value without such a method"
)

// invoke calls a function, and writes down what it returns: both call code of the user's. A panic is an error, and so is the end of the
// goroutine. It sets wrote when the function has returned.
func invoke(ctx context.Context, f Func, t *Task, wrote *atomic.Bool, returned chan<- outcome) {
	o := outcome{err: goexit}
	defer func() { returned <- o }()
	defer cellio.Enter(ctx)()
	defer func() {
		if o.err != "" && ctx.Err() != nil {
			o = outcome{err: context.Cause(ctx).Error()}
		}
	}()
	var result any
	err := guarded(func() (err error) { result, err = f(ctx, t); return err })
	wrote.Store(true)
	o = outcome{err: goexitWriting, final: err == nil} // while its methods are called
	if err == nil {
		o = succeeded(result)
		return
	}
	o = failed(err)
}

// guarded calls code of the user's; a panic in it is an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault(p)
		}
	}()
	return f()
}

// succeeded is the outcome of a function that has returned a result. Where that cannot be written, it could not be the next time.
func succeeded(result any) (o outcome) {
	said := false
	err := guarded(func() (err error) { o.result, err = encode(result); said = true; return err })
	switch {
	case err == nil:
		return o
	case !said: // a method of it has panicked
		err = Final(fmt.Errorf("the result cannot be written as JSON: %w", err))
	}
	return failed(err)
}

// failed is the outcome of a function that has failed.
func failed(err error) (o outcome) {
	untold := guarded(func() error { o.err = clip(err.Error(), maxError); return nil })
	unknown := guarded(func() error { o.final = IsFinal(err); return nil })
	o.err = cmp.Or(o.err, "an error without a text")
	if p := errors.Join(untold, unknown); p != nil {
		o.err = clip(fmt.Sprintf("%s (a method of this error, a %T, has failed: %v)", o.err, err, p), maxError)
	}
	return o
}
