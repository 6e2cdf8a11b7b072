//go:build !windows

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"cancha/statsbomb/feed"
	"cancha/stream/broker"
)

// runBroker serves until ctx ends.
func runBroker(ctx context.Context, args []string) error {
	cfg := broker.Config{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	flags := newFlags("broker", "", "Serves Kafka clients until it is ended: no Kafka, no Java, one process.")
	flags.StringVar(&cfg.Dir, "data", "", "`directory` that keeps topics and offsets, even if the process is killed; without it they are in memory")
	flags.StringVar(&cfg.Addr, "addr", defaultBroker, "`host:port` to listen on; there are no passwords")
	flags.IntVar(&cfg.Partitions, "partitions", broker.DefaultPartitions, "partitions of a topic that is created automatically")
	flags.Int64Var(&cfg.RetentionBytes, "retention", 0, "`bytes` that each partition keeps (default 64 MiB in memory, 1 GiB with -data)")
	flags.BoolVar(&cfg.Sync, "sync", false, "wait for the disk at each write, to survive a loss of power")
	flags.BoolVar(&cfg.Rebuild, "rebuild", false, "with -data: make a list of topics from the records where it is gone, and take a list that a damaged copy contradicts; a topic may get fewer partitions than it had")
	verify := flags.String("verify", "", "only look over a `directory` that no broker uses, and tell what it holds and what is damaged")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	if *verify != "" {
		return verifyData(os.Stdout, *verify)
	}
	b, err := broker.Start(cfg)
	if err != nil {
		return err
	}
	where := "in memory"
	if cfg.Dir != "" {
		where = "in " + cfg.Dir
	}
	fmt.Printf("broker at %s, records %s; readers and producers take %s=%s\n", b.Addr(), where, feed.BrokersVariable, b.Addr())
	<-ctx.Done()
	return b.Close()
}

// verifyData tells what a durable broker's directory holds; what is damaged is an error.
func verifyData(w io.Writer, dir string) error {
	report, err := broker.Verify(dir)
	if err != nil {
		return err
	}
	for _, p := range report.Partitions {
		fmt.Fprintf(w, "%s-%d: %d records in %d batches, offsets %d to %d, %d bytes\n", p.Topic, p.Number, p.Records, p.Batches, p.First, p.Next, p.Bytes)
	}
	for _, p := range report.Problems {
		fmt.Fprintln(w, p)
	}
	if n := len(report.Problems); n > 0 {
		return fmt.Errorf("problems in %s: %d; nothing was changed, and a broker that starts on it does what is said", dir, n)
	}
	fmt.Fprintln(w, "all of it is as it was written")
	return nil
}

// defaultBroker is where a broker listens, and a producer looks for it, unless told otherwise.
const defaultBroker = "127.0.0.1:9092"
