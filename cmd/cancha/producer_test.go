//go:build !windows

package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb/feed"
	"cancha/stream/broker"
	"cancha/stream/kafka"
)

func TestParseProducer(t *testing.T) {
	t.Setenv(feed.BrokersVariable, "a:1, b:2")
	o, err := parseProducer(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.target.Brokers, []string{"a:1", "b:2"}) || o.target.Topic != feed.Topic || o.replay.Rate != 0 || o.replay.Matches != 0 {
		t.Errorf("defaults: got %+v", o)
	}
	o, err = parseProducer(strings.Fields("-brokers c:3 -topic t -data d -competition 11 -seasons 90,42 -rate 4096.5 -start 2026-03-01T15:00:00Z -seed 9 -matches 20 -partitions 2 -by-date"))
	if err != nil {
		t.Fatal(err)
	}
	if o.target.Brokers[0] != "c:3" || o.target.Topic != "t" || o.target.Partitions != 2 || o.data != "d" ||
		o.filter.Competition != 11 || !slices.Equal(o.filter.Seasons, []int{90, 42}) || o.replay.Rate != 4096.5 ||
		!o.replay.Start.Equal(time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)) || o.replay.Seed != 9 || o.simulate.Seed != 9 ||
		o.replay.Matches != 20 || !o.replay.ByDate {
		t.Errorf("got %+v", o)
	}
	if o, err = parseProducer(strings.Fields("-rate max -matches endless -start now -simulate")); err != nil || o.replay.Rate != 0 || o.replay.Matches != 0 || !o.replay.Start.IsZero() {
		t.Errorf("words: got %+v, %v", o, err)
	}
	for args, want := range map[string]string{
		"-rate fast":        "positive number of events",
		"-rate -1":          "positive number of events",
		"-matches 0":        "number of matches, or endless",
		"-start yesterday":  "2026-03-01T15:00:00Z",
		"-seasons 1,x":      `"x" is not a number`,
		"-data d -simulate": "exclude",
		"folder":            `unexpected argument "folder"`,
	} {
		if _, err := parseProducer(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", args, err, want)
		}
	}
}

func TestProducerFillsATopic(t *testing.T) {
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	args := []string{"-brokers", b.Addr(), "-matches", "4", "-partitions", "1"}
	if err := runProducer(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	lags, err := kafka.Lag(t.Context(), kafka.Config{Brokers: []string{b.Addr()}, Topic: feed.Topic})
	if err != nil {
		t.Fatal(err)
	}
	if len(lags) != 1 || lags[0].End < 4000 {
		t.Errorf("got %+v, want one partition with the events of four matches", lags)
	}
}

// TestStoppedCommandsSucceed: a user who ends a command has not made it fail.
func TestStoppedCommandsSucceed(t *testing.T) {
	for name, run := range map[string]func(ctx context.Context) error{
		"broker": func(ctx context.Context) error {
			return runBroker(ctx, []string{"-addr", "127.0.0.1:0", "-data", t.TempDir()})
		},
		"producer without broker": func(ctx context.Context) error { return runProducer(ctx, []string{"-brokers", "127.0.0.1:1"}) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := run(ctx); err != nil {
			t.Errorf("%s: got %v, want nil", name, err)
		}
	}
}
