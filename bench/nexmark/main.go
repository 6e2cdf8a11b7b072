package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"cancha/stream"
	"cancha/stream/file"
	"cancha/stream/kafka"
)

type settings struct {
	events  int64
	seed    uint64
	mixed   int64
	source  string
	dir     string
	brokers string
	topic   string
	fill    bool
	write   bool
	only    string
	rows    string
	report  string
	profile string
}

func main() {
	var s settings
	flag.Int64Var(&s.events, "events", 2_000_000, "how many events, a multiple of 4")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the events")
	flag.Int64Var(&s.mixed, "disorder", 1, "of how many events each run comes out of order; 1 is none")
	flag.StringVar(&s.source, "source", "memory", "where the events are read: memory, live (made while they are read), files or kafka")
	flag.StringVar(&s.dir, "dir", "out/nexmark/events", "folder of the source files")
	flag.StringVar(&s.brokers, "brokers", "", "brokers of the source kafka: host:port, more behind commas")
	flag.StringVar(&s.topic, "topic", "nexmark", "topic of the source kafka")
	flag.BoolVar(&s.write, "write", false, "write the source files unless they are there, and run no query")
	flag.BoolVar(&s.fill, "fill", false, "write the events into the topic before the queries run")
	flag.StringVar(&s.only, "only", "", "queries to run, such as q0,q5; all unless set")
	flag.StringVar(&s.rows, "rows", "", "folder that the rows of each query are written into as CSV; unless set they are counted")
	flag.StringVar(&s.report, "report", "", "file that the results are written into as JSON")
	flag.StringVar(&s.profile, "profile", "", "file that a CPU profile of the queries is written into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nexmark:", err)
		os.Exit(1)
	}
}

func (s settings) run(ctx context.Context, out io.Writer) error {
	g := NewGenerator(s.events)
	g.Seed, g.Disorder = s.seed, s.mixed
	if err := g.Check(); err != nil {
		return err
	}
	if s.write {
		return files(g, s.dir)
	}
	queries, err := chosen(entries(g), s.only)
	if err != nil {
		return err
	}
	source, err := s.open(ctx, g, out)
	if err != nil {
		return err
	}
	if s.rows != "" {
		if err := os.MkdirAll(s.rows, 0o755); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d events, source %s, %d processors\n", g.Events, s.source, runtime.GOMAXPROCS(0))
	fmt.Fprintf(out, "%-5s %10s %9s %11s %9s %9s\n", "query", "rows", "seconds", "events/s", "CPU s", "live MiB")
	stop, err := profiled(s.profile)
	if err != nil {
		return err
	}
	defer stop()
	var all []outcome
	for _, q := range queries {
		o, err := q.run(ctx, All(source), g.Events, s.rows)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-5s %10d %9.2f %11.0f %9s %9d\n", o.Query, o.Rows, o.Seconds, float64(o.Events)/o.Seconds, seconds(o.CPU), o.Heap>>20)
		all = append(all, o)
	}
	return s.save(all)
}

// profiled writes a CPU profile until stop, if a file is named.
func profiled(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	to, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(to); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		to.Close() // a profile that is cut short shows when it is read
	}, nil
}

// seconds is a number of seconds, or a dash where it is not known.
func seconds(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.2f", x)
}

// save writes the results, if they are wanted.
func (s settings) save(all []outcome) error {
	if s.report == "" {
		return nil
	}
	for i := range all {
		if math.IsNaN(all[i].CPU) {
			all[i].CPU = -1
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(s.report), 0o755), os.WriteFile(s.report, append(text, '\n'), 0o644))
}

// open makes the source.
func (s settings) open(ctx context.Context, g Generator, out io.Writer) (stream.Source, error) {
	began := time.Now()
	defer func() { fmt.Fprintf(out, "source ready after %.1f s\n", time.Since(began).Seconds()) }()
	switch s.source {
	case "memory":
		return g.Memory(), nil
	case "live":
		return g.Live(), nil
	case "files":
		return file.Source(filepath.Join(s.dir, "partition-*.jsonl")), files(g, s.dir)
	case "kafka":
		return s.kafka(ctx, g)
	}
	return nil, fmt.Errorf("-source %q: want memory, live, files or kafka", s.source)
}

// files writes the events into a folder unless they are there. A file of the folder, written last, says which events they are.
func files(g Generator, dir string) error {
	mark := filepath.Join(dir, "events.txt")
	if is, err := os.ReadFile(mark); err == nil && string(is) == g.describe() {
		return nil
	}
	if err := os.RemoveAll(mark); err != nil {
		return err
	}
	if err := g.WriteFiles(dir); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(g.describe()), 0o644)
}

// kafka is the topic as it is now, read to its end, after it has been filled if that is wanted.
func (s settings) kafka(ctx context.Context, g Generator) (stream.Source, error) {
	brokers := kafka.Brokers(s.brokers)
	if len(brokers) == 0 {
		return nil, errors.New("-source kafka: name the brokers by -brokers, such as 127.0.0.1:9092")
	}
	if s.fill {
		if err := s.filled(ctx, g, brokers); err != nil {
			return nil, err
		}
	}
	return kafka.Source(kafka.Config{Brokers: brokers, Topic: s.topic, AvailableNow: true}), nil
}

func (s settings) filled(ctx context.Context, g Generator, brokers []string) error {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: s.topic, Partitions: g.Partitions})
	if err != nil {
		return err
	}
	err = g.Produce(ctx, producer)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(err, producer.Close(ending))
}
