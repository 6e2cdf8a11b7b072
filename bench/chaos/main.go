// Command chaos has faults happen to queries while they read topics, again and again, alone and as members of a group, and compares what
// their sinks hold in the end with what a query without a break writes: each row, to the last digit, once. The faults are drawn by a seed:
// kill -9 of a query and of its broker, processes that are frozen for longer than their group waits for them, slow and full disks,
// connections that break after some bytes, clocks that jump by hours, topics that are made anew, older snapshots that a query goes on from
// (faultKinds tells more). The last process of a trial lives with its fault to its end, if that is one to live with.
//
//	go run ./bench/chaos -kills 100 -events 5000000                      on an embedded broker, a process of its own
//	scripts/kafka.sh with go run ./bench/chaos -kills 100 -events 5000000      on an Apache Kafka
//	go run ./bench/chaos -faults "kill full" -sinks "file epochs"
//
// With -live 5m a producer sends all the time, and one of the members of a group is killed each 5 s: the longest gap in the output is told.
//
// With CANCHA_POSTGRES (scripts/postgres.sh with) tables are written, too. It ends with 1 if anything differs.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

type mutex = sync.Mutex

var (
	kills   = flag.Int("kills", 5, "faults of each trial")
	events  = flag.Int("events", 200_000, "records of each topic")
	seed    = flag.Uint64("seed", 1, "of the faults")
	faults  = flag.String("faults", faultKinds, "which, where they can happen")
	queries = flag.String("queries", "windows join firsts sessions latejoin predictions anew", "which")
	sinks   = flag.String("sinks", "file kafka postgres epochs", "which")
	members = flag.Int("members", 3, "processes of a group, where a query can be shared")
	life    = flag.Duration("life", 950*time.Millisecond, "the longest of a process")
	epoch   = flag.Duration("epoch", 200*time.Millisecond, "between snapshots")
	folder  = flag.String("folder", "", "for snapshots and files; empty: a temporary one")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, is, err := roleOf()
	if err == nil && is {
		err = r.run(ctx)
	} else if err == nil {
		err = trials(ctx, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// trials runs a trial for each query and sink, and one of several members where the query can be shared.
func trials(ctx context.Context, out *os.File) error {
	var err error
	dir := *folder
	if dir == "" {
		if dir, err = os.MkdirTemp("", "chaos-*"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	f, err := newField(ctx, *events)
	if err != nil {
		return err
	}
	defer f.close()
	if *live > 0 {
		return liveTrial(ctx, f, dir, out)
	}
	bad := 0
	for _, query := range strings.Fields(*queries) {
		for _, sink := range strings.Fields(*sinks) {
			for _, n := range slices.Compact([]int{1, *members}) {
				if n > 1 && (whole(query) || query == "anew" || sink == "file") || sink == "postgres" && os.Getenv("CANCHA_POSTGRES") == "" {
					continue // what keeps rows of several partitions wants all of them; one file has one writer; and a topic is made anew under one process
				}
				name := fmt.Sprintf("%s_%s_%d", query, sink, n)
				p := &plan{dice: rand.New(rand.NewPCG(*seed, uint64(len(name)))), left: *kills, shortest: 50 * time.Millisecond, longest: *life}
				try := f.try
				if query == "anew" {
					try = f.anew
				}
				o, err := try(ctx, f.role(query, sink, name, filepath.Join(dir, name), n > 1), n, p)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if !o.ok() {
					bad++
				}
				fmt.Fprintf(out, "%-12s → %-9s %d at once: %v\n", query, sink, n, o)
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d trials were not the same", bad)
	}
	return nil
}

// whole tells whether a query wants all partitions in one process.
func whole(query string) bool {
	return slices.Contains([]string{"join", "firsts", "sessions", "latejoin"}, query)
}

// field is the broker of the trials, with its topics.
type field struct {
	program string
	brokers []string
	own     *ownBroker // nil: it is an Apache Kafka
	server  server     // nil: nobody knows how to kill it
	run     string     // makes names new on a broker that outlives the trials
}

// newField fills the topics, on an embedded broker unless CANCHA_KAFKA names one.
func newField(ctx context.Context, n int) (*field, error) {
	f := &field{run: fmt.Sprint(time.Now().Unix())}
	var err error
	if f.program, err = os.Executable(); err != nil {
		return nil, err
	}
	if at, script := os.Getenv("CANCHA_KAFKA"), os.Getenv("CANCHA_KAFKA_SH"); at != "" {
		if f.brokers = []string{at}; script != "" {
			f.server = apacheKafka{script}
		}
	} else if err := f.embed(); err != nil {
		return nil, err
	}
	wanted := strings.Fields(*queries)
	if *live > 0 {
		wanted = nil // what is read comes later
	}
	if slices.ContainsFunc(wanted, func(query string) bool { return query != "predictions" }) {
		for i, topic := range []string{f.topic("moves"), f.topic("others")} {
			if err := fill(ctx, f.brokers, topic, n, uint64(i)); err != nil {
				return nil, err
			}
		}
	}
	if slices.Contains(wanted, "predictions") {
		return f, play(ctx, f.brokers, f.topic("matches"), n)
	}
	return f, nil
}

func (f *field) topic(name string) string { return name + "-" + f.run }

func (f *field) role(query, sink, name, folder string, group bool) role {
	r := role{Query: query, Sink: sink, Brokers: f.brokers, Folder: folder, Output: name, Postgres: os.Getenv("CANCHA_POSTGRES"), Epoch: *epoch,
		Topics: []string{f.topic("moves"), f.topic("others")}}
	if query == "predictions" {
		r.Topics = []string{f.topic("matches")}
	}
	if sink == "kafka" || sink == "postgres" {
		r.Output = "chaos_" + f.run + "_" + name
	}
	if group {
		r.Group = "chaos-" + f.run + "-" + name
	}
	return r
}
