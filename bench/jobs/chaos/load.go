package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/worker"
)

func id(i int) string { return fmt.Sprint("job-", i) }

// rare is of how many jobs one is of each of the kinds that take their workers along.
const rare = 1000

// kind is what job number i is.
func kind(i int) string {
	switch i % 20 {
	case 0, 1, 2, 3:
		return "sleep"
	case 4, 5:
		return "once"
	case 6, 7:
		return "key" // both have the same
	case 8, 9, 10:
		return "after"
	case 11:
		return "late"
	case 12:
		return "soon"
	}
	switch i % rare {
	case 13, 273, 513, 773:
		return "deaf"
	case 314:
		return "exit"
	case 15, 115, 315:
		return "goexit"
	}
	return "quick"
}

// body is the submission of job number i.
func body(i int) []byte {
	k, fields := kind(i), map[string]any{"job_id": id(i), "job_type": "quick", "max_attempts": 50, "priority": i % 3}
	switch k {
	case "sleep":
		fields["job_type"], fields["parameters"] = "sleep", map[string]any{"ms": i % 37}
	case "once":
		fields["job_type"] = "once"
	case "key":
		fields["key"] = fmt.Sprint("key-", i/20)
	case "after":
		fields["after"] = []string{id(i - 1), id(i - i%20)}
	case "late":
		fields["deadline"] = 1.0
	case "deaf":
		fields["job_type"], fields["timeout"], fields["max_attempts"] = "deaf", deafTimeout.Seconds(), 2
	case "exit", "goexit":
		fields["job_type"], fields["max_attempts"] = k, 2
	case "soon":
		fields["not_before"], fields["deadline"] = float64(time.Now().UnixMilli()+200)/1e3, float64(time.Now().Add(time.Hour).Unix())
	}
	text, _ := json.Marshal(fields) // of numbers and texts
	return text
}

// wanted is how job number i has to end.
func wanted(i int) job.State {
	switch kind(i) {
	case "late":
		return job.Failed
	case "deaf", "exit", "goexit":
		return job.Dead
	}
	return job.Completed
}

// answer is the result of job number i, as JSON.
func answer(i int) string {
	text := id(i)
	switch kind(i) {
	case "late", "deaf", "exit", "goexit":
		return ""
	case "sleep":
		text = strings.Repeat("x", i%37)
	case "key": // of the pair, one runs
		text = id(i - i%20 + 6)
	}
	return fmt.Sprintf("%q", text)
}

func (j *journal) noted(f worker.Func) worker.Func {
	return func(ctx context.Context, t *worker.Task) (any, error) {
		j.note(begun, t.ID, t.Attempt, "-")
		left := true
		defer func() {
			if left {
				j.note(ended, t.ID, t.Attempt, "failed")
			}
		}()
		result, err := f(ctx, t)
		left = false
		switch {
		case errors.Is(context.Cause(ctx), worker.ErrDropped):
			j.note(ended, t.ID, t.Attempt, "dropped")
		case err != nil:
			j.note(ended, t.ID, t.Attempt, "failed")
		default:
			j.note(ended, t.ID, t.Attempt, "good")
		}
		return result, err
	}
}

func (j *journal) funcs() map[string]worker.Func {
	return map[string]worker.Func{
		"quick": j.noted(func(_ context.Context, t *worker.Task) (any, error) { return t.ID, nil }),
		"once":  j.noted(once),
		"sleep": j.noted(sleep),
		// Those that take a slot, a goroutine or a process along.
		"deaf": j.deaf,
		"exit": j.noted(func(context.Context, *worker.Task) (any, error) {
			j.note(exits, "-", 0, "-")
			os.Exit(exitStatus)
			return nil, nil
		}),
		"goexit": j.noted(func(context.Context, *worker.Task) (any, error) { runtime.Goexit(); return nil, nil }),
	}
}

// deaf notes when it is told to stop, and does not.
func (j *journal) deaf(ctx context.Context, t *worker.Task) (any, error) {
	j.note(begun, t.ID, t.Attempt, "-")
	<-ctx.Done()
	how := "failed"
	if errors.Is(context.Cause(ctx), worker.ErrDropped) {
		how = "dropped"
	}
	j.note(ended, t.ID, t.Attempt, how)
	select {}
}

// deafTimeout is how long a job may take that heeds nothing, and grace for how long it is waited for.
const (
	deafTimeout = 100 * time.Millisecond
	grace       = 300 * time.Millisecond
)

// exitStatus is that of a worker which a job has ended.
const exitStatus = 7

// once fails at the first attempt.
func once(_ context.Context, t *worker.Task) (any, error) {
	if t.Attempt == 1 {
		return nil, errors.New("not yet")
	}
	return t.ID, nil
}

func sleep(ctx context.Context, t *worker.Task) (any, error) {
	var p struct{ MS int }
	if err := json.Unmarshal(t.Parameters, &p); err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Duration(p.MS) * time.Millisecond):
		return strings.Repeat("x", p.MS), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
