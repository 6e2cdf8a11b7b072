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
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
	"cancha/jobs/worker"
)

// role is what one process does, until it is killed; server and worker do not end by themselves.
type role struct {
	Name   string // server, worker or producer
	ID     string // of a worker
	Folder string
	Jobs   int
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
	case "server":
		return r.serve(ctx)
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

var settings = scheduler.Settings{Lease: lease, Backoff: 20 * time.Millisecond, Placement: placement.Settings{Explore: -1}}

func (r role) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// serve is broker and scheduler.
func (r role) serve(ctx context.Context) error {
	b, err := local.Open(filepath.Join(r.Folder, "queues"), local.Options{})
	if err != nil {
		return err
	}
	defer b.Close()
	st, err := store.Open(r.store())
	if err != nil {
		return err
	}
	defer st.Close()
	s, err := scheduler.Start(ctx, b, st, settings, r.logger())
	if err != nil {
		return err
	}
	server, err := local.Serve(b, r.socket(), "")
	if err != nil {
		return errors.Join(err, s.Close())
	}
	select {
	case <-ctx.Done():
	case <-s.Done():
	}
	return errors.Join(server.Close(), s.Close())
}

// dial waits for the server.
func (r role) dial(ctx context.Context) (b *local.Remote, err error) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if b, err = local.Dial(ctx, r.socket(), ""); err == nil {
			return b, nil
		}
	}
	return nil, err
}

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
	w, err := worker.Start(ctx, worker.Config{Broker: b, Worker: placement.Worker{ID: r.ID, Device: placement.CPU, Model: "chaos", Slots: 4},
		Funcs: j.funcs(), Beat: lease / 5, Logger: r.logger()})
	if err != nil {
		return err
	}
	<-ctx.Done()
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
