package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cancha/jupyter/notebook"
	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// runOptions is what "cancha run" is asked for.
type runOptions struct {
	notebooks  []string
	parameters parameters
	out        string
	timeout    time.Duration
}

// parameters are -p name=value flags.
type parameters map[string]string

func (p parameters) String() string { return "" }

// Set takes one name=value.
func (p parameters) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is not name=value", s)
	}
	p[name] = value
	return nil
}

func runRun(ctx context.Context, args []string) error {
	o, err := parseRun(args)
	if err != nil {
		return err
	}
	for _, path := range o.notebooks {
		if err := runNotebook(ctx, path, o); err != nil {
			return err
		}
	}
	return nil
}

// parseRun reads flags and notebooks in any order, as people write them.
func parseRun(args []string) (runOptions, error) {
	o := runOptions{parameters: parameters{}}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.Var(o.parameters, "p", "set a parameter, `name=value`; may be given again")
	flags.StringVar(&o.out, "o", "", "write the executed notebook to this `file` (a folder for several notebooks)")
	flags.DurationVar(&o.timeout, "timeout", 0, "interrupt a notebook that runs longer, such as 10m; 0 means never")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: cancha run [flags] NOTEBOOK…\n\nRuns notebooks, each in its own folder with a kernel of its own. The files stay as they are; -o writes the outcome.")
		flags.PrintDefaults()
	}
	for {
		if err := flags.Parse(args); err != nil {
			return o, err
		}
		if flags.NArg() == 0 {
			break
		}
		o.notebooks = append(o.notebooks, flags.Arg(0))
		args = flags.Args()[1:]
	}
	if len(o.notebooks) == 0 {
		return o, errors.New("name a notebook, or -h for help")
	}
	return o, nil
}

// runNotebook runs one notebook and writes its outcome, a failed one too.
func runNotebook(ctx context.Context, path string, o runOptions) error {
	n, err := notebook.Read(path)
	if err != nil {
		return err
	}
	if err := n.SetParameters(o.parameters); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("it ran longer than %v", o.timeout))
		defer cancel()
	}
	runErr := execute(ctx, n, path, os.Stdout)
	if out := outcomePath(path, o); out != "" {
		if err := n.Write(out); err != nil {
			return errors.Join(runErr, err)
		}
		fmt.Println("wrote", out)
	}
	return runErr
}

func outcomePath(path string, o runOptions) string {
	info, err := os.Stat(o.out)
	switch {
	case o.out == "":
		return ""
	case err == nil && info.IsDir(), len(o.notebooks) > 1:
		return filepath.Join(o.out, filepath.Base(path))
	}
	return o.out
}

// execute starts a kernel of this program in the notebook's folder, as JupyterLab does, and runs the code cells until one fails.
func execute(ctx context.Context, n *notebook.Notebook, path string, out io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find my own program to start a kernel: %w", err)
	}
	k, err := client.Start(client.Config{
		Argv: []string{program, "kernel", "{connection_file}"}, Dir: filepath.Dir(path), Stderr: os.Stderr, Transport: "ipc",
	})
	if err != nil {
		return err
	}
	defer k.Kill()
	r := runner{record: notebook.NewRecorder(), cells: map[string]*notebook.Cell{}, out: out, name: filepath.Base(path)}
	r.client, err = k.Connect(ctx, client.Options{Watch: r.watch})
	if err != nil {
		return err
	}
	begin := time.Now()
	runErr := r.all(ctx, n)
	if runErr == nil {
		fmt.Fprintf(out, "%s: %d cells in %.1f s\n", r.name, r.ran, time.Since(begin).Seconds())
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(runErr, k.Shutdown(end, r.client))
}

// runner runs the cells of one notebook in order.
type runner struct {
	client *client.Client
	out    io.Writer
	name   string
	ran    int

	mu      sync.Mutex
	record  *notebook.Recorder
	running *notebook.Cell
	cells   map[string]*notebook.Cell // by the request that ran them
}

// watch records what the kernel publishes under the cell that caused it, also after that cell has ended.
func (r *runner) watch(m wire.Message) {
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

func (r *runner) begin(c *notebook.Cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = c
	r.record.Begin(c)
}

func (r *runner) all(ctx context.Context, n *notebook.Notebook) error {
	total := 0
	for _, c := range n.Cells {
		if runs(c) {
			total++
		}
	}
	for _, c := range n.Cells {
		if !runs(c) {
			continue
		}
		r.ran++
		if err := r.cell(ctx, c, total); err != nil {
			return err
		}
	}
	return nil
}

func runs(c *notebook.Cell) bool { return c.Type == "code" && strings.TrimSpace(c.Source) != "" }

func (r *runner) cell(ctx context.Context, c *notebook.Cell, total int) error {
	begin := time.Now()
	r.begin(c)
	reply, err := r.client.Execute(ctx, c.Source, nil)
	if err != nil {
		return fmt.Errorf("%s: cell %d of %d: %w", r.name, r.ran, total, r.stopped(ctx, err))
	}
	fmt.Fprintf(r.out, "%s  %2d/%d  %6.2f s  %s\n", r.name, r.ran, total, time.Since(begin).Seconds(), title(c.Source))
	if reply.Status != cell.OK {
		return fmt.Errorf("%s: cell %d of %d failed:\n\n%s\n\n%s", r.name, r.ran, total, indent(c.Source), explain(reply.Err))
	}
	return nil
}

// stopped interrupts the cell that ctx's end left running and returns why it ended.
func (r *runner) stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return errors.Join(context.Cause(ctx), r.client.Interrupt(end))
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

func explain(e *cell.Error) string {
	if e == nil {
		return "the kernel gave no reason"
	}
	if len(e.Traceback) > 0 {
		return strings.Join(e.Traceback, "\n")
	}
	return e.Error()
}
