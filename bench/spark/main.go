package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"time"

	"cancha/spark"
	"cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/stream/kafka"
)

type settings struct {
	brokers []string
	topic   string
	events  int
	turns   int
	batch   int64
	master  string
	jvm     string // process of the server
	started string // what the server's start took, for the report
	engine  string // of a turn, which is a process of its own
}

func main() {
	var s settings
	brokers := flag.String("brokers", "", "brokers of Kafka: host:port, more behind commas")
	flag.StringVar(&s.topic, "topic", fmt.Sprintf("minutes-%d", time.Now().Unix()), "topic, which is filled unless -filled is given")
	filled := flag.Bool("filled", false, "the topic has the events already")
	flag.IntVar(&s.events, "events", 2_000_000, "how many events, a multiple of 64")
	flag.IntVar(&s.turns, "turns", 3, "how often each engine runs the plan")
	flag.Int64Var(&s.batch, "batch", 200_000, "how many records a batch of Spark reads at most")
	flag.StringVar(&s.master, "master", "", "address of a Spark Connect server on this machine: sc://host:port")
	flag.StringVar(&s.jvm, "jvm", "", "the server's process, whose processor time and memory are read in /proc")
	flag.StringVar(&s.started, "started", "", "how long the server's start took, for the report")
	flag.StringVar(&s.engine, "engine", "", "run a turn on one engine and print a line of JSON: local, checkpoint or spark")
	flag.Parse()
	s.brokers = kafka.Brokers(*brokers)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, *filled); err != nil {
		fmt.Fprintln(os.Stderr, "bench/spark:", err)
		os.Exit(1)
	}
}

func (s settings) run(ctx context.Context, filled bool) error {
	switch {
	case len(s.brokers) == 0 || s.master == "" || s.jvm == "":
		return errors.New("name -brokers, -master and -jvm: scripts/bench-spark.sh does")
	case s.events < matches || s.events%matches != 0 || s.turns < 1:
		return fmt.Errorf("%d events, %d turns: want a multiple of %d and at least 1", s.events, s.turns, matches)
	case s.engine != "":
		return s.turn(ctx)
	}
	if !filled {
		if err := s.fill(ctx); err != nil {
			return err
		}
	}
	all := map[string][]outcome{}
	for range s.turns {
		for _, engine := range []string{"local", "checkpoint", "spark"} {
			o, err := s.child(ctx, engine)
			if err != nil {
				return fmt.Errorf("%s: %w", engine, err)
			}
			all[engine] = append(all[engine], o)
			fmt.Fprintf(os.Stderr, "%+v\n", o)
		}
	}
	return s.report(os.Stdout, all)
}

// outcome is a turn. Seconds are of the clock from Start to the end, connecting apart; the JVM's numbers are those of a turn on Spark.
type outcome struct {
	Connect, Seconds, First  float64 // First is of Spark's first batch
	CPU, JVM                 float64 // processor seconds of the client's process, connecting included, and of the server's
	Resident, JVMResident    int64   // bytes
	Records, Rows, Late, Bad int64
	Sums                     []float64 // of the rows' columns
}

// child runs a turn in a process of its own, whose memory is that of nothing else.
func (s settings) child(ctx context.Context, engine string) (o outcome, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	c := exec.CommandContext(ctx, self, "-engine", engine, "-brokers", s.brokers[0], "-topic", s.topic, "-events", strconv.Itoa(s.events),
		"-batch", strconv.FormatInt(s.batch, 10), "-master", s.master, "-jvm", s.jvm)
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(text, &o)
}

// turn runs the plan once and prints the outcome.
func (s settings) turn(ctx context.Context) error {
	query := statistics(kafka.Source(kafka.Config{Brokers: s.brokers, Topic: s.topic})).KeepRows(1000).AvailableNow()
	if s.engine == "checkpoint" {
		folder, err := os.MkdirTemp("", "bench-spark-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		query = query.Checkpoint(checkpoint.Folder(folder))
	}
	if err := forget(s.jvm); err != nil {
		return err
	}
	before, err := usageOf(s.jvm)
	if err != nil {
		return err
	}
	var o outcome
	began := time.Now()
	if s.engine == "spark" {
		e, err := spark.Config{Master: s.master, BatchRecords: s.batch}.Engine(ctx)
		if err != nil {
			return err
		}
		query, o.Connect = query.On(e), time.Since(began).Seconds()
	}
	if err := o.take(ctx, query); err != nil {
		return err
	}
	if want := int64(s.events + closing); o.Records != want || o.Late+o.Bad > 0 {
		return fmt.Errorf("%d records, %d late, %d bad, want %d of which all are used: the topic has others", o.Records, o.Late, o.Bad, want)
	}
	if err := o.used(s.jvm, before); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(o)
}

// take runs the query.
func (o *outcome) take(ctx context.Context, query *stream.Query) error {
	rows := &summed{}
	began := time.Now()
	r, err := query.To(rows).Start(ctx)
	if err == nil {
		err = r.Wait(ctx)
	}
	if err != nil {
		return err
	}
	o.Seconds = time.Since(began).Seconds()
	if busy := r.Recent().Busy(); len(busy) > 0 {
		o.First = float64(busy[0].DurationMs["triggerExecution"]) / 1000
	}
	t := r.Totals()
	o.Records, o.Late, o.Bad, o.Rows, o.Sums = t.Records, t.Late, t.Bad, rows.rows, rows.sums
	return nil
}

// used notes what this process and the server's have used.
func (o *outcome) used(jvm string, before usage) error {
	mine, err := usageOf("self")
	if err != nil {
		return err
	}
	its, err := usageOf(jvm)
	o.CPU, o.Resident, o.JVM, o.JVMResident = mine.cpu, mine.resident, its.cpu-before.cpu, its.resident
	return err
}
