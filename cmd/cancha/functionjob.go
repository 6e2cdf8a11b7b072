//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"cancha/internal/exactjson"
	"cancha/jobs"
	"cancha/jobs/folder"
	"cancha/jobs/worker"
	"cancha/jupyter/headless"
	"cancha/jupyter/notebook"
	"cancha/kernel/client"
	"cancha/kernel/workspace"
)

// functionType is the job type of an exported function of a Go module.
const functionType = "go_function"

// functionJob is what a job of that type asks for. Only modules in the worker's folder can be called.
type functionJob struct {
	Module   string          `json:"module"`   // folder of the module, inside the worker's; "": that itself
	Package  string          `json:"package"`  // folder of the package, inside the module; "": the module's first one
	Function string          `json:"function"` // its exported name; its form is as worker.Call has it
	Argument json.RawMessage `json:"argument"` // where the function takes one
}

// functionOutcome is what the kernel that calls the function leaves in a file.
type functionOutcome struct {
	Result json.RawMessage
	Error  string
	Final  bool
}

// functionsIn is the function of jobs that call functions of the modules in a folder, each in a kernel of its own.
func functionsIn(path string) jobs.Func {
	return inFolder(path, func(ctx context.Context, files *folder.Folder, t *jobs.Task) (any, error) {
		j, err := readFunctionJob(t.Parameters)
		if err != nil {
			return nil, worker.Final(err)
		}
		return j.call(ctx, files)
	})
}

// call calls the function of a module in a folder.
func (j functionJob) call(ctx context.Context, files *folder.Folder) (any, error) {
	dir, err := moduleIn(files, j)
	if err != nil {
		return nil, err
	}
	path, err := workspace.ModulePath(dir)
	if err != nil {
		return nil, worker.Final(err)
	}
	return callIn(ctx, dir, path, j)
}

func readFunctionJob(parameters json.RawMessage) (j functionJob, err error) {
	if err := exactjson.Read(parameters, &j); err != nil {
		return j, fmt.Errorf("parameters of a %s: %w", functionType, err)
	}
	j.Module, j.Package = filepath.Clean(j.Module), filepath.Clean(j.Package)
	switch {
	case !filepath.IsLocal(j.Module) || !filepath.IsLocal(j.Package):
		return j, fmt.Errorf("module %q, package %q: name folders inside the worker's", j.Module, j.Package)
	case !token.IsIdentifier(j.Function) || !token.IsExported(j.Function):
		return j, fmt.Errorf("function %q: give the name of an exported function", j.Function)
	}
	return j, nil
}

// callIn calls the function in a kernel of its own, which finds the argument in a file and leaves the outcome in another.
func callIn(ctx context.Context, dir, path string, j functionJob) (any, error) {
	files, err := os.MkdirTemp(client.Temporary(), "function-") // 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(files)
	if err := os.WriteFile(filepath.Join(files, "argument"), j.Argument, 0o600); err != nil {
		return nil, err
	}
	c, err := headlessly()
	if err != nil {
		return nil, err
	}
	if err := headless.Run(ctx, c, functionCells(path, j, files), filepath.Join(dir, "function")); err != nil {
		return nil, explainCall(err, j)
	}
	return readOutcome(filepath.Join(files, "outcome"))
}

// functionCells are those that call it. Names of a cell that begin with "called" are no names of the module's.
func functionCells(path string, j functionJob, files string) *notebook.Notebook {
	if j.Package != "." {
		path += "/" + filepath.ToSlash(j.Package)
	}
	cells := []string{"%get .", fmt.Sprintf(`import (
	"cancha/jobs/job"
	"cancha/jobs/worker"
	"cancha/runtime/session"
	called %q
)`, path), fmt.Sprintf(`calledFunc := must(worker.Call(called.%s))
calledResult, calledErr := calledFunc(session.Context(), worker.NewTask(job.Spec{Parameters: must(os.ReadFile(%q))}, nil))
calledText, calledJSONErr := json.Marshal(calledResult)
calledOutcome := map[string]any{"Result": json.RawMessage(calledText)}
if calledErr == nil && calledJSONErr != nil {
	calledErr = worker.Final(fmt.Errorf("the result cannot be sent as JSON: %%w", calledJSONErr))
}
if calledErr != nil {
	calledOutcome = map[string]any{"Error": calledErr.Error(), "Final": worker.IsFinal(calledErr)}
}
check(os.WriteFile(%q, must(json.Marshal(calledOutcome)), 0o600))`, j.Function, filepath.Join(files, "argument"), filepath.Join(files, "outcome"))}
	n := &notebook.Notebook{}
	for i, text := range cells {
		n.Cells = append(n.Cells, notebook.NewCode(fmt.Sprint("c", i), text))
	}
	return n
}

// explainCall leaves the cell out, which nobody has written.
func explainCall(err error, j functionJob) error {
	if failed := (*headless.CellError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("calling %s of %s: %s", j.Function, filepath.Join(j.Module, j.Package), headless.Explain(failed.Cause))
	}
	return err
}

func readOutcome(path string) (any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var o functionOutcome
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	switch {
	case o.Final:
		return nil, worker.Final(errors.New(o.Error))
	case o.Error != "":
		return nil, errors.New(strings.TrimSpace(o.Error))
	}
	return o.Result, nil
}
