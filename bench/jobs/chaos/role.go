package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

// role is what one process does, until it is killed; brokers, schedulers and workers do not end by themselves.
type role struct {
	Name   string // broker, scheduler, worker or producer
	ID     string // of several
	Folder string
	Jobs   int
	URL    string // of a RabbitMQ; "": a broker of ours
}

const roleVariable = "CANCHA_JOBS_CHAOS_ROLE"

// roleOf is the role that the environment gives to this process.
func roleOf() (r role, is bool, err error) {
	text, is := os.LookupEnv(roleVariable)
	if is {
		err = json.Unmarshal([]byte(text), &r)
	}
	return r, is, err
}

func (r role) run(ctx context.Context) error {
	switch r.Name {
	case "broker":
		return r.serve(ctx)
	case "scheduler":
		return r.schedule(ctx)
	case "worker":
		return r.work(ctx)
	case "producer":
		return r.produce(ctx)
	}
	return fmt.Errorf("a role %q", r.Name)
}

func (r role) socket() string { return "unix:" + filepath.Join(r.Folder, "socket") }
func (r role) store() string  { return filepath.Join(r.Folder, "store") }

// lease is short, so that what is lost is missed soon.
const lease = 2 * time.Second

var settings = scheduler.Settings{Lease: lease, Grace: lease, Backoff: 20 * time.Millisecond, Placement: placement.Settings{Explore: -1}}

func (r role) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// serve is the broker.
func (r role) serve(ctx context.Context) error {
	b, err := local.Open(filepath.Join(r.Folder, "queues"), local.Options{})
	if err != nil {
		return err
	}
	defer b.Close()
	server, err := local.Serve(b, r.socket(), "")
	if err != nil {
		return err
	}
	<-ctx.Done()
	return server.Close()
}

// schedule is a scheduler, or stands by until it is.
func (r role) schedule(ctx context.Context) error {
	st, err := store.Await(ctx, r.store(), nil)
	if ctx.Err() != nil {
		return nil // it was not needed
	}
	if err != nil {
		return err
	}
	defer st.Close()
	j, err := newJournal(r)
	if err != nil {
		return err
	}
	j.note(leads, "-", 0, "-")
	b, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	s, err := scheduler.Start(ctx, &reports{b, j}, st, settings, r.logger())
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-s.Done():
		err = errors.New("it ended: " + s.Trouble())
	}
	return errors.Join(err, s.Close())
}

// dial waits for the broker.
func (r role) dial(ctx context.Context) (b queue.Broker, err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if r.URL != "" {
			b, err = rabbitmq.Dial(ctx, rabbitmq.Config{URL: r.URL, Logger: r.logger()})
		} else {
			b, err = local.Dial(ctx, r.socket(), "")
		}
		if err == nil {
			return b, nil
		}
	}
	return nil, err
}

// slots are those of a worker.
const slots = 4

// work runs jobs.
func (r role) work(ctx context.Context) error {
	b, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	j, err := newJournal(r)
	if err != nil {
		return err
	}
	w, err := worker.Start(ctx, worker.Config{Broker: &claims{Broker: b, journal: j, seen: map[string]bool{}},
		Worker: placement.Worker{ID: r.ID, Device: placement.CPU, Model: "chaos", Slots: slots},
		Funcs:  j.funcs(), Beat: lease / 5, Grace: grace, Replaced: true, Logger: r.logger()})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-w.Done():
		return errors.Join(w.Err(), w.Close())
	case <-w.Stuck():
		j.note(anew, "-", 0, "-")
		return errors.Join(w.Close(), b.Close(), worker.Restart())
	}
	drain, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(w.Drain(drain), w.Close())
}

// produce submits all jobs, in order.
func (r role) produce(ctx context.Context) error {
	b, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, q := range scheduler.Queues() { // as foreign programs do: it may be there before a scheduler
		if _, err := b.Declare(ctx, q); err != nil {
			return err
		}
	}
	var all []queue.Message
	for i := range r.Jobs {
		all = append(all, queue.Message{ID: id(i), Body: body(i)})
		if len(all) == 50 || i == r.Jobs-1 {
			if err := b.Publish(ctx, job.QueueJobs, all...); err != nil {
				return err
			}
			all = all[:0]
		}
	}
	return nil
}
