//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cancha/jupyter/headless"
	"cancha/jupyter/notebook"
)

// runOptions is what "cancha run" is asked for.
type runOptions struct {
	notebooks  []string
	parameters parameters
	out        string
	timeout    time.Duration
	encrypt    bool
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

// encryptUsage tells of the flag -encrypt, which "run" and "query" have.
const encryptUsage = "encrypt what passes between this process and its kernel (CurveZMQ), although the sockets lie in a folder of yours alone"

func runRun(ctx context.Context, args []string) error {
	o, err := parseRun(args)
	if err != nil {
		return err
	}
	read, err := readAll(o)
	if err != nil {
		return err
	}
	ctx, stops := newStopper(ctx, os.Stderr)
	defer stops.close()
	for i, path := range o.notebooks {
		if err := runNotebook(ctx, read[i], path, o, stops); err != nil {
			return err
		}
	}
	return nil
}

func parseRun(args []string) (runOptions, error) {
	o := runOptions{parameters: parameters{}}
	flags := newFlags("run", " NOTEBOOK…", `Runs notebooks one after the other, each in its own folder with a kernel of its own, and stops at the first that fails. The
files stay as they are; -o writes the outcome. ^C interrupts the running cell: a stream ends with its last results, and the
run goes on; a second one ends the run.`)
	flags.Var(o.parameters, "p", "set a parameter, `name=value`, in the notebooks that are run; may be given again.\n"+
		"The cell tagged \"parameters\" tells their names. For a parameter that is a text the value is that text; for any other it is a Go\n"+
		"expression, which runs as you: -p wait=2*time.Minute. Values that somebody else has sent belong into a job (cancha job submit -type notebook),\n"+
		"which takes literals alone. Relative paths start at the notebook's folder")
	flags.StringVar(&o.out, "o", "", "write the executed notebook to this `file` (a folder for several notebooks)")
	flags.Func("timeout", "interrupt and fail a notebook that runs longer than this `duration`, such as 90s or 10m (default never)", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return errors.New("want a duration such as 90s or 10m")
		}
		o.timeout = d
		return nil
	})
	flags.BoolVar(&o.encrypt, "encrypt", false, encryptUsage)
	var err error
	if o.notebooks, err = parseMixed(flags, args); err != nil {
		return o, err
	}
	if len(o.notebooks) == 0 {
		return o, usageError{"run", errors.New("name a notebook")}
	}
	return o, nil
}

// readAll reads the notebooks and sets their parameters, and tries the places where outcomes go: what is wrong there is told
// before anything has run.
func readAll(o runOptions) ([]*notebook.Notebook, error) {
	var read []*notebook.Notebook
	places := map[string]string{} // outcome → notebook
	for _, path := range o.notebooks {
		n, err := readNotebook(path, o.parameters)
		if err != nil {
			return nil, err
		}
		if out := outcomePath(path, o); out != "" {
			if other := places[out]; other != "" {
				return nil, fmt.Errorf("the outcomes of %s and %s would both be %s", other, path, out)
			}
			places[out] = path
			if err := tryPlace(out); err != nil {
				return nil, fmt.Errorf("-o: %s cannot be written: %w", out, err)
			}
		}
		read = append(read, n)
	}
	return read, nil
}

// readNotebook reads a notebook in Go and sets its parameters, as whoever runs it has written them.
func readNotebook(path string, p parameters) (*notebook.Notebook, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read notebook: %w", err)
	}
	n, err := inGo(path, text)
	if err == nil {
		err = n.SetParameters(p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// inGo is the notebook that a file has, if it is one in Go.
func inGo(path string, text []byte) (*notebook.Notebook, error) {
	n, err := notebook.Parse(text)
	if errors.Is(err, notebook.ErrFormat) && filepath.Ext(path) == ".go" {
		return nil, fmt.Errorf("%w; \"cancha query\" runs a file of Go that starts a query, \"go run\" any other", err)
	}
	if err != nil {
		return nil, err
	}
	if l := n.Language(); l != "" && l != "go" {
		return nil, fmt.Errorf("it is a notebook in %s; cancha runs Go", l)
	}
	return n, nil
}

// tryPlace makes the folder of a file that is to be written, and sees whether something can be written there.
func tryPlace(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return notebook.ErrNoFile
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".cancha-run-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// headlessly is how notebooks run that nobody looks at: with kernels of this program, whose cells nobody has typed.
func headlessly() (headless.Config, error) {
	program, err := os.Executable()
	if err != nil {
		return headless.Config{}, fmt.Errorf("find my own program to start a kernel: %w", err)
	}
	return headless.Config{Program: program, Env: []string{historyVariable + "=" + historyOff}}, nil
}

// runNotebook runs one notebook and writes its outcome, a failed one too.
func runNotebook(ctx context.Context, n *notebook.Notebook, path string, o runOptions, stops *stopper) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("the notebook ran longer than %v", o.timeout))
		defer cancel()
	}
	c, err := headlessly()
	if err != nil {
		return err
	}
	c.Out, c.Cell, c.AtOnce, c.Encrypted = os.Stdout, stops.running, errTwice, o.encrypt
	runErr := headless.Run(ctx, c, n, path)
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
