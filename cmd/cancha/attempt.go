//go:build !windows

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/operation"
	"cancha/jobs/worker"
	"cancha/runtime/gpu"
)

// attemptOrder is what a process that runs one attempt at a job reads first. It ends when its input does: then its worker has ended.
type attemptOrder struct {
	Spec   job.Spec
	Number int    // of the attempt
	Folder string // of files; "": there is none
	Slots  int    // of its worker, which share the machine
}

// attemptLine is one of those that it writes: how far it is, or how it has ended.
type attemptLine struct {
	Share  float64         `json:",omitempty"`
	Doing  string          `json:",omitempty"`
	Ended  bool            `json:",omitempty"`
	Result json.RawMessage `json:",omitempty"`
	Error  string          `json:",omitempty"`
	Final  bool            `json:",omitempty"`
}

// largeJob is from how many bytes on an operation runs in a process of its own: one that is killed for want of memory is not the worker then. To start one takes some tenths of a second,
// in which smaller ones are done.
const largeJob = 256 << 20

// apart runs attempts at jobs in processes of their own, which are killed when nobody wants them any more. Only a CPU can be shared so: one process has a GPU.
type apart struct {
	program string
	folder  string
	slots   int
}

// put has functions of a worker for the CPU run in processes of their own: those that read files, which may be of any kind, and operations on much data.
func (a apart) put(funcs map[string]worker.Func) {
	for _, name := range job.Types() {
		here := funcs[name]
		funcs[name] = func(ctx context.Context, t *worker.Task) (any, error) {
			if work, err := t.Work(); err != nil || work.Memory < largeJob {
				return here(ctx, t)
			}
			return a.run(ctx, t)
		}
	}
	if funcs[operation.ForestFit] != nil {
		funcs[operation.ForestFit] = a.run
	}
}

// run is a worker.Func.
func (a apart) run(ctx context.Context, t *worker.Task) (any, error) {
	order, err := json.Marshal(attemptOrder{t.Spec, t.Attempt, a.folder, a.slots})
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, a.program, "attempt")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is the worker's, which waits for what runs
	c.WaitDelay = time.Second
	said := &tail{to: os.Stderr}
	c.Stderr = said
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("a process of its own for the job: %w", err)
	}
	_, sendErr := in.Write(append(order, '\n'))
	last, readErr := follow(out, t)
	_, _ = in.Close(), out.Close() // whatever it goes on to do or to write, it ends now
	ended := c.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case last != nil:
		return last.outcome()
	}
	return nil, fmt.Errorf("the process of the job has ended without a result: %w%s", errors.Join(explainEnd(ended), sendErr, readErr), said.text())
}

// follow passes on what a process tells, until that has ended, and returns its last line.
func follow(out io.Reader, t *worker.Task) (*attemptLine, error) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		l := &attemptLine{}
		if err := json.Unmarshal(lines.Bytes(), l); err != nil {
			return nil, err
		}
		if l.Ended {
			return l, nil
		}
		t.Progress(l.Share, l.Doing)
	}
	return nil, lines.Err()
}

func (l *attemptLine) outcome() (any, error) {
	switch {
	case l.Final:
		return nil, worker.Final(errors.New(l.Error))
	case l.Error != "":
		return nil, errors.New(l.Error)
	}
	return l.Result, nil
}

// explainEnd says what a kill means that nobody here has sent.
func explainEnd(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return fmt.Errorf("%w: the system does so for want of memory", err)
	}
	return err
}

// tail passes text on, and keeps the last of it.
type tail struct {
	to   io.Writer
	last []byte
}

// mostTail is how much is kept, in bytes.
const mostTail = 2000

func (t *tail) Write(text []byte) (int, error) {
	t.last = append(t.last, text...)
	t.last = bytes.Clone(t.last[max(len(t.last)-mostTail, 0):])
	return t.to.Write(text)
}

func (t *tail) text() string {
	if text := strings.TrimSpace(strings.ToValidUTF8(string(t.last), "")); text != "" {
		return "\n" + text
	}
	return ""
}

// runAttempt runs one attempt at a job for the worker that has started it.
func runAttempt(_ context.Context, args []string) error {
	flags := newFlags("attempt", "", "Runs one attempt at a job. A worker starts it: nothing to call by hand.")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // its worker kills it
	in := bufio.NewReader(os.Stdin)
	text, err := in.ReadBytes('\n')
	var o attemptOrder
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	go func() { // until the process ends
		_, _ = io.Copy(io.Discard, in)
		os.Exit(1) // the worker is gone: nobody wants the result
	}()
	to := &teller{to: json.NewEncoder(os.Stdout)}
	return to.write(o.do(context.Background(), to))
}

// do runs the attempt, and is its last line.
func (o attemptOrder) do(ctx context.Context, to *teller) (l attemptLine) {
	result, err := o.call(ctx, to)
	if err == nil {
		l.Result, err = json.Marshal(result)
	}
	l.Ended = true
	if err != nil {
		l.Error, l.Final, l.Result = err.Error(), worker.IsFinal(err), nil
	}
	return l
}

func (o attemptOrder) call(ctx context.Context, to *teller) (any, error) {
	s, err := gpu.NewSession(ctx, gpu.Config{Device: gpu.CPU, Concurrent: o.Slots})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	funcs := operation.Funcs(s)
	funcs[operation.ForestFit] = operation.Forests(o.Folder, s)
	f := funcs[o.Spec.Type]
	if f == nil {
		return nil, fmt.Errorf("%q is no type that runs in a process of its own", o.Spec.Type)
	}
	t := worker.NewTask(o.Spec, to.tell)
	t.Attempt = o.Number
	return f(ctx, t)
}

// teller writes lines, of any goroutine.
type teller struct {
	mu   sync.Mutex
	to   *json.Encoder
	told time.Time
}

// tellings is how often progress is told at most; a job may tell it very often.
const tellings = 100 * time.Millisecond

func (t *teller) tell(share float64, doing string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.told) >= tellings {
		t.told = now
		_ = t.to.Encode(attemptLine{Share: share, Doing: doing}) // or it is no number, or nobody reads any more
	}
}

func (t *teller) write(l attemptLine) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.to.Encode(l)
}
