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
	gone chan struct{}
	err  error // once it has ended
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
	p := &process{role: r, Cmd: exec.Command(os.Args[0]), gone: make(chan struct{})}
	p.Env, p.Stderr = append(os.Environ(), roleVariable+"="+string(text)), said
	if err := p.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process
		p.err = p.Wait()
		close(p.gone)
	}()
	return p, nil
}

// exited tells whether a job has ended the process, as it was to.
func (p *process) exited() bool {
	select {
	case <-p.gone:
		return p.role.Name == "worker" && p.ProcessState.ExitCode() == exitStatus
	default:
		return false
	}
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
	results   map[string][][]byte  // the bodies that came, by job
	exits     int                  // of workers, by jobs
	beats     map[string]*job.Beat // the last ones, by worker
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
	r.Folder, r.Jobs, r.URL = f.folder, f.jobs, f.url
	p, err := begin(r)
	if err == nil {
		f.processes = append(f.processes, p)
	}
	return err
}

// cast are the processes: of the schedulers the one that comes first leads.
func (f *field) cast() (all []role) {
	if f.url == "" {
		all = append(all, role{Name: "broker"})
	}
	all = append(all, role{Name: "scheduler", ID: "0"}, role{Name: "scheduler", ID: "1"}, role{Name: "producer"})
	for i := range f.workers {
		all = append(all, role{Name: "worker", ID: fmt.Sprint(i)})
	}
	return all
}

// play has all jobs run, with faults at moments that are spread over them.
func (f *field) play(ctx context.Context) error {
	for _, r := range f.cast() {
		if err := f.start(r); err != nil {
			return err
		}
	}
	b, c, err := f.listen(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	f.results = map[string][][]byte{}
	stops := map[int]string{f.kills / 4: "worker", f.kills / 2: "scheduler", 3 * f.kills / 4: "broker"}
	for n := range f.kills + 1 {
		if err := f.until(ctx, c, f.jobs*(n+1)/(f.kills+1)); err != nil {
			return err
		}
		if n == f.kills {
			break
		}
		if err := f.harm(ctx, stops[n]); err != nil {
			return err
		}
	}
	return f.survey(ctx, b)
}

// survey hears each worker once more when all jobs have ended, until it runs none and has a slot.
func (f *field) survey(ctx context.Context, b queue.Broker) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.patience, errors.New("a worker has no slot, or is not there"))
	defer cancel()
	heard, err := b.Listen(ctx, job.TopicWorkers)
	if err != nil {
		return err
	}
	defer heard.Close()
	f.beats = map[string]*job.Beat{}
	for len(f.beats) < f.workers {
		if err := f.restore(); err != nil {
			return err
		}
		m, err := heard.Next(ctx)
		if err != nil {
			return fmt.Errorf("%d of %d workers have been heard of: %w", len(f.beats), f.workers, err)
		}
		beat := &job.Beat{}
		if json.Unmarshal(m.Body, beat) == nil && beat.Echo == "" && !beat.Gone && len(beat.Running)+len(beat.Claims) == 0 && !beat.Worker.AllStuck() {
			f.beats[beat.Worker.ID] = beat
		}
	}
	return nil
}

// listen takes the results; their queue is there when a scheduler has been.
func (f *field) listen(ctx context.Context) (b queue.Broker, c queue.Consumer, err error) {
	if b, err = (role{Folder: f.folder, URL: f.url}).dial(ctx); err != nil {
		return nil, nil, err
	}
	if _, err = b.Declare(ctx, queue.Spec{Name: job.QueueResults}); err == nil {
		c, err = b.Consume(ctx, job.QueueResults, 1000)
	}
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return b, c, nil
}

// until waits until so many jobs have ended.
func (f *field) until(ctx context.Context, c queue.Consumer, n int) error {
	last := time.Now()
	for len(f.results) < n {
		if err := f.restore(); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, looks)
		d, err := c.Next(wait)
		cancel()
		if err != nil && time.Since(last) < f.patience && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("%d of %d jobs have ended, and no other does, as %s: %w", len(f.results), f.jobs, f.missing(), err)
		}
		last = time.Now()
		f.results[d.ID] = append(f.results[d.ID], d.Body)
		go func() { // ends with the connection at the latest
			_ = d.Ack(ctx) // or it comes again
		}()
	}
	return nil
}

// looks is how often it is looked after workers that a job has ended, while nothing comes.
const looks = time.Second / 2

// restore starts workers anew that a job has ended, as whoever watches over them does.
func (f *field) restore() error {
	for _, p := range slices.Clone(f.processes) {
		if !p.exited() {
			continue
		}
		f.exits++
		f.processes = slices.DeleteFunc(f.processes, func(other *process) bool { return other == p })
		if err := f.start(p.role); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) missing() string {
	for i := range f.jobs {
		if f.results[id(i)] == nil {
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
	for _, p := range f.victims() {
		if err := f.kill(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// victims are who is killed: a worker, a scheduler, the broker, or broker and schedulers at once. nil stands for a RabbitMQ.
func (f *field) victims() (all []*process) {
	switch i := f.random.IntN(f.workers + 4); {
	case i < f.workers:
		return []*process{f.find("worker", i)}
	case i < f.workers+2:
		return []*process{f.find("scheduler", i-f.workers)}
	case i == f.workers+2:
		return []*process{f.find("broker", 0)}
	}
	return []*process{f.find("broker", 0), f.find("scheduler", 0), f.find("scheduler", 1)}
}

// kill kills a process with -9, and starts it again.
func (f *field) kill(ctx context.Context, p *process) error {
	at := time.Now()
	if p == nil {
		err := server(ctx, "kill")
		f.faults = append(f.faults, fault{killed, "broker", 0, at, time.Now()})
		return errors.Join(err, server(ctx, "start"))
	}
	if err := p.Process.Kill(); err != nil {
		<-p.gone
		if p.exited() {
			return f.restore()
		}
		return fmt.Errorf("%s %s has ended by itself: %w", p.role.Name, p.ID, p.err)
	}
	<-p.gone
	f.faults = append(f.faults, fault{killed, p.role.Name, p.Process.Pid, at, time.Now()})
	f.processes = slices.DeleteFunc(f.processes, func(other *process) bool { return other == p })
	return f.start(p.role)
}

// server has scripts/rabbitmq.sh do something with the RabbitMQ that it has started.
func server(ctx context.Context, what string) error {
	if text, err := exec.CommandContext(ctx, os.Getenv(envScript), what).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", os.Getenv(envScript), what, err, text)
	}
	return nil
}

// find is a process of a role, by its number; nil: there is none.
func (f *field) find(name string, number int) *process {
	for _, p := range f.processes {
		if p.role.Name == name && (p.ID == "" || p.ID == fmt.Sprint(number)) {
			return p
		}
	}
	return nil
}

// freeze stops a process for longer than a lease.
func (f *field) freeze(ctx context.Context, name string) error {
	p := f.find(name, f.random.IntN(2))
	if p == nil {
		return nil // a RabbitMQ is only killed
	}
	at := time.Now()
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		<-p.gone
		if p.exited() {
			return f.restore()
		}
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
		case <-p.gone:
		case <-time.After(20 * time.Second):
			err = errors.Join(err, fmt.Errorf("%s %s does not end", p.role.Name, p.ID), p.Process.Kill())
			<-p.gone
		}
		if p.err != nil && !p.exited() {
			err = errors.Join(err, fmt.Errorf("%s %s: %w", p.role.Name, p.ID, p.err))
		}
	}
	return err
}

func (f *field) rank(p *process) int {
	return slices.Index([]string{"producer", "worker", "scheduler", "broker"}, p.role.Name)
}
