package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the flags.
type settings struct {
	python, folder, out, results string
	rows, libraries              []string
	depths                       []int
	turns, trees, threads        int
	seed                         int // of the turn: accuracies are medians too
	limit                        time.Duration
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == turnCommand {
		exit(turn(os.Args[2:]))
	}
	s, err := parse(os.Args[1:])
	if err != nil {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err = s.run(ctx)
	stop()
	exit(err)
}

// exit ends the process, with the error where there is one.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "forest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// parse reads the flags.
func parse(args []string) (s settings, err error) {
	f := flag.NewFlagSet("forest", flag.ExitOnError)
	f.StringVar(&s.python, "python", "python3", "Python that has bench/forest/requirements.txt")
	f.StringVar(&s.folder, "data", "out/forest/data", "`folder` of the rows, which data.py makes there once, and of onnxruntime's models")
	f.StringVar(&s.out, "out", "out/forest/forest.md", "`file` for the table, in Markdown")
	f.StringVar(&s.results, "results", "out/forest/forest.jsonl", "`file` that each result is appended to; the table is of all in it, so a run that was stopped can go on")
	rows := f.String("rows", "100k,1m", "how many rows to fit: 10k, 100k, 1m")
	depths := f.String("depths", "12,0", "depths of the trees; 0 is unlimited")
	libraries := f.String("libraries", strings.Join(libraryNames, ","), "who takes turns")
	f.IntVar(&s.turns, "turns", 5, "turns of each; 0 only writes the table anew")
	f.IntVar(&s.trees, "trees", 100, "trees of a forest")
	f.IntVar(&s.threads, "threads", 2, "threads of each")
	f.DurationVar(&s.limit, "limit", 2*time.Hour, "longest that one turn of one library may take")
	_ = f.Parse(args) // ends the process where it fails
	s.rows, s.libraries = strings.Split(*rows, ","), strings.Split(*libraries, ",")
	for depth := range strings.SplitSeq(*depths, ",") {
		n, err := strconv.Atoi(depth)
		if err != nil || n < 0 {
			return s, fmt.Errorf("-depths %s: %q is no depth; write 0 for unlimited, or a number", *depths, depth)
		}
		s.depths = append(s.depths, n)
	}
	for _, name := range s.libraries {
		if !slices.Contains(libraryNames, name) {
			return s, fmt.Errorf("-libraries: there is no %q; there are %s", name, strings.Join(libraryNames, ", "))
		}
	}
	return s, nil
}

// Ours among the libraries: a forest that is grown here, and scikit-learn's, opened by package onnx.
const (
	ours     = "cancha"
	oursONNX = "cancha-onnx"
)

// libraryNames are all libraries; peer.py knows those that are not ours.
var libraryNames = []string{ours, "scikit-learn", "oneDAL", "LightGBM", "XGBoost", runtimeONNX, oursONNX}

// runtimeONNX answers by scikit-learn's forest too.
const runtimeONNX = "onnxruntime"

// run takes all turns, the libraries one after another in each, and writes the table after each turn.
func (s settings) run(ctx context.Context) error {
	for _, file := range []string{s.out, s.results} {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
	}
	if s.turns > 0 {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	failed := map[string]bool{}
	for s.seed = range s.turns {
		for _, of := range s.cases() {
			if failed[of.String()] {
				continue // it would fail again, after as long
			}
			r := s.take(ctx, of)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			failed[of.String()] = r.Failed != ""
			if err := s.keep(r); err != nil {
				return err
			}
		}
		if err := s.write(); err != nil {
			return err
		}
	}
	return s.write()
}

// task is what one library has to do in a turn.
type task struct {
	Library string `json:"library"`
	Rows    string `json:"rows"`
	Depth   int    `json:"depth"` // 0: unlimited
	Trees   int    `json:"trees"`
	Threads int    `json:"threads"`
}

func (t task) String() string {
	return fmt.Sprintf("%s, %s rows, %s", t.Library, t.Rows, depthName(t.Depth))
}

func depthName(depth int) string {
	if depth == 0 {
		return "unlimited depth"
	}
	return fmt.Sprintf("depth %d", depth)
}

// cases lists the tasks of a turn.
func (s settings) cases() (all []task) {
	for _, rows := range s.rows {
		for _, depth := range s.depths {
			for _, library := range s.libraries {
				all = append(all, task{library, rows, depth, s.trees, s.threads})
			}
		}
	}
	return all
}

// prepare makes the rows, and has onnxruntime's models fitted and converted, which is not measured.
func (s settings) prepare(ctx context.Context) error {
	if err := s.command(ctx, s.python, append([]string{"bench/forest/data.py", s.folder}, s.rows...)).Run(); err != nil {
		return fmt.Errorf("make the rows with %s bench/forest/data.py: %w", s.python, err)
	}
	for _, of := range s.cases() {
		if of.Library == runtimeONNX || of.Library == oursONNX {
			of.Library = runtimeONNX
			c := s.peer(ctx, of, "")
			c.Args = append(c.Args, "--convert")
			if err := c.Run(); err != nil {
				fmt.Fprintf(os.Stderr, "forest: %v: not converted: %v\n", of, err) // its turn will say so in the table
			}
		}
	}
	return nil
}

// command returns a process that may say what is wrong, with as many threads as all others.
func (s settings) command(ctx context.Context, name string, args []string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	n := strconv.Itoa(s.threads)
	// LightGBM and XGBoost wait for their threads in loops, which on a machine that others use too takes five times as long as sleeping.
	c.Env = append(os.Environ(), "GOMAXPROCS="+n, "OMP_NUM_THREADS="+n, "OMP_WAIT_POLICY=PASSIVE", "PYTHONWARNINGS=ignore")
	c.Stderr = os.Stderr
	return c
}

// peer returns the process of a library that is not ours.
func (s settings) peer(ctx context.Context, t task, proba string) *exec.Cmd {
	return s.command(ctx, s.python, []string{
		"bench/forest/peer.py", t.Library, s.folder, "--rows", t.Rows, "--depth", strconv.Itoa(t.Depth), "--trees", strconv.Itoa(t.Trees),
		"--threads", strconv.Itoa(t.Threads), "--seed", strconv.Itoa(s.seed), "--proba", proba,
	})
}

// model returns the file of scikit-learn's forest, which peer.py makes; it is empty for one that is grown here.
func (s settings) model(t task) string {
	if t.Library != oursONNX {
		return ""
	}
	depth := "unlimited"
	if t.Depth > 0 {
		depth = strconv.Itoa(t.Depth)
	}
	return filepath.Join(s.folder, fmt.Sprintf("sklearn%s-%s-%d.onnx", t.Rows, depth, t.Trees))
}

// take has one library do its task in a process of its own, and judges its answers.
func (s settings) take(ctx context.Context, t task) result {
	r, err := s.process(ctx, t)
	if err != nil {
		r.Failed = err.Error()
	}
	r.task, r.When = t, time.Now().UTC()
	fmt.Fprintln(os.Stderr, r)
	return r
}

func (s settings) process(ctx context.Context, t task) (r result, err error) {
	proba, err := os.CreateTemp("", "proba-*.npy")
	if err != nil {
		return r, err
	}
	proba.Close()
	defer os.Remove(proba.Name())
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("not done in %v (-limit)", s.limit))
	defer cancel()
	c := s.peer(ctx, t, proba.Name())
	if t.Library == ours || t.Library == oursONNX {
		self, err := os.Executable()
		if err != nil {
			return r, err
		}
		c = s.command(ctx, self, []string{turnCommand, s.folder, t.Rows, strconv.Itoa(t.Depth), strconv.Itoa(t.Trees), strconv.Itoa(s.seed), proba.Name(), s.model(t)})
	}
	said := &tail{}
	c.Stderr = said
	text, err := c.Output()
	if err != nil {
		return r, errors.New(cmp.Or(said.line(), fmt.Sprint(cmp.Or(context.Cause(ctx), err))))
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("what it printed is no result: %w", err)
	}
	r.Accuracy, r.LogLoss, err = judge(proba.Name(), filepath.Join(s.folder, "yte"+t.Rows+".npy"))
	return r, err
}

// keep appends a result to the file of results.
func (s settings) keep(r result) error {
	f, err := os.OpenFile(s.results, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	err = json.NewEncoder(f).Encode(r)
	return errors.Join(err, f.Close())
}

// write writes the table of all results.
func (s settings) write() error {
	f, err := os.Open(s.results)
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := readResults(f)
	if err != nil {
		return fmt.Errorf("%s: %w", s.results, err)
	}
	return os.WriteFile(s.out, []byte(table(all, machine())), 0o666)
}

// tail keeps the end of what a process says.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-4096):]
	return len(p), nil
}

// line returns the last line, which says what is wrong.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
