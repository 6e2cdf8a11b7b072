//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/feed"
	"cancha/statsbomb/fetch"
	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/stream/kafka"
)

// producerOptions is what "cancha producer" is asked for.
type producerOptions struct {
	target   kafka.ProducerConfig
	replay   replay.Config
	data     string
	fetch    fetch.Config // without an account nothing is fetched
	filter   statsbomb.Filter
	simulate simulate.Config
}

// runProducer plays matches into a topic until they are played or ctx ends.
func runProducer(ctx context.Context, args []string) error {
	o, err := parseProducer(args)
	if err != nil {
		return err
	}
	if o.fetch.Account != nil {
		if err := o.fetchFirst(ctx); err != nil {
			return err
		}
	}
	archive, what, err := feed.Archive(o.data, o.filter, o.simulate)
	if err != nil {
		return err
	}
	o.target.Retry = func(err error) { fmt.Fprintln(os.Stderr, "no broker, trying again:", err) }
	out, err := kafka.NewProducer(o.target)
	if err != nil {
		return err
	}
	n, err := out.Partitions(ctx)
	if err != nil {
		return stopped(ctx, cmp.Or(err, out.Close(ctx)))
	}
	fmt.Printf("%s into %s at %s, %d partitions\n", what, o.target.Topic, strings.Join(o.target.Brokers, ","), n)
	o.replay.Partitions = n
	o.replay.PartitionOf = func(key []byte) int { return kafka.PartitionOf(key, n) }
	o.replay.Warn = func(err error) { fmt.Fprintln(os.Stderr, err) }
	err = replay.Run(ctx, archive, out, o.replay, func(p replay.Progress) { fmt.Println(line(p)) })
	// Run has flushed, or has given up: nothing is left to wait for.
	left, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return cmp.Or(err, out.Close(left))
}

// fetchFirst fetches what is to be played into the folder, where a later run finds it.
func (o *producerOptions) fetchFirst(ctx context.Context) error {
	r, err := fetchMatches(ctx, o.fetch)
	o.filter.Seasons = nil
	for _, s := range r.Seasons {
		o.filter.Seasons = append(o.filter.Seasons, s.ID)
	}
	return err
}

// stopped is nil if the user ended the command, which is no failure.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// line is a line of progress.
func line(p replay.Progress) string {
	text := fmt.Sprintf("%9d events  %8.0f/s  %4d matches", p.Sent, p.Rate, p.Matches)
	if !p.EventTime.IsZero() {
		text += "  event time " + p.EventTime.Format(time.RFC3339)
	}
	if p.Skipped > 0 {
		text += fmt.Sprintf("  (%d matches without events left out)", p.Skipped)
	}
	if p.Done {
		text += fmt.Sprintf("  done, %.0f/s over %.1f s", float64(p.Sent)/max(p.Elapsed.Seconds(), 1e-9), p.Elapsed.Seconds())
	}
	return text
}

func parseProducer(args []string) (producerOptions, error) {
	var o producerOptions
	flags := newFlags("producer", "", "Plays matches into a topic: recorded ones from a folder or an account, or simulated ones.")
	brokers := flags.String("brokers", cmp.Or(os.Getenv(feed.BrokersVariable), defaultBroker), "`addresses` of brokers, separated by commas; the default comes from "+feed.BrokersVariable)
	flags.StringVar(&o.target.Topic, "topic", feed.Topic, "`topic` to write")
	flags.IntVar(&o.target.Partitions, "partitions", 4, "partitions of the topic if it has to be made")
	flags.StringVar(&o.target.Compression, "compression", "none", "none, lz4, snappy, zstd or gzip")
	flags.StringVar(&o.data, "data", "", "`folder` of matches in StatsBomb's open-data layout; without it, simulated matches. With -account it is filled first (default data)")
	simulated := flags.Bool("simulate", false, "play simulated matches, as without -data")
	flags.BoolVar(&o.simulate.Frames, "frames", false, "simulated matches have 360 frames")
	flags.IntVar(&o.filter.Competition, "competition", 0, "only this competition, by `id`")
	flags.Func("seasons", "only these seasons, by `ids` separated by commas (default all, with -account the last 4)", func(s string) error {
		return eachInt(s, func(n int) { o.filter.Seasons = append(o.filter.Seasons, n) })
	})
	flags.Func("rate", "`events` a second, or max (default max)", func(s string) error { return rate(s, &o.replay.Rate) })
	flags.Func("start", "kick-off of the first matches in event time, `RFC 3339` or now (default now)", func(s string) error {
		return startTime(s, &o.replay.Start)
	})
	flags.Uint64Var(&o.replay.Seed, "seed", 1, "determines the order of the matches, the simulated ones, and with -start their ids")
	flags.BoolVar(&o.replay.ByDate, "by-date", false, "play matches in the order of their dates")
	flags.Func("matches", "`number` of matches to play, or endless (default endless)", func(s string) error { return matches(s, &o.replay.Matches) })
	var f fetchFlags
	f.register(flags)
	if err := parseAll(flags, args); err != nil {
		return o, err
	}
	if err := o.account(flags, f, *simulated); err != nil {
		return o, err
	}
	if *simulated && o.data != "" {
		return o, errors.New("-simulate and -data exclude each other")
	}
	o.target.Brokers = kafka.Brokers(*brokers)
	o.simulate.Seed = o.replay.Seed
	return o, nil
}

// account says what to fetch before it is played.
func (o *producerOptions) account(flags *flag.FlagSet, f fetchFlags, simulated bool) error {
	switch {
	case !f.account && (given(flags, "base") || given(flags, "path") || given(flags, "360")):
		return usageError{"producer", errors.New("-base, -path and -360 are for -account")}
	case !f.account:
		return nil
	case simulated:
		return errors.New("-simulate and -account exclude each other")
	}
	o.data = cmp.Or(o.data, "data")
	f.config.Dir, f.config.Competition, f.config.Seasons, f.config.SeasonIDs = o.data, o.filter.Competition, 4, o.filter.Seasons
	err := f.complete(flags)
	o.fetch = f.config
	return err
}

func rate(s string, to *float64) error {
	if s == "max" {
		*to = 0
		return nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n <= 0 || n > 1e9 {
		return errors.New("want a positive number of events a second, or max")
	}
	*to = n
	return nil
}

func startTime(s string, to *time.Time) error {
	if s == "now" {
		*to = time.Time{}
		return nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return errors.New("want a time such as 2026-03-01T15:00:00Z, or now")
	}
	*to = t
	return nil
}

func matches(s string, to *int) error {
	if s == "endless" {
		*to = 0
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("want a number of matches, or endless")
	}
	*to = n
	return nil
}

func eachInt(list string, f func(int)) error {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return fmt.Errorf("%q is not a number", word)
		}
		f(n)
	}
	return nil
}
