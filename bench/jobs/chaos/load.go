package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/worker"
)

func id(i int) string { return fmt.Sprint("job-", i) }

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
	case "soon":
		fields["not_before"], fields["deadline"] = float64(time.Now().UnixMilli()+200)/1e3, float64(time.Now().Add(time.Hour).Unix())
	}
	text, _ := json.Marshal(fields) // of numbers and texts
	return text
}

// wanted is how job number i has to end.
func wanted(i int) job.State {
	if kind(i) == "late" {
		return job.Failed
	}
	return job.Completed
}

// journal is the file in which one process of a worker notes what it begins and ends.
type journal struct{ file *os.File }

func newJournal(r role) (*journal, error) {
	f, err := os.OpenFile(filepath.Join(r.Folder, fmt.Sprintf("%s.%d.journal", r.ID, os.Getpid())), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &journal{f}, err
}

// note writes a line at once: what one call has written outlives the process.
func (j *journal) note(what string, t *worker.Task, how string) {
	if _, err := fmt.Fprintf(j.file, "%s %s %d %d %s\n", what, t.ID, t.Attempt, time.Now().UnixMicro(), how); err != nil {
		panic(err)
	}
}

func (j *journal) noted(f worker.Func) worker.Func {
	return func(ctx context.Context, t *worker.Task) (any, error) {
		j.note("begin", t, "-")
		result, err := f(ctx, t)
		switch {
		case errors.Is(context.Cause(ctx), worker.ErrDropped):
			j.note("end", t, "dropped")
		case err != nil:
			j.note("end", t, "failed")
		default:
			j.note("end", t, "good")
		}
		return result, err
	}
}

func (j *journal) funcs() map[string]worker.Func {
	return map[string]worker.Func{
		"quick": j.noted(func(_ context.Context, t *worker.Task) (any, error) { return t.ID, nil }),
		"once":  j.noted(once),
		"sleep": j.noted(sleep),
	}
}

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
