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

	"cancha/internal/exactjson"
	"cancha/jobs"
	"cancha/jobs/folder"
	"cancha/jobs/worker"
	"cancha/jupyter/notebook"
)

// queryType is the job type of a program of stream queries: what "cancha query" runs.
const queryType = "stream_query"

// queryJob is what a job of that type asks for. It runs until its queries have ended, or until it is cancelled; a query with a checkpoint goes on from that when
// the job is tried again, here or on another worker that has the folder.
type queryJob struct {
	Path       string          `json:"path"`       // a notebook, or a file of Go, inside the worker's folder
	Parameters json.RawMessage `json:"parameters"` // of a notebook, as of a job of the type notebook
}

// queriesIn is the function of jobs that run the queries of a folder's files.
func queriesIn(path string) jobs.Func {
	return inFolder(path, func(ctx context.Context, files *folder.Folder, t *jobs.Task) (any, error) {
		var j queryJob
		if err := exactjson.Read(t.Parameters, &j); err != nil {
			return nil, worker.Final(fmt.Errorf("parameters of a %s: %w", queryType, err))
		}
		n, err := queriesOf(files, j)
		if err != nil {
			return nil, err
		}
		dir, err := files.Dir(filepath.Dir(j.Path))
		if err != nil {
			return nil, err
		}
		return runJobsQuery(ctx, filepath.Join(dir, filepath.Base(j.Path)), n, t)
	})
}

// queriesOf reads a notebook, or a file of Go, of a folder.
func queriesOf(files *folder.Folder, j queryJob) (*notebook.Notebook, error) {
	if filepath.Ext(j.Path) == ".ipynb" {
		return notebookOf(files, j.Path, j.Parameters)
	}
	source, err := files.ReadFile(j.Path)
	if err != nil {
		return nil, err
	}
	if text := string(bytes.TrimSpace(j.Parameters)); text != "" && text != "null" && text != "{}" {
		return nil, worker.Final(fmt.Errorf("parameters are a notebook's; %s can ask os.Getenv", j.Path))
	}
	n, err := programOf(j.Path, source)
	if err != nil {
		return nil, worker.Final(err)
	}
	return n, nil
}

func runJobsQuery(ctx context.Context, path string, n *notebook.Notebook, t *jobs.Task) (any, error) {
	begun, told := time.Now(), &queryLines{t: t}
	err := unlessZero(stay(ctx, queryOptions{path: path, progress: time.Second, told: told}, n))
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
