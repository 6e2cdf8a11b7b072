//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"cancha/internal/exactjson"
	"cancha/jobs"
	"cancha/jobs/folder"
	"cancha/jobs/worker"
	"cancha/jupyter/headless"
	"cancha/jupyter/notebook"
)

// notebookType is the job type of a notebook that a worker runs without a browser.
const notebookType = "notebook"

// notebookJob is what a job of that type asks for.
type notebookJob struct {
	Path string `json:"path"` // inside the worker's folder
	// Parameters, an object, are of the cell tagged "parameters". Whoever submits them runs nothing by them: see notebook.SetData.
	Parameters json.RawMessage `json:"parameters"`
	Out        string          `json:"out"` // where the executed notebook goes, inside the folder; "": out/JOB.ipynb, see folder.NameOf
}

// inFolder is the function of jobs that use a folder's files, which they reach by this one door alone.
func inFolder(path string, run func(context.Context, *folder.Folder, *jobs.Task) (any, error)) jobs.Func {
	return func(ctx context.Context, t *jobs.Task) (any, error) {
		files, err := folder.Open(path)
		if err != nil {
			return nil, err // another worker's may be there
		}
		defer files.Close()
		return run(ctx, files, t)
	}
}

// notebooksIn is the function of jobs that run the notebooks of a folder, and no others.
func notebooksIn(path string) jobs.Func {
	return inFolder(path, func(ctx context.Context, files *folder.Folder, t *jobs.Task) (any, error) {
		j, err := readNotebookJob(t)
		if err != nil {
			return nil, worker.Final(err)
		}
		for _, path := range []string{j.Path, j.Out} {
			if !filepath.IsLocal(path) || filepath.Ext(path) != ".ipynb" {
				return nil, worker.Final(fmt.Errorf("%q is no notebook (.ipynb) inside the worker's folder", path))
			}
		}
		n, err := notebookOf(files, j.Path, j.Parameters)
		if err != nil {
			return nil, err
		}
		return runJobsNotebook(ctx, files, n, j, t)
	})
}

// readNotebookJob reads what is asked for. A notebook's own parameters beside its path would be left out in silence, so they are an error.
func readNotebookJob(t *jobs.Task) (j notebookJob, err error) {
	if err := exactjson.Read(t.Parameters, &j); err != nil {
		return j, fmt.Errorf("parameters of a %s: %w; it has path, out, and parameters, an object of the notebook's own, such as {\"n\": 3}", notebookType, err)
	}
	if j.Out == "" {
		j.Out = filepath.Join("out", folder.NameOf(t.ID)+".ipynb") // an id such as ../model is no way to a notebook beside out
	}
	return j, nil
}

// notebookOf reads a notebook of a folder, with parameters that somebody has submitted.
func notebookOf(files *folder.Folder, path string, object json.RawMessage) (*notebook.Notebook, error) {
	text, err := files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n, err := inGo(path, text)
	if err == nil {
		err = n.SetData(object)
	}
	if err != nil {
		return nil, worker.Final(fmt.Errorf("%s: %w", path, err))
	}
	return n, nil
}

func runJobsNotebook(ctx context.Context, files *folder.Folder, n *notebook.Notebook, j notebookJob, t *jobs.Task) (any, error) {
	if err := files.MayWriteContext(ctx, j.Out); err != nil {
		return nil, fmt.Errorf("out: %w", err)
	}
	dir, err := files.Dir(filepath.Dir(j.Path))
	if err != nil {
		return nil, err
	}
	c, err := headlessly()
	if err != nil {
		return nil, err
	}
	c.Out = &progressLines{t: t}
	begun := time.Now()
	runErr := unlessZero(headless.Run(ctx, c, n, filepath.Join(dir, filepath.Base(j.Path))))
	text, err := n.Marshal()
	if err == nil {
		keeping, end := outlasting(ctx)
		err = files.WriteContext(keeping, t.ID, j.Out, text)
		end()
	}
	switch {
	case err != nil && runErr != nil:
		return nil, fmt.Errorf("%w (and its outputs are not kept: %v)", runErr, err)
	case err != nil:
		return nil, fmt.Errorf("out: %w", err)
	case runErr != nil:
		return nil, fmt.Errorf("%w (the notebook with its outputs is %s)", runErr, j.Out)
	}
	return map[string]any{"out": j.Out, "seconds": time.Since(begun).Seconds()}, nil
}

// keepsFor is for how long the outputs of a notebook that was stopped may wait for other jobs of the folder; a worker's usual grace is longer.
const keepsFor = 5 * time.Second

// outlasting is a context that ends a while after another one has.
func outlasting(ctx context.Context) (context.Context, func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(keepsFor, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() { stop(); cancel(nil) }
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
