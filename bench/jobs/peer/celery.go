package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// folder is where celery_peer.py lies.
const folder = "bench/jobs/peer"

// celery is Celery over RabbitMQ: a worker with two processes, and one that submits.
func celery(kind string) func(context.Context, settings, int) (outcome, error) {
	return func(ctx context.Context, s settings, flight int) (o outcome, err error) {
		p, clear, err := s.place(true)
		if err != nil {
			return o, err
		}
		all := closers{clear}
		defer func() { err = errors.Join(err, all.close()) }()
		env := append(os.Environ(), "CELERY_BROKER="+p.URL, "BENCH_KIND="+kind, "PYTHONPATH="+folder)
		if err := s.celeryWorker(env, p.Folder, &all); err != nil {
			return o, err
		}
		return s.celeryClients(ctx, env, kind, flight)
	}
}

// clients is how many processes submit to Celery where more than one task is in flight: each waits for the broker at each publish.
const clients = 4

// celeryClients has tasks submitted, by clients that have an equal share of what is in flight.
func (s settings) celeryClients(ctx context.Context, env []string, kind string, flight int) (o outcome, err error) {
	n := min(clients, flight)
	told, errs := make([]outcome, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { told[i], errs[i] = s.celeryClient(ctx, env, kind, flight/n) })
	}
	all.Wait()
	for _, t := range told {
		o.took, o.seconds = append(o.took, t.took...), o.seconds+t.seconds/float64(n)
	}
	return o.finish(), errors.Join(errs...)
}

func (s settings) celeryClient(ctx context.Context, env []string, kind string, flight int) (o outcome, err error) {
	c := exec.CommandContext(ctx, s.python, filepath.Join(folder, "celery_peer.py"), "client", kind, fmt.Sprint(flight),
		fmt.Sprint(s.warm.Seconds()), fmt.Sprint(s.span.Seconds()))
	var said bytes.Buffer
	c.Env, c.Stderr = env, &said
	out, err := c.Output()
	if err != nil {
		return o, fmt.Errorf("Celery's client: %w: %s", err, said.Bytes())
	}
	var told struct {
		Took    []float64
		Seconds float64
	}
	if err := json.Unmarshal(out, &told); err != nil {
		return o, fmt.Errorf("Celery's client says %.200q: %w", out, err)
	}
	return outcome{took: told.Took, seconds: told.Seconds}, nil
}

// celeryWorker starts Celery's worker, and returns when it says that it is ready.
func (s settings) celeryWorker(env []string, dir string, all *closers) error {
	c := exec.Command(s.python, "-m", "celery", "-A", "celery_peer", "worker", "--concurrency=2", "--pool=prefork", "--loglevel=INFO",
		"--without-gossip", "--without-mingle", "--without-heartbeat")
	c.Env = env
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its children end with it
	w := &readiness{ready: make(chan struct{})}
	c.Stdout, c.Stderr = w, w
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }() // until the closer below has ended it
	*all = append(*all, func() error {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // or it has ended
		<-ended
		return nil
	})
	select {
	case <-w.ready:
		return nil
	case err := <-ended:
		ended <- err
		return fmt.Errorf("Celery's worker has ended: %v: %s", err, w.said.String())
	}
}

// readiness reads what a worker says until it is ready.
type readiness struct {
	said  strings.Builder
	ready chan struct{}
	is    bool
}

func (r *readiness) Write(p []byte) (int, error) {
	if !r.is {
		r.said.Write(p)
		if strings.Contains(r.said.String(), " ready.") {
			r.is = true
			close(r.ready)
		}
	}
	return len(p), nil
}
