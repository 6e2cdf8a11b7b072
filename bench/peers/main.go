package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"time"

	"cancha/stream/kafka"
)

type settings struct {
	brokers []string
	topic   string
	events  int
	file    string
	rows    string
	keys    int
	folder  string
	profile string
	rate    float64
}

// command is what a name stands for, nil for nothing.
func (s settings) command(name string) func(context.Context) error {
	switch name {
	case "fill":
		return s.fill
	case "minutes":
		return s.minutes
	case "keys":
		return s.fillKeys
	case "sums":
		return s.sums
	case "latency":
		return s.latency
	case "scoring":
		return s.scoring
	}
	return nil
}

func main() {
	var s settings
	brokers := flag.String("brokers", "127.0.0.1:19292", "brokers: host:port, more behind commas")
	flag.StringVar(&s.topic, "topic", "minutes", "topic; latency and scoring make a new one whose name begins so")
	flag.IntVar(&s.events, "events", 2_000_000, "how many events")
	flag.StringVar(&s.file, "file", "", "fill: file that the records are written into too, a line each")
	flag.StringVar(&s.rows, "rows", "", "minutes and sums: file that the rows are written into as CSV")
	flag.IntVar(&s.keys, "keys", 285_000, "keys: how many there are")
	flag.StringVar(&s.folder, "checkpoint", "", "sums: folder for a checkpoint each second; empty: none")
	flag.StringVar(&s.profile, "profile", "", "file that a CPU profile is written into")
	flag.Float64Var(&s.rate, "rate", 4096, "latency and scoring: events a second")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: peers [flags] fill|minutes|keys|sums|latency|scoring")
		flag.PrintDefaults()
	}
	flag.Parse()
	s.brokers = kafka.Brokers(*brokers)
	run := s.command(flag.Arg(0))
	if run == nil || flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.profiled(ctx, run); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// profiled runs a command, under a CPU profile if a file for it is named.
func (s settings) profiled(ctx context.Context, run func(context.Context) error) error {
	if s.profile == "" {
		return run(ctx)
	}
	to, err := os.Create(s.profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(to); err != nil {
		return errors.Join(err, to.Close())
	}
	err = run(ctx)
	pprof.StopCPUProfile()
	return errors.Join(err, to.Close())
}

// outcome is the line that a run prints, as the peers in Python print theirs (meter.py).
type outcome struct {
	Engine   string  `json:"engine"`
	Query    string  `json:"query"`
	Events   int64   `json:"events"`
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu_seconds"`
	Resident int64   `json:"resident"` // bytes of memory at most
	Rows     int64   `json:"rows"`
}

func (o outcome) print() error { return json.NewEncoder(os.Stdout).Encode(o) }

// meter measures this process.
type meter struct {
	began time.Time
	cpu   float64
}

func measure() (meter, error) {
	cpu, _, err := usage()
	return meter{time.Now(), cpu}, err
}

func (m meter) outcome(query string, events, rows int64) (outcome, error) {
	seconds := time.Since(m.began).Seconds()
	cpu, resident, err := usage()
	return outcome{"cancha", query, events, seconds, cpu - m.cpu, resident, rows}, err
}
