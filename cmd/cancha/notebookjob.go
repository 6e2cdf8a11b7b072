//go:build !windows

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"cancha/jobs"
	"cancha/jobs/worker"
	"cancha/jupyter/headless"
)

// notebookType is the job type of a notebook that a worker runs without a browser.
const notebookType = "notebook"

// notebookJob is what a job of that type asks for.
type notebookJob struct {
	Path       string         `json:"path"`       // inside the worker's folder of notebooks
	Parameters map[string]any `json:"parameters"` // of the cell tagged "parameters"
	Out        string         `json:"out"`        // where the executed notebook goes, inside the folder; "": out/JOB.ipynb, with the id as in a URL
}

// notebooksIn is the function of jobs that run the notebooks of a folder, and no others.
func notebooksIn(folder string) jobs.Func {
	return func(ctx context.Context, t *jobs.Task) (any, error) {
		j, err := readNotebookJob(t)
		if err != nil {
			return nil, worker.Final(err)
		}
		for _, path := range []string{j.Path, j.Out} {
			if !filepath.IsLocal(path) || filepath.Ext(path) != ".ipynb" {
				return nil, worker.Final(fmt.Errorf("%q is no notebook (.ipynb) inside the worker's folder", path))
			}
		}
		return runJobsNotebook(ctx, folder, j, t)
	}
}

// readNotebookJob reads what is asked for. A notebook's own parameters beside its path would be left out in silence, so they are an error.
func readNotebookJob(t *jobs.Task) (j notebookJob, err error) {
	d := json.NewDecoder(bytes.NewReader(t.Parameters))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return j, fmt.Errorf("parameters of a %s: %w; it has path, out, and parameters, an object of the notebook's own", notebookType, err)
	}
	if j.Out == "" {
		j.Out = filepath.Join("out", url.PathEscape(t.ID)+".ipynb") // an id such as ../model is no way to a notebook beside out
	}
	return j, nil
}

func runJobsNotebook(ctx context.Context, folder string, j notebookJob, t *jobs.Task) (any, error) {
	n, err := readNotebook(filepath.Join(folder, j.Path), texts(j.Parameters))
	if err != nil {
		return nil, worker.Final(err)
	}
	c, err := headlessly()
	if err != nil {
		return nil, err
	}
	c.Out = &progressLines{t: t}
	begun, out := time.Now(), filepath.Join(folder, j.Out)
	if err := tryPlace(out); err != nil {
		return nil, err
	}
	runErr := headless.Run(ctx, c, n, filepath.Join(folder, j.Path))
	if err := errors.Join(runErr, n.Write(out)); err != nil {
		return nil, fmt.Errorf("%w (the notebook with its outputs is %s)", err, j.Out)
	}
	return map[string]any{"out": j.Out, "seconds": time.Since(begun).Seconds()}, nil
}

// texts are parameters as a command line has them.
func texts(all map[string]any) parameters {
	p := parameters{}
	for name, value := range all {
		if s, is := value.(string); is {
			p[name] = s
		} else if text, err := json.Marshal(value); err == nil { // of what was JSON
			p[name] = string(text)
		}
	}
	return p
}

// progressLines tells a job's progress by the lines about cells: "name  3/10 …".
type progressLines struct{ t *jobs.Task }

var _ io.Writer = (*progressLines)(nil)

func (p *progressLines) Write(line []byte) (int, error) {
	fields := strings.Fields(string(line))
	var done, total int
	for _, f := range fields[min(1, len(fields)):] {
		if n, err := fmt.Sscanf(f, "%d/%d", &done, &total); n == 2 && err == nil && total > 0 {
			p.t.Progress(float64(done)/float64(total), fmt.Sprintf("cell %d of %d", done, total))
			break
		}
	}
	return len(line), nil
}
