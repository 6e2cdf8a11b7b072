//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cancha/jupyter/notebook"
	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// startKernel starts a kernel of this program in the folder of a notebook, as JupyterLab does.
func startKernel(path string, env ...string) (*client.Kernel, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find my own program to start a kernel: %w", err)
	}
	return client.Start(client.Config{
		Argv: []string{program, "kernel", "{connection_file}"}, Dir: filepath.Dir(path), Stderr: os.Stderr, Transport: "ipc",
		Env: append(env, historyVariable+"="+historyOff), // nobody has typed these cells
	})
}

// execute starts a kernel and runs the code cells of a notebook in it until one fails.
func execute(ctx context.Context, n *notebook.Notebook, path string, out io.Writer, stops *stopper) error {
	k, err := startKernel(path)
	if err != nil {
		return err
	}
	defer k.Kill()
	r := runner{record: notebook.NewRecorder(), cells: map[string]*notebook.Cell{}, out: out, name: filepath.Base(path), stops: stops}
	r.client, err = k.Connect(ctx, client.Options{Watch: r.watch})
	if err != nil {
		return err
	}
	begin := time.Now()
	runErr := r.all(ctx, context.WithoutCancel(ctx), n)
	if runErr == nil {
		fmt.Fprintf(out, "%s: %s in %.1f s\n", r.name, count(r.ran, "cell", "cells"), time.Since(begin).Seconds())
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
	stops  *stopper
	ran    int

	mu      sync.Mutex
	record  *notebook.Recorder // nil: outputs are not kept
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
	if r.record != nil {
		r.record.Begin(c)
	}
}

// all runs the code cells until one fails. Where next has ended, no other one begins; ctx ends the running one too.
func (r *runner) all(ctx, next context.Context, n *notebook.Notebook) error {
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

func (r *runner) cell(ctx context.Context, c *notebook.Cell, total int) error {
	begin := time.Now()
	r.begin(c)
	running, cancel := context.WithCancel(context.WithoutCancel(ctx)) // an interrupted cell's last output is wanted too
	defer cancel()
	end := make(chan ended, 1)
	go func() {
		reply, err := r.client.Execute(running, c.Source, nil)
		end <- ended{reply, err}
	}()
	r.stops.running(func() { _ = r.client.Interrupt(running) }) // a kernel that is gone is seen by Execute
	defer r.stops.running(nil)

	var e ended
	select {
	case e = <-end:
	case <-ctx.Done():
		return fmt.Errorf("%s: cell %d of %d was interrupted: %w", r.name, r.ran, total, r.stop(ctx, end))
	}
	if e.err != nil {
		return fmt.Errorf("%s: cell %d of %d: %w", r.name, r.ran, total, e.err)
	}
	fmt.Fprintf(r.out, "%s  %2d/%d  %6.2f s  %s\n", r.name, r.ran, total, time.Since(begin).Seconds(), title(c.Source))
	if e.reply.Status != cell.OK {
		return fmt.Errorf("%s: cell %d of %d failed:\n\n%s\n\n%s", r.name, r.ran, total, indent(beginning(strings.TrimSpace(c.Source))), explain(e.reply.Err))
	}
	return nil
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
func (r *runner) stop(ctx context.Context, end <-chan ended) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errTwice) {
		return cause
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := r.client.Interrupt(limit); err != nil {
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

func explain(e *cell.Error) string {
	if e == nil {
		return "the kernel gave no reason"
	}
	if len(e.Traceback) > 0 {
		return strings.Join(e.Traceback, "\n")
	}
	return e.Error()
}
