package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"
)

func main() {
	var s trial
	flag.IntVar(&s.jobs, "jobs", 20_000, "how many")
	flag.IntVar(&s.kills, "kills", 50, "kill -9: of a worker, a scheduler, the broker, or broker and schedulers at once")
	flag.IntVar(&s.workers, "workers", 4, "processes")
	flag.Uint64Var(&s.seed, "seed", rand.Uint64(), "of the faults")
	flag.StringVar(&s.folder, "folder", "", "for all files; empty: a temporary one")
	rabbit := flag.Bool("rabbitmq", false, "on a RabbitMQ, which is killed, too; scripts/rabbitmq.sh with … starts it")
	flag.DurationVar(&s.patience, "patience", 2*time.Minute, "how long no job may end")
	flag.Parse()
	if *rabbit {
		s.url = os.Getenv(envServer)
	}
	ctx, stop := notified()
	defer stop()
	r, is, err := roleOf()
	if err == nil && is {
		err = r.run(ctx)
	} else if *rabbit && s.url == "" {
		err = errors.New("-rabbitmq: " + envServer + " names no server; scripts/rabbitmq.sh with " + os.Args[0] + " -rabbitmq starts one")
	} else if err == nil {
		err = s.run(ctx, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// notified is a context that an interrupt ends.
func notified() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}

// What scripts/rabbitmq.sh sets: the address of the server, and itself.
const (
	envServer = "CANCHA_RABBITMQ"
	envScript = "CANCHA_RABBITMQ_SH"
)

// trial is what is to be gone through.
type trial struct {
	jobs, kills, workers int
	seed                 uint64
	folder               string
	url                  string // of a RabbitMQ; "": a broker of ours
	patience             time.Duration
}

// run goes through it, and judges what is left.
func (s trial) run(ctx context.Context, out io.Writer) (err error) {
	if s.folder == "" {
		if s.folder, err = os.MkdirTemp("", "jobs"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(s.folder)) }()
	}
	began := time.Now()
	f := &field{trial: s, random: rand.New(rand.NewPCG(s.seed, 0))}
	if err := errors.Join(f.play(ctx), f.endAll()); err != nil {
		return fmt.Errorf("seed %d: %w", s.seed, err)
	}
	v, err := judge(f)
	fmt.Fprintf(out, "%d jobs in %.1f s, killed: %d workers, %d schedulers, %d brokers; stopped: %d, %d, %d; workers ended by jobs: %d, started anew: %d, slots lost at the end: %d; seed %d\n%s\n", s.jobs, time.Since(began).Seconds(),
		f.count(killed, "worker"), f.count(killed, "scheduler"), f.count(killed, "broker"), f.count(stopped, "worker"),
		f.count(stopped, "scheduler"), f.count(stopped, "broker"), f.exits, f.count(anew, "worker"),
		v.lost, s.seed, v)
	return err
}
