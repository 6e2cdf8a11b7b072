//go:build !windows

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cancha/jobs"
	"cancha/jobs/worker"
)

// queryType is the job type of a program of stream queries: what "cancha query" runs.
const queryType = "stream_query"

// queryJob is what a job of that type asks for. It runs until its queries have ended, or until it is cancelled; a query with a checkpoint goes on from that when
// the job is tried again, here or on another worker that has the folder.
type queryJob struct {
	Path       string         `json:"path"`       // a notebook, or a file of Go, inside the worker's folder
	Parameters map[string]any `json:"parameters"` // of a notebook
}

// queriesIn is the function of jobs that run the queries of a folder's files.
func queriesIn(folder string) jobs.Func {
	return func(ctx context.Context, t *jobs.Task) (any, error) {
		var j queryJob
		d := json.NewDecoder(bytes.NewReader(t.Parameters))
		d.DisallowUnknownFields()
		if err := d.Decode(&j); err != nil {
			return nil, worker.Final(fmt.Errorf("parameters of a %s: %w", queryType, err))
		}
		if !filepath.IsLocal(j.Path) {
			return nil, worker.Final(fmt.Errorf("%q is no file inside the worker's folder", j.Path))
		}
		return runJobsQuery(ctx, filepath.Join(folder, j.Path), texts(j.Parameters), t)
	}
}

func runJobsQuery(ctx context.Context, path string, p parameters, t *jobs.Task) (any, error) {
	n, err := readProgram(path, p)
	if err != nil {
		return nil, worker.Final(err)
	}
	begun, told := time.Now(), &queryLines{t: t}
	err = stay(ctx, queryOptions{path: path, progress: time.Second, told: told}, n)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	return map[string]any{"queries": told.ended(), "seconds": time.Since(begun).Seconds()}, nil
}

// queryLines tells a job's progress by the lines about its queries, of which it keeps those of their ends.
type queryLines struct {
	t *jobs.Task

	mu   sync.Mutex
	last []string
}

// mostLines is of how many queries a result tells how they have ended.
const mostLines = 20

func (q *queryLines) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "query ") {
		q.t.Progress(0, text) // how much there is to come, nobody knows
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if strings.HasPrefix(text, "query ") && strings.Contains(text, " has ended: ") && len(q.last) < mostLines {
		q.last = append(q.last, text)
	}
	return os.Stderr.Write(line)
}

func (q *queryLines) ended() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string{}, q.last...)
}
