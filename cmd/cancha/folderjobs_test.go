//go:build !windows

package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/worker"
)

// programVariable names a program whose engine compiles cells; modules need that.
const programVariable = "CANCHA_PROGRAM"

// service is a process of this program that goes on, and its stdout.
type service struct {
	*exec.Cmd
	out io.Reader
}

// serving starts "cancha args" and waits for a text on its stdout.
func serving(t *testing.T, dir, text string, args ...string) service {
	t.Helper()
	c := cancha(t, dir, args...)
	if program := os.Getenv(programVariable); program != "" {
		c.Path, c.Env = program, append(c.Env, engineVariable+"=")
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr, c.WaitDelay = os.Stderr, time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, out, text)
	return service{c, out}
}

// finished ends a process and looks how it has ended.
func finished(t *testing.T, c service, s syscall.Signal) {
	t.Helper()
	if err := c.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil && s != syscall.SIGKILL {
		t.Errorf("%v: %v", c.Args[1:], err)
	}
}

// works is a folder with what jobs can use.
func works(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"queries", "notebooks", "shop/price"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, dir, "points.csv", "x,side\n1,a\n2,b\n3,a\n4,b\n5,b\n")
	writeFile(t, dir, "queries/n.jsonl", "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}\n")
	writeFile(t, dir, "queries/numbers.go", `import (
	"cancha/stream"
	"cancha/stream/file"
)
must(stream.From(file.Source("n.jsonl")).Name("numbers").Select("n").To(file.JSONLines("rows.jsonl")).Start(context.Background()))`)
	writeFile(t, dir, "queries/broken.go", "check(errors.New(\"the shop is closed\"))")
	write(t, filepath.Join(dir, "notebooks", "double.ipynb"), "n := 2", "n * 2")
	writeFile(t, dir, "shop/go.mod", "module example.com/shop\n\ngo 1.26\n")
	writeFile(t, dir, "shop/price/price.go", `package price

import "errors"

type Order struct{ Pieces, Each int }

func Mean(all []float64) (sum float64) {
	for _, x := range all {
		sum += x
	}
	return sum / float64(len(all))
}

func Total(o Order) (int, error) {
	if o.Pieces < 0 {
		return 0, errors.New("fewer pieces than none")
	}
	return o.Pieces * o.Each, nil
}
`)
	return dir
}

// A worker runs notebooks, queries, forests and functions of modules of its folder, and nothing of elsewhere; and a scheduler that waited goes on when the one before
// it was killed.
func TestFolderJobs(t *testing.T) {
	dir := works(t)
	t.Setenv(jobsVariable, filepath.Join(t.TempDir(), "jobs"))
	first := serving(t, dir, "scheduler of", "scheduler", "-http", "off")
	second := serving(t, dir, "waits, and takes its place", "scheduler", "-http", "off")
	worker := serving(t, dir, "on the cpu", "worker", "-folder", dir)
	cases := []struct{ name, kind, parameters, want string }{
		{"a query", "stream_query", `path=queries/numbers.go`, `3 records, 0 late, 0 bad, 3 rows out`},
		{"a broken query", "stream_query", `path=queries/broken.go`, `the shop is closed`},
		{"a query of elsewhere", "stream_query", `path=../numbers.go`, `is no file inside the worker's folder`},
		{"a notebook", "notebook", `path=notebooks/double.ipynb parameters={"n":21} out=out/double.ipynb`, `"out":"out/double.ipynb"`},
		{"a notebook's parameter beside its path", "notebook", `path=notebooks/double.ipynb n=21`, `unknown field "n"; it has path, out, and parameters`},
		{"a forest", "forest_fit", `data=points.csv label=side n_estimators=5`, `"trees":5`},
		{"no package", "go_function", `module=shop package=price function=total`, `give the name of an exported function`},
		{"a package of elsewhere", "go_function", `module=.. function=Total`, `name folders inside the worker's`},
		{"no module", "go_function", `module=queries function=Total`, `go.mod`},
	}
	if os.Getenv(programVariable) != "" {
		cases = append(cases, []struct{ name, kind, parameters, want string }{
			{"a module's function", "go_function", `module=shop package=price function=Total argument={"Pieces":3,"Each":14}`, "42\n"},
			{"its error", "go_function", `module=shop package=price function=Total argument={"Pieces":-1}`, "fewer pieces than none"},
			{"another argument", "go_function", `module=shop package=price function=Total argument={"Piece":1}`, `unknown field "Piece"`},
			{"no number", "go_function", `module=shop package=price function=Mean argument=[]`, "the result cannot be sent as JSON: json: unsupported value: NaN"},
			{"no function", "go_function", `module=shop package=price function=Sum`, "undefined: called.Sum"},
		}...)
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"job", "submit", "-wait", "-attempts", "1", "-type", c.kind}
			for _, p := range strings.Fields(c.parameters) {
				args = append(args, "-p", p)
			}
			_, stdout, stderr := outcome(t, dir, args...)
			if !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("got %s%s, want %s", stdout, stderr, c.want)
			}
		})
		if i == 0 {
			finished(t, first, syscall.SIGKILL)
			until(t, second.out, "scheduler of")
		}
	}
	var n struct{ Cells []struct{ Outputs []any } }
	if text, err := os.ReadFile(filepath.Join(dir, "out", "double.ipynb")); err != nil || json.Unmarshal(text, &n) != nil || !strings.Contains(string(text), `"42"`) {
		t.Errorf("the notebook's outcome: %v, %s", err, text)
	}
	finished(t, worker, syscall.SIGTERM)
	finished(t, second, syscall.SIGTERM)
}

// A job's id is no way out of the folder of outcomes.
func TestNotebookJobsOutcome(t *testing.T) {
	for id, want := range map[string]string{"a b": "out/a%20b.ipynb", "../notebooks/double": "out/..%2Fnotebooks%2Fdouble.ipynb", "plain-1": "out/plain-1.ipynb"} {
		j, err := readNotebookJob(worker.NewTask(job.Spec{ID: id, Parameters: json.RawMessage(`{"path": "notebooks/double.ipynb"}`)}, nil))
		if err != nil || j.Out != want {
			t.Errorf("job %q: %q, %v, want %q", id, j.Out, err, want)
		}
	}
}

// Where another program has the page's port, the error names the flag.
func TestSchedulerPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, _, stderr := outcome(t, t.TempDir(), "scheduler", "-jobs", filepath.Join(t.TempDir(), "jobs"), "-http", l.Addr().String())
	if code != 1 || !strings.Contains(stderr, "already in use") || !strings.Contains(stderr, "-http") {
		t.Errorf("%d: %s", code, stderr)
	}
}
