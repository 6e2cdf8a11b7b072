package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// notebook starts kernels, a fresh one for each run, and runs cells in them.
type notebook struct {
	kernel string
	dir    string // where it runs; empty: a folder of its own
	memory int    // GB of address space
	mode   string
	limit  time.Duration
	goOn   bool // run the cells behind one that fails too
}

// played is what cells did in a kernel.
type played struct {
	stdout, stderr string
	failure        *cell.Error // of the first cell that failed
	before         string      // stdout up to the end of that cell
	late           bool        // they were not done in time
	took           time.Duration
}

// kernelStart bounds how long a kernel may take to serve; with a workspace to build it is minutes, and once.
const kernelStart = 5 * time.Minute

// play runs cells in a kernel of their own.
func (n notebook) play(ctx context.Context, cells []string) (p played, err error) {
	dir := n.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "conformance-"); err != nil {
			return p, err
		}
		defer os.RemoveAll(dir)
	}
	k, err := client.Start(client.Config{
		Argv: []string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, n.memory<<20), n.kernel, "kernel", "{connection_file}"},
		Dir:  dir, Env: n.environment(), Transport: "ipc",
	})
	if err != nil {
		return p, err
	}
	defer k.Kill()
	starting, cancel := context.WithTimeout(ctx, kernelStart)
	defer cancel()
	c, err := k.Connect(starting, client.Options{})
	if err != nil {
		return p, err
	}
	defer c.Close()
	if err := n.choose(starting, c); err != nil {
		return p, err
	}
	begin := time.Now()
	running, cancel := context.WithTimeout(ctx, n.limit)
	defer cancel()
	var out output
	for _, code := range cells {
		reply, err := c.Execute(running, code, out.take)
		if err != nil {
			if ctx.Err() != nil {
				return p, context.Cause(ctx)
			}
			p.late = errors.Is(err, context.DeadlineExceeded)
			if !p.late {
				return p, err
			}
			break
		}
		if reply.Status == cell.OK {
			continue
		}
		if p.failure == nil {
			p.failure = reply.Err
			p.before, _ = out.texts()
		}
		if !n.goOn {
			break
		}
	}
	p.took = time.Since(begin)
	p.stdout, p.stderr = out.texts()
	return p, nil
}

// choose asks for the engine, in a cell that is not counted. The first cell of a kernel waits for its engine.
func (n notebook) choose(ctx context.Context, c *client.Client) error {
	code := "%engine " + n.mode
	reply, err := c.ExecuteWith(ctx, code, client.ExecuteOptions{Silent: true}, nil)
	if err == nil && reply.Status != cell.OK {
		err = reply.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", code, err)
	}
	return nil
}

// describe returns what a kernel says of the engine that it runs cells by: without a Go toolchain auto interprets.
func (n notebook) describe(ctx context.Context) (string, error) {
	p, err := n.play(ctx, []string{"%engine"})
	if err != nil {
		return "", fmt.Errorf("ask %s for its engine: %w", n.kernel, err)
	}
	return strings.TrimSpace(p.stdout + p.stderr), nil
}

// environment keeps a kernel that only interprets from preparing an engine that compiles.
func (n notebook) environment() []string {
	env := []string{"CANCHA_HISTORY=off"}
	if n.mode == "interp" {
		env = append(env, "CANCHA_ENGINE=interp")
	}
	return env
}

// output gathers the streams of cells.
type output struct {
	mu             sync.Mutex
	stdout, stderr strings.Builder
}

func (o *output) take(m wire.Message) {
	if m.Header.Type != "stream" {
		return
	}
	var s struct{ Name, Text string }
	if json.Unmarshal(m.Content, &s) != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.Name == "stdout" {
		o.stdout.WriteString(s.Text)
	} else {
		o.stderr.WriteString(s.Text)
	}
}

func (o *output) texts() (stdout, stderr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stdout.String(), o.stderr.String()
}
