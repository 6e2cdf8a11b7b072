package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
)

// process is one that goes on until it is ended.
type process struct {
	role
	*exec.Cmd
	ended chan struct{}
	err   error // once it has ended
}

func begin(r role) (*process, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	name := r.Name + r.ID + ".stderr"
	said, err := os.OpenFile(filepath.Join(r.Folder, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer said.Close()
	p := &process{role: r, Cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.Env, p.Stderr = append(os.Environ(), roleVariable+"="+string(text)), said
	if err := p.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process
		p.err = p.Wait()
		close(p.ended)
	}()
	return p, nil
}

// fault is what was done to a process.
type fault struct {
	what     string // killed or stopped
	name     string // of its role
	pid      int
	from, to time.Time // a kill has both at once
}

const (
	killed  = "killed"
	stopped = "stopped"
)

// field is where a trial takes place.
type field struct {
	trial
	random    *rand.Rand
	processes []*process
	faults    []fault
	results   map[string]int // how often each one came
}

func (f *field) count(what, name string) (n int) {
	for _, x := range f.faults {
		if x.what == what && x.name == name {
			n++
		}
	}
	return n
}

func (f *field) start(r role) error {
	r.Folder, r.Jobs = f.folder, f.jobs
	p, err := begin(r)
	if err == nil {
		f.processes = append(f.processes, p)
	}
	return err
}

// play has all jobs run, with faults at moments that are spread over them.
func (f *field) play(ctx context.Context) error {
	all := []role{{Name: "server"}, {Name: "producer"}}
	for i := range f.workers {
		all = append(all, role{Name: "worker", ID: fmt.Sprint("w", i)})
	}
	for _, r := range all {
		if err := f.start(r); err != nil {
			return err
		}
	}
	b, err := role{Folder: f.folder}.dial(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	c, err := b.Consume(ctx, job.QueueResults, 1000)
	if err != nil {
		return err
	}
	f.results = map[string]int{}
	for n := range f.kills + 1 {
		if err := f.until(ctx, b, c, f.jobs*(n+1)/(f.kills+1)); err != nil || n == f.kills {
			return err
		}
		stop := ""
		switch n {
		case f.kills / 2:
			stop = "worker"
		case f.kills / 3:
			stop = "server"
		}
		if err := f.harm(ctx, stop); err != nil {
			return err
		}
	}
	return nil
}

// until waits until so many jobs have ended.
func (f *field) until(ctx context.Context, b queue.Broker, c queue.Consumer, n int) error {
	for len(f.results) < n {
		wait, cancel := context.WithTimeout(ctx, f.patience)
		d, err := c.Next(wait)
		cancel()
		if err != nil {
			return fmt.Errorf("%d of %d jobs have ended, and no other does, as %s: %w", len(f.results), f.jobs, f.missing(), err)
		}
		f.results[d.ID]++
		go func() { // ends with the connection at the latest
			_ = d.Ack(ctx) // or it comes again
		}()
	}
	return nil
}

func (f *field) missing() string {
	for i := range f.jobs {
		if f.results[id(i)] == 0 {
			return id(i) + " (" + kind(i) + ")"
		}
	}
	return "none"
}

// harm stops a process of a role for longer than a lease, unless that is ""; then it kills one and starts it again.
func (f *field) harm(ctx context.Context, stop string) error {
	select { // at any moment of what goes on
	case <-time.After(time.Duration(f.random.IntN(30)) * time.Millisecond):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if stop != "" {
		if err := f.freeze(ctx, stop); err != nil {
			return err
		}
	}
	i := f.random.IntN(f.workers + 2) // 0 and 1 are the server
	p := f.processes[f.find("server", 0)]
	if i > 1 {
		p = f.processes[f.find("worker", i-2)]
	}
	at := time.Now()
	if err := p.Process.Kill(); err != nil {
		return fmt.Errorf("%s %s has ended by itself: %w", p.role.Name, p.ID, p.err)
	}
	<-p.ended
	f.faults = append(f.faults, fault{killed, p.role.Name, p.Process.Pid, at, time.Now()})
	f.processes = slices.DeleteFunc(f.processes, func(other *process) bool { return other == p })
	return f.start(p.role)
}

// find is the place of a process; of workers the one with that number.
func (f *field) find(name string, number int) int {
	return slices.IndexFunc(f.processes, func(p *process) bool {
		return p.role.Name == name && (name != "worker" || p.ID == fmt.Sprint("w", number))
	})
}

// freeze stops a process for longer than a lease.
func (f *field) freeze(ctx context.Context, name string) error {
	p := f.processes[f.find(name, f.random.IntN(f.workers))]
	at := time.Now()
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	select {
	case <-time.After(lease + lease/2):
	case <-ctx.Done():
	}
	f.faults = append(f.faults, fault{stopped, name, p.Process.Pid, at, time.Now()})
	return p.Process.Signal(syscall.SIGCONT)
}

// endAll ends what runs: workers first.
func (f *field) endAll() (err error) {
	slices.SortFunc(f.processes, func(a, b *process) int { return f.rank(a) - f.rank(b) })
	for _, p := range f.processes {
		_ = p.Process.Signal(os.Interrupt) // a producer has ended
		select {
		case <-p.ended:
		case <-time.After(20 * time.Second):
			err = errors.Join(err, fmt.Errorf("%s %s does not end", p.role.Name, p.ID), p.Process.Kill())
			<-p.ended
		}
		if p.err != nil {
			err = errors.Join(err, fmt.Errorf("%s %s: %w", p.role.Name, p.ID, p.err))
		}
	}
	return err
}

func (f *field) rank(p *process) int {
	if p.role.Name == "server" {
		return 1
	}
	return 0
}
