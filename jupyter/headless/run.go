// Package headless runs notebooks without a browser: a kernel of its own for each, its code cells in order until one fails, and what they put out in the
// notebook, as JupyterLab would have put it there. It ends at the run: which notebook, with which parameters, and what becomes of it is its caller's business.
package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cancha/jupyter/notebook"
	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// Config says how notebooks are run. Program is needed.
type Config struct {
	Program   string    // the path of cancha, whose kernel is started
	Env       []string  // for the kernel, beside this process's environment
	Out       io.Writer // is told of each cell; nil: nobody is
	Encrypted bool      // with CurveZMQ, although the sockets lie in a folder that only this user can enter
	// Cell is told how to interrupt the cell that runs from now on, and nil when it has ended. May be nil.
	Cell func(interrupt func())
	// AtOnce is the cause of a context with which the running cell is not waited for.
	AtOnce error
}

// Start starts a kernel in the folder of a notebook, as JupyterLab does. Its user ends it, by Kill at last.
func Start(c Config, path string) (*client.Kernel, error) {
	return client.Start(client.Config{
		Argv: []string{c.Program, "kernel", "{connection_file}"}, Dir: filepath.Dir(path), Stderr: os.Stderr, Env: c.Env,
		Transport: "ipc", Encrypted: c.Encrypted,
	})
}

// Run starts a kernel and runs the code cells of a notebook in it until one fails. What they put out is in the notebook then, also after an error. When ctx
// ends, the running cell is interrupted, and waited for some seconds.
func Run(ctx context.Context, c Config, n *notebook.Notebook, path string) error {
	k, err := Start(c, path)
	if err != nil {
		return err
	}
	defer k.Kill()
	r := NewRunner(c, filepath.Base(path))
	r.record, r.cells = notebook.NewRecorder(), map[string]*notebook.Cell{}
	r.Client, err = k.Connect(ctx, client.Options{Watch: r.watch})
	if err != nil {
		return err
	}
	begin := time.Now()
	runErr := r.All(ctx, context.WithoutCancel(ctx), n)
	if exit := (*CellError)(nil); errors.As(runErr, &exit) {
		if code, ok := exit.ExitStatus(); ok && code == 0 {
			fmt.Fprintf(r.Out, "%s: cell %d of %d has called os.Exit(0), which ends the run\n", r.Name, exit.Number, exit.Total)
		}
	}
	if runErr == nil {
		fmt.Fprintf(r.Out, "%s: %s in %.1f s\n", r.Name, cells(r.ran), time.Since(begin).Seconds())
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(runErr, k.Shutdown(end, r.Client))
}

func cells(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}

// Runner runs the cells of one notebook in order, in a kernel that its user has started. Client is set before All.
type Runner struct {
	Config
	Client *client.Client
	Name   string // of the notebook, for what is told
	ran    int

	waiting []string // declarations that wait for names, after the last cell so far

	mu      sync.Mutex
	record  *notebook.Recorder // nil: outputs are not kept
	running *notebook.Cell
	cells   map[string]*notebook.Cell // by the request that ran them
}

// NewRunner returns one that keeps no outputs.
func NewRunner(c Config, name string) *Runner {
	if c.Out == nil {
		c.Out = io.Discard
	}
	if c.Cell == nil {
		c.Cell = func(func()) {}
	}
	return &Runner{Config: c, Name: name}
}

// watch records what the kernel publishes under the cell that caused it, also after that cell has ended.
func (r *Runner) watch(m wire.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		return
	}
	c := r.cells[m.ParentID()]
	if c == nil {
		c = r.running
		r.cells[m.ParentID()] = c
	}
	var content map[string]any
	if json.Unmarshal(m.Content, &content) == nil {
		r.record.Add(c, m.Header.Type, content)
	}
}

func (r *Runner) begin(c *notebook.Cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = c
	if r.record != nil {
		r.record.Begin(c)
	}
}

// All runs the code cells until one fails. It is an error if declarations still wait for names after the last one. Where next has ended, no other one begins; ctx ends the running one too.
func (r *Runner) All(ctx, next context.Context, n *notebook.Notebook) error {
	cells := slices.DeleteFunc(slices.Clone(n.Cells), func(c *notebook.Cell) bool { return !runs(c) })
	for _, c := range cells {
		if next.Err() != nil {
			return nil
		}
		r.ran++
		if err := r.cell(ctx, c, len(cells)); err != nil {
			return err
		}
	}
	if len(r.waiting) > 0 {
		return fmt.Errorf("%s: no cell declares what is needed by\n%s", r.Name, indent(strings.Join(r.waiting, "\n")))
	}
	return nil
}

func runs(c *notebook.Cell) bool { return c.Type == "code" && strings.TrimSpace(c.Source) != "" }

// stopGrace is how long a cell that was interrupted may take to end; the engine leaves behind after five seconds what cannot
// be stopped.
const stopGrace = 6 * time.Second

// ended is how a cell's execution ended.
type ended struct {
	reply client.Reply
	err   error
}

func (r *Runner) cell(ctx context.Context, c *notebook.Cell, total int) error {
	begin := time.Now()
	r.begin(c)
	running, cancel := context.WithCancel(context.WithoutCancel(ctx)) // an interrupted cell's last output is wanted too
	defer cancel()
	end := make(chan ended, 1)
	go func() {
		reply, err := r.Client.Execute(running, c.Source, nil)
		end <- ended{reply, err}
	}()
	r.Cell(func() { _ = r.Client.Interrupt(running) }) // a kernel that is gone is seen by Execute
	defer r.Cell(nil)

	var e ended
	select {
	case e = <-end:
	case <-ctx.Done():
		return fmt.Errorf("%s: cell %d of %d was interrupted: %w", r.Name, r.ran, total, r.stop(ctx, end))
	}
	if e.err != nil {
		return fmt.Errorf("%s: cell %d of %d: %w", r.Name, r.ran, total, e.err)
	}
	fmt.Fprintf(r.Out, "%s  %2d/%d  %6.2f s  %s\n", r.Name, r.ran, total, time.Since(begin).Seconds(), title(c.Source))
	if e.reply.Status != cell.OK {
		return &CellError{r.Name, r.ran, total, c.Source, e.reply.Err}
	}
	r.waiting = waiting(e.reply)
	return nil
}

// waiting are the declarations of which a reply says that they wait for names.
func waiting(r client.Reply) []string {
	var meta struct {
		Waiting []string `json:"waiting"`
	}
	if json.Unmarshal(r.Message.Metadata, &meta) != nil {
		return nil
	}
	return meta.Waiting
}

// CellError tells that a cell has failed.
type CellError struct {
	Notebook      string
	Number, Total int // of the cells of code, from 1
	Source        string
	Cause         *cell.Error // nil: the kernel gave no reason
}

func (e *CellError) Error() string {
	return fmt.Sprintf("%s: cell %d of %d failed:\n\n%s\n\n%s", e.Notebook, e.Number, e.Total, indent(beginning(strings.TrimSpace(e.Source))), Explain(e.Cause))
}

// exitStatus is the name of the error of a cell that was ended by os.Exit (kernel/eval.ExitStatus); its value is the status.
const exitStatus = "exit status"

// ExitStatus is the status of an os.Exit that has ended the cell; ok is false where the cell has failed otherwise.
func (e *CellError) ExitStatus() (code int, ok bool) {
	if e.Cause == nil || e.Cause.Name != exitStatus {
		return 0, false
	}
	code, err := strconv.Atoi(e.Cause.Value)
	return code, err == nil
}

// mostShown is how many lines of a cell that has failed are shown.
const mostShown = 20

// beginning is a cell's source, or what a long one begins with.
func beginning(source string) string {
	lines := strings.Split(source, "\n")
	if len(lines) <= mostShown+1 {
		return source
	}
	return strings.Join(append(lines[:mostShown], fmt.Sprintf("… %d more lines", len(lines)-mostShown)), "\n")
}

// stop interrupts the running cell, waits for its end unless a user is impatient, and returns why the run has ended.
func (r *Runner) stop(ctx context.Context, end <-chan ended) error {
	cause := context.Cause(ctx)
	if r.AtOnce != nil && errors.Is(cause, r.AtOnce) {
		return cause
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := r.Client.Interrupt(limit); err != nil {
		return errors.Join(cause, err)
	}
	select {
	case <-end:
	case <-limit.Done():
		cause = fmt.Errorf("%w, and the cell has not ended %v after that", cause, stopGrace)
	}
	return cause
}

// title is a cell's first line of code, cut to fit a terminal.
func title(source string) string {
	const width = 60
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width]) + "…"
		}
		return line
	}
	return ""
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }

// Explain is what a cell's error says, with its traceback where it has one.
func Explain(e *cell.Error) string {
	if e == nil {
		return "the kernel gave no reason"
	}
	if len(e.Traceback) > 0 {
		return strings.Join(e.Traceback, "\n")
	}
	return e.Error()
}
