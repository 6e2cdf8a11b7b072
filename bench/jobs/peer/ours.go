package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/rabbitmq"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
	"cancha/jobs/worker"
)

func withPath(address, path string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Path = "/" + path
	return u.String()
}

func manage(method, address, body string) error {
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, r.URL.Redacted(), answer.Status, text)
	}
	return nil
}

// closers are closed from the last to the first.
type closers []func() error

func (c closers) close() (err error) {
	for i := range c {
		err = errors.Join(err, c[len(c)-1-i]())
	}
	return err
}

func (p place) broker(ctx context.Context) (queue.Broker, error) {
	if p.URL == "" {
		return local.Open(filepath.Join(p.Folder, "queues"), local.Options{})
	}
	return rabbitmq.Dial(ctx, rabbitmq.Config{URL: p.URL})
}

// schedule starts a scheduler on a broker.
func (p place) schedule(ctx context.Context, b queue.Broker, all *closers) (*scheduler.Scheduler, error) {
	st, err := store.Open(filepath.Join(p.Folder, "store"))
	if err != nil {
		return nil, err
	}
	*all = append(*all, st.Close)
	s, err := scheduler.Start(ctx, b, st, scheduler.Settings{}, nil)
	if err == nil {
		*all = append(*all, s.Close)
	}
	return s, err
}

// work starts a worker whose jobs do nothing.
func work(ctx context.Context, b queue.Broker, id string, slots int) (*worker.Worker, error) {
	nothing := func(context.Context, *worker.Task) (any, error) { return nil, nil }
	return worker.Start(ctx, worker.Config{Broker: b, Worker: placement.Worker{ID: id, Device: placement.CPU, Model: "bench", Slots: slots},
		Funcs: map[string]worker.Func{"nothing": nothing}})
}

// play is a process of a trial over RabbitMQ, which says when it is ready.
func (r role) play() (err error) {
	ctx := context.Background()
	var all closers
	defer func() { err = errors.Join(err, all.close()) }()
	b, err := r.broker(ctx)
	if err != nil {
		return err
	}
	all = append(all, b.Close)
	if r.Name == "scheduler" {
		_, err = r.schedule(ctx, b, &all)
	} else {
		var w *worker.Worker
		if w, err = work(ctx, b, r.ID, r.Slots); err == nil {
			all = append(all, w.Close)
		}
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process starts a role in a process of its own, and returns when it is ready.
func (r role) process(all *closers) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	c := exec.Command(self)
	c.Env, c.Stderr = append(os.Environ(), roleVariable+"="+string(text)), os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	*all = append(*all, func() error { return errors.Join(in.Close(), c.Wait()) })
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		return fmt.Errorf("%s does not get ready: %w", r.Name, err)
	}
	return nil
}

// remote is ours over RabbitMQ: a process for the scheduler, one for each worker, and this one, which submits.
func remote(slots int) func(context.Context, settings, int) (outcome, error) {
	return func(ctx context.Context, s settings, flight int) (o outcome, err error) {
		p, clear, err := s.place(true)
		if err != nil {
			return o, err
		}
		all := closers{clear}
		defer func() { err = errors.Join(err, all.close()) }()
		for _, r := range []role{{"scheduler", "", 0, p}, {"worker", "w1", slots, p}, {"worker", "w2", slots, p}} {
			if err := r.process(&all); err != nil {
				return o, err
			}
		}
		b, err := p.broker(ctx)
		if err != nil {
			return o, err
		}
		all = append(all, b.Close)
		return s.submit(ctx, b, flight)
	}
}

// embedded is ours in one process, as a notebook has it.
func embedded(slots int) func(context.Context, settings, int) (outcome, error) {
	return func(ctx context.Context, s settings, flight int) (o outcome, err error) {
		p, clear, err := s.place(false)
		if err != nil {
			return o, err
		}
		all := closers{clear}
		defer func() { err = errors.Join(err, all.close()) }()
		b, err := p.broker(ctx)
		if err != nil {
			return o, err
		}
		all = append(all, b.Close)
		if _, err := p.schedule(ctx, b, &all); err != nil {
			return o, err
		}
		for _, id := range []string{"w1", "w2"} {
			w, err := work(ctx, b, id, slots)
			if err != nil {
				return o, err
			}
			all = append(all, w.Close)
		}
		return s.submit(ctx, b, flight)
	}
}

// submit keeps so many jobs in flight, as a program does that knows the contract: into job_queue, out of result_queue.
func (s settings) submit(ctx context.Context, b queue.Broker, flight int) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.warm+s.span+time.Minute)
	defer cancel()
	c, err := b.Consume(ctx, job.QueueResults, 1024)
	if err != nil {
		return o, err
	}
	defer c.Close()
	f := &flying{b: b, begun: map[string]time.Time{}}
	defer f.settled.Wait()
	f.send(ctx) // the first one waits until new queues are safe, and connections are open
	if err := f.land(ctx, c, nil); err != nil {
		return o, err
	}
	begin := time.Now()
	for range flight {
		f.send(ctx)
	}
	for time.Since(begin) < s.warm+s.span || len(o.took) == 0 {
		took := &o.took
		if time.Since(begin) < s.warm {
			took = nil
		}
		if err := f.land(ctx, c, took); err != nil {
			return o, err
		}
		f.send(ctx)
	}
	o.seconds = (time.Since(begin) - s.warm).Seconds()
	return o.finish(), f.failed()
}

// flying are the jobs in flight.
type flying struct {
	b       queue.Broker
	settled sync.WaitGroup
	next    int

	mu    sync.Mutex
	begun map[string]time.Time
	err   error
}

func (f *flying) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *flying) send(ctx context.Context) {
	f.next++
	id := fmt.Sprint(f.next)
	f.mu.Lock()
	f.begun[id] = time.Now()
	f.mu.Unlock()
	f.settled.Go(func() {
		if err := f.b.Publish(ctx, job.QueueJobs, queue.Message{ID: id, Body: []byte(`{"job_type":"nothing"}`)}); err != nil && ctx.Err() == nil {
			f.mu.Lock()
			f.err = err
			f.mu.Unlock()
		}
	})
}

// land waits for a result, and adds how long its job took.
func (f *flying) land(ctx context.Context, c queue.Consumer, to *[]float64) error {
	d, err := c.Next(ctx)
	if err != nil {
		return errors.Join(err, f.failed())
	}
	f.mu.Lock()
	took := time.Since(f.begun[d.ID])
	delete(f.begun, d.ID)
	f.mu.Unlock()
	if to != nil {
		*to = append(*to, took.Seconds())
	}
	f.settled.Go(func() { _ = d.Ack(ctx) }) // or it comes again, to nobody
	return nil
}
