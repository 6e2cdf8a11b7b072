package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// settings are what is measured, and where.
type settings struct {
	server, api string // of a RabbitMQ: amqp://…, and its management
	python      string // a Python that has Celery
	turns       int
	warm, span  time.Duration // of each measurement
}

func main() {
	if text := os.Getenv(roleVariable); text != "" { // a process of a trial
		exit(play(text))
	}
	var s settings
	flag.StringVar(&s.server, "rabbitmq", os.Getenv("CANCHA_RABBITMQ"), "address of a RabbitMQ; empty: the embedded broker alone")
	flag.StringVar(&s.api, "api", os.Getenv("CANCHA_RABBITMQ_API"), "address of its management, which makes a vhost for each measurement")
	flag.StringVar(&s.python, "python", "", "a Python that has Celery; empty: ours alone")
	flag.IntVar(&s.turns, "turns", 3, "how often each is measured")
	flag.DurationVar(&s.warm, "warm", 2*time.Second, "what is left out at the begin of a measurement")
	flag.DurationVar(&s.span, "span", 4*time.Second, "how long a measurement takes from there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(s.run(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/jobs/peer:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// contestant is one way to run jobs.
type contestant struct {
	name string
	over string // what carries the jobs
	run  func(ctx context.Context, s settings, flight int) (outcome, error)
}

// flights are how many jobs are in flight.
func flights() []int { return []int{1, 100, 1000} }

func (s settings) contestants() (all []contestant) {
	for _, slots := range []int{1, 16} {
		all = append(all, contestant{fmt.Sprintf("ours, 2 workers × %d", slots), "embedded", embedded(slots)})
		if s.server != "" {
			all = append(all, contestant{fmt.Sprintf("ours, 2 workers × %d", slots), "RabbitMQ", remote(slots)})
		}
	}
	if s.server != "" && s.python != "" {
		all = append(all, contestant{"Celery, 2 processes, safe", "RabbitMQ", celery("safe")},
			contestant{"Celery, 2 processes, fast", "RabbitMQ", celery("fast")})
	}
	return all
}

func (s settings) run(ctx context.Context) error {
	if s.turns < 1 || s.span <= 0 || s.server != "" && s.api == "" {
		return errors.New("want a turn at least, a span above 0, and the management of the RabbitMQ: scripts/bench-jobs.sh does")
	}
	var all results
	for turn := range s.turns {
		for _, c := range s.contestants() {
			for _, flight := range flights() {
				o, err := c.run(ctx, s, flight)
				if err != nil {
					return fmt.Errorf("%s over %s, %d in flight: %w", c.name, c.over, flight, err)
				}
				fmt.Fprintf(os.Stderr, "turn %d: %s over %s, %d in flight: %.0f jobs/s, p50 %.2f ms, p99 %.2f ms\n", turn+1, c.name, c.over,
					flight, o.rate, o.p50, o.p99)
				all.add(c, flight, o)
			}
		}
	}
	return s.report(os.Stdout, all)
}

// place is a vhost and a folder, which only one measurement uses.
type place struct {
	Folder string
	URL    string // of a RabbitMQ; "": the embedded broker
}

func (s settings) place(broker bool) (p place, clear func() error, err error) {
	p.Folder, err = os.MkdirTemp("", "bench-jobs")
	if err != nil {
		return p, nil, err
	}
	clear = func() error { return os.RemoveAll(p.Folder) }
	if !broker {
		return p, clear, nil
	}
	name := filepath.Base(p.Folder)
	p.URL = withPath(s.server, name)
	err = manage("PUT", s.api+"/api/vhosts/"+name, "")
	if err == nil {
		err = manage("PUT", s.api+"/api/permissions/"+name+"/guest", `{"configure":".*","write":".*","read":".*"}`)
	}
	return p, func() error {
		return errors.Join(os.RemoveAll(p.Folder), manage("DELETE", s.api+"/api/vhosts/"+name, ""))
	}, err
}

// role is what a process of a trial does, until its stdin ends.
type role struct {
	Name  string // scheduler or worker
	ID    string
	Slots int
	place
}

const roleVariable = "CANCHA_BENCH_JOBS_ROLE"

func play(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	return r.play()
}
