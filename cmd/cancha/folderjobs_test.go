//go:build !windows

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"cancha/internal/secret"
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
	writeFile(t, dir, "queries/exits.go", "os.Exit(0)")
	writeFile(t, dir, "queries/exits3.go", "os.Exit(3)")
	write(t, filepath.Join(dir, "notebooks", "double.ipynb"), "n := 2", "n * 2")
	write(t, filepath.Join(dir, "notebooks", "exits.ipynb"), "code := 0", "os.Exit(code)", "panic(\"after its end\")")
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "far.ipynb"), "n := 2")
	writeFile(t, elsewhere, "go.mod", "module example.com/far\n\ngo 1.26\n")
	for _, name := range []string{"deep/sum", "lib/price", "linked/price", "piped/sum", "vendored/vendor/example.com/v", "worked/w"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, elsewhere, "far.go", "package sum\n\nfunc Of() int { return 1 }\n")
	far := map[string]string{"deep/sum/far.go": "", "linked/sum": "/", "lib/price/far.go": "", "vendored/vendor/example.com/v/far.go": "", "worked/go.work": ""}
	for name, to := range far {
		to = filepath.Join(elsewhere, map[string]string{"/": ".", "": "far.go"}[to])
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "piped/sum/x.cpp"), 0o600); err != nil {
		t.Fatal(err)
	}
	for module, imports := range map[string]string{"deep": "example.com/deep/sum", "linked": "example.com/linked/price", "piped": "example.com/piped/sum",
		"replaced": "example.com/lib/price", "vendored": "example.com/v", "worked/w": "fmt"} {
		if err := os.MkdirAll(filepath.Join(dir, module), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, module+"/go.mod", "module example.com/"+module+"\n\ngo 1.26\n\nreplace example.com/lib => ../lib\n")
		writeFile(t, dir, module+"/m.go", "package m\n\nimport _ \""+imports+"\"\n\nfunc Total() int { return 1 }\n")
	}
	writeFile(t, dir, "vendored/vendor/modules.txt", "# example.com/v v1.0.0\n")
	writeFile(t, dir, "linked/price/price.go", "package price\n\nimport _ \"example.com/linked/sum\"\n")
	for name, to := range map[string]string{"far": elsewhere, "notebooks/far.ipynb": filepath.Join(elsewhere, "far.ipynb"), "shop/far": elsewhere} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe.ipynb", "pipe.go", "pipe.csv"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
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
	worker := serving(t, dir, "on the cpu", "worker", "-folder", dir, "-func", "total=shop/price.Total", "-func", "mean=shop/price.Mean")
	cases := []struct{ name, kind, parameters, want string }{
		{"a query", "stream_query", `path=queries/numbers.go`, `3 records, 0 late, 0 bad, 3 rows out`},
		{"a broken query", "stream_query", `path=queries/broken.go`, `the shop is closed`},
		{"a query of elsewhere", "stream_query", `path=../numbers.go`, `is no file inside the worker's folder`},
		{"a notebook", "notebook", `path=notebooks/double.ipynb parameters={"n":21} out=out/double.ipynb`, `"out":"out/double.ipynb"`},
		{"the same again", "notebook", `path=notebooks/double.ipynb parameters={"n":2.1e1} out=out/double.ipynb`, `"out":"out/double.ipynb"`},
		{"an expression", "notebook", `path=notebooks/double.ipynb parameters={"n":"os.Getpid()"} out=out/expression.ipynb`, `is failed: notebooks/double.ipynb: parameter n: want a whole number`},
		{"no parameter of it", "notebook", `path=notebooks/double.ipynb parameters={"m":1}`, `no parameter "m"; it has n`},
		{"a notebook that exits", "notebook", `path=notebooks/exits.ipynb`, `"out":"out/`},
		{"a notebook that exits with an error", "notebook", `path=notebooks/exits.ipynb parameters={"code":3}`, `exit status 3`},
		{"a query that exits", "stream_query", `path=queries/exits.go`, `"queries":[]`},
		{"a query that exits with an error", "stream_query", `path=queries/exits3.go`, `exit status 3`},
		{"a person's notebook as out", "notebook", `path=notebooks/double.ipynb out=notebooks/double.ipynb`, `is failed: out: notebooks/double.ipynb is there, and no job has written it`},
		{"a notebook by a link", "notebook", `path=notebooks/far.ipynb`, `escapes`},
		{"a notebook in a linked folder", "notebook", `path=far/far.ipynb`, `is failed: `},
		{"a notebook written by a link", "notebook", `path=notebooks/double.ipynb out=far/out.ipynb`, `is failed: out: `},
		{"a pipe for a notebook", "notebook", `path=pipe.ipynb`, `is failed: pipe.ipynb is a pipe, and no file`},
		{"a query in a linked folder", "stream_query", `path=far/far.ipynb`, `is failed: `},
		{"a pipe for a query", "stream_query", `path=pipe.go`, `is failed: pipe.go is a pipe, and no file`},
		{"a query with an expression", "stream_query", `path=notebooks/double.ipynb parameters={"n":"os.Getpid()"}`, `parameter n: want a whole number`},
		{"a file of Go with parameters", "stream_query", `path=queries/numbers.go parameters={"n":1}`, `parameters are a notebook's`},
		{"a linked module", "go_function", `module=far function=Total`, `is failed: `},
		{"a linked package", "go_function", `module=shop package=far function=Total`, `is failed: `},
		{"a linked file of an imported package", "go_function", `module=deep function=Total`, `deep/sum/far.go leads out of the worker's folder`},
		{"a linked package that an imported one imports", "go_function", `module=linked function=Total`, `linked/sum leads out of the worker's folder`},
		{"a pipe of an imported package", "go_function", `module=piped function=Total`, `piped/sum/x.cpp is a pipe, and no file`},
		{"a linked file of a replaced module", "go_function", `module=replaced function=Total`, `lib/price/far.go leads out of the worker's folder`},
		{"a linked file of a vendored package", "go_function", `module=vendored function=Total`, `far.go leads out of the worker's folder`},
		{"a linked workspace", "go_function", `module=worked/w function=Total`, `worked/go.work leads out of the worker's folder`},
		{"a pipe among the sources", "go_function", `function=Total`, `is failed: pipe.go is a pipe, and no file`},
		{"a pipe for a forest", "forest_fit", `data=pipe.csv label=side`, `pipe.csv is a pipe, and no file`},
		{"a notebook's parameter beside its path", "notebook", `path=notebooks/double.ipynb n=21`, `unknown field "n"; it has path, out, and parameters`},
		{"a forest", "forest_fit", `data=points.csv label=side n_estimators=5`, `"trees":5`},
		{"no package", "go_function", `module=shop package=price function=total`, `give the name of an exported function`},
		{"a package of elsewhere", "go_function", `module=.. function=Total`, `name folders inside the worker's`},
		{"no module", "go_function", `module=queries function=Total`, `go.mod`},
	}
	if os.Getenv(programVariable) != "" {
		cases = append(cases, []struct{ name, kind, parameters, want string }{
			{"a module's function", "go_function", `module=shop package=price function=Total argument={"Pieces":3,"Each":14}`, "42\n"},
			{"a type of one's own", "total", `Pieces=3 Each=14`, "42\n"},
			{"its argument misspelled", "total", `Piece=3`, `unknown field "Piece"`},
			{"a type whose argument is no object", "mean", ``, "the parameters are no []float64"},
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

// A name that differs in case from that of a parameter is none, and nothing is dropped beside the right one.
func TestFileJobsNames(t *testing.T) {
	for _, text := range []string{`{"path": "a.ipynb", "Path": "b.ipynb"}`, `{"PATH": "a.ipynb"}`} {
		if j, err := readNotebookJob(worker.NewTask(job.Spec{ID: "a", Parameters: json.RawMessage(text)}, nil)); err == nil || !strings.Contains(err.Error(), `is "path" meant?`) {
			t.Errorf("%s: %+v, %v", text, j, err)
		}
	}
	if j, err := readFunctionJob(json.RawMessage(`{"module": "shop", "Function": "Total"}`)); err == nil || !strings.Contains(err.Error(), `is "function" meant?`) {
		t.Errorf("%+v, %v", j, err)
	}
}

// A worker without its folder, or with a name of two lines, does not start, and says why.
func TestWorkerRefuses(t *testing.T) {
	t.Setenv(rabbitVariable, "")
	t.Setenv(jobsVariable, filepath.Join(t.TempDir(), "jobs"))
	dir := t.TempDir()
	writeFile(t, dir, "file", "")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		code       int
		args       []string
	}{
		{"no folder", "-folder: there is no folder \"/nonexistent\"; make it, or name another one", 1, []string{"-folder", "/nonexistent"}},
		{"a file", "-folder: \"file\" is a file, and no folder", 1, []string{"-folder", "file"}},
		{"a type without a folder", "-func names functions of modules in the -folder", 2, []string{"-func", "total=shop.Total"}},
		{"a type without a module", "-func total: no folder on the way sub has a go.mod", 1, []string{"-folder", ".", "-func", "total=sub.Total"}},
		{"a type of a folder that is not there", "-func total: shop: ", 1, []string{"-folder", ".", "-func", "total=shop.Total"}},
		{"a type of elsewhere", "-func total: ", 1, []string{"-folder", ".", "-func", "total=../shop.Total"}},
		{"a type that is known", "take another name", 2, []string{"-folder", ".", "-func", "notebook=sub.Total"}},
		{"a type of no function", "is no exported function's name", 2, []string{"-folder", ".", "-func", "total=sub.total"}},
		{"a type of nothing", "want NAME=MODULE.Function", 2, []string{"-folder", ".", "-func", "total"}},
		{"two lines", "has control characters", 2, []string{"-id", "a\nb"}},
		{"a terminal's sequence", "has control characters", 2, []string{"-id", "a\x1b[2J"}},
	} {
		if code, stdout, stderr := outcome(t, dir, append([]string{"worker"}, c.args...)...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: got %d, %s%s, want %d and %s", c.name, code, stdout, stderr, c.code, c.want)
		}
	}
}

// A worker with a folder does not take the jobs of another user, who would have things run as its own.
func TestWorkerOwner(t *testing.T) {
	jobs, other := t.TempDir(), os.Geteuid()+1
	writeFile(t, jobs, "socket", "")
	owner := os.Geteuid()
	if owner == 0 { // root's are everybody's
		if owner = 1001; os.Chown(filepath.Join(jobs, "socket"), owner, owner) != nil {
			t.Skip("this root may not give files away")
		}
	}
	for _, c := range []struct {
		o    workerOptions
		uid  int
		fail bool
	}{
		{workerOptions{folder: jobs, files: "."}, owner, false},
		{workerOptions{folder: jobs, files: "."}, other, true},
		{workerOptions{folder: jobs}, other, false},
		{workerOptions{files: "."}, other, false}, // a RabbitMQ has accounts of its own
	} {
		if err := c.o.checkOwner(c.uid); (err != nil) != c.fail {
			t.Errorf("%+v as %d: got %v", c.o, c.uid, err)
		}
	}
}

// Whoever asks the scheduler's page needs the token, which stands in a file of its user's alone, and in no log.
func TestSchedulerToken(t *testing.T) {
	t.Setenv(rabbitVariable, "")
	jobs := filepath.Join(t.TempDir(), "jobs")
	t.Setenv(jobsVariable, jobs)
	t.Setenv(jobsTokenVariable, "fifteen letters")
	if code, _, stderr := outcome(t, t.TempDir(), "scheduler", "-http", "127.0.0.1:0"); code != 2 || !strings.Contains(stderr, "$CANCHA_JOBS_TOKEN: a token of 15 characters") || strings.Contains(stderr, "fifteen letters") {
		t.Errorf("a short token: %d %s", code, stderr)
	}
	t.Setenv(jobsTokenVariable, "")
	c := cancha(t, t.TempDir(), "scheduler", "-http", "127.0.0.1:0")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	c.Stderr, c.WaitDelay = &stderr, time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := until(t, out, "with the token in")
	page := regexp.MustCompile(`http://\S+/`).FindString(said)
	token, path, err := secret.File(jobs, tokenFile)
	if err != nil || page == "" {
		t.Fatalf("%v in %s", err, said)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for with, want := range map[string]int{"": 403, "Bearer " + token: 202, "Bearer " + token[1:]: 403} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", page+"jobs", strings.NewReader(`{"job_type": "notebook", "job_id": "j"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", with)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("with %q: got %d, want %d", with, answer.StatusCode, want)
		}
	}
	finished(t, service{c, out}, syscall.SIGTERM)
	if strings.Contains(said+stderr.String(), token) {
		t.Errorf("the log has the token: %s%s", said, &stderr)
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
