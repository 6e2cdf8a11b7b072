package shop

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
)

// ids runs a query that counts a topic's records and their different keys.
func ids(t *testing.T, source stream.Source) (records, keys int64) {
	t.Helper()
	q := stream.From(source).Format(stream.TextFormat()).Window(stream.Tumbling(24*time.Hour)).MaxAhead(0).
		Agg(stream.Count("records"), stream.CountDistinct("keys", stream.Field("@key")))
	running, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := running.Results()
	for i := range rows.Len() {
		records += rows.Row(i).Int("records")
		keys += rows.Row(i).Int("keys")
	}
	return records, keys
}

// counts are how many records each topic of a shop has.
func counts(t *testing.T, cfg Config) map[string]int64 {
	n := map[string]int64{}
	for _, r := range of(t, cfg) {
		n[r.Topic]++
	}
	return n
}

func TestSourceHasTheWholeTopic(t *testing.T) {
	cfg := Config{Seed: 7, Records: 2000}
	want := counts(t, cfg)
	for _, rate := range []float64{0, 10_000} {
		cfg.Rate = rate
		for _, topic := range []string{Orders, Payments, Products} {
			source, err := Source(cfg, topic)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := ids(t, source); got != want[topic] {
				t.Errorf("%s: got %d records, want %d", source.Description(), got, want[topic])
			}
		}
	}
}

func TestOwnShopIsReadToItsEnd(t *testing.T) {
	t.Setenv(BrokersVariable, "")
	cfg := Config{Seed: 7, Records: 2000, Partitions: 2}
	want := counts(t, cfg)
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, topic := range []string{Orders, Payments, Products} {
		if got, _ := ids(t, s.Source(topic)); got != want[topic] {
			t.Errorf("%s: got %d records, want %d", topic, got, want[topic])
		}
	}
	if s.Sent() != want[Orders]+want[Payments]+want[Products] || s.Err() != nil {
		t.Errorf("got %d sent, %v", s.Sent(), s.Err())
	}
	if text := s.String(); !strings.Contains(text, "about 2000 records") || !strings.Contains(text, "of its own") || s.Topic(Orders) != "orders" {
		t.Errorf("got %q, topic %q", text, s.Topic(Orders))
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := net.Dial("tcp", s.Brokers()[0]); err == nil {
		t.Error("the broker still listens after Close")
	}
}

func TestStopEndsSources(t *testing.T) {
	t.Setenv(BrokersVariable, "")
	s, err := Open(t.Context(), Config{}) // without end
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	running, err := stream.From(s.Source(Orders)).Select("order").MaxRecords(100).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	records, keys := ids(t, s.Source(Orders))
	if records < 100 || keys >= records || records >= s.Sent() {
		t.Errorf("got %d orders of %d different keys; %d records sent", records, keys, s.Sent())
	}
}

func TestContextClosesTheShop(t *testing.T) {
	t.Setenv(BrokersVariable, "")
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Open(ctx, Config{Rate: 100})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-s.Over():
	case <-time.After(10 * time.Second):
		t.Fatal("the shop goes on 10 s after its context ended")
	}
	if err := s.Close(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

// Two shops in one cluster do not mix.
func TestShopsInACluster(t *testing.T) {
	cluster, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	t.Setenv(BrokersVariable, cluster.Addr())
	cfg := Config{Seed: 7, Records: 500}
	want := counts(t, cfg)
	names := map[string]bool{}
	for range 2 {
		s, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		names[s.Topic(Orders)] = true
		if got, _ := ids(t, s.Source(Orders)); got != want[Orders] {
			t.Errorf("%s: got %d orders, want %d", s, got, want[Orders])
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got, _ := ids(t, s.Source(Orders)); got != want[Orders] { // the cluster is not the shop's to close
			t.Errorf("after Close: got %d orders, want %d", got, want[Orders])
		}
	}
	if len(names) != 2 {
		t.Errorf("got topics %v, want two", names)
	}
	named, err := Open(t.Context(), Config{Prefix: "my-", Records: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if got := named.Topic(Products); got != "my-products" {
		t.Errorf("got topic %s", got)
	}
}

func TestRefused(t *testing.T) {
	t.Setenv(BrokersVariable, "")
	for _, row := range []struct {
		name string
		open func() error
		want string
	}{
		{"records", func() error { _, err := Open(t.Context(), Config{Records: -1}); return err }, "-1 records"},
		{"rate", func() error { _, err := Open(t.Context(), Config{Rate: -2}); return err }, "rate -2"},
		{"partitions", func() error { _, err := Open(t.Context(), Config{Partitions: -1}); return err }, "-1 partitions"},
		{"start", func() error {
			_, err := Records(Config{Start: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)})
			return err
		}, "1970"},
		{"address", func() error { _, err := Open(t.Context(), Config{Brokers: []string{"nowhere"}}); return err }, "host:port"},
		{"topic", func() error { _, err := Source(Config{Records: 1}, "refunds"); return err }, "orders, payments and products"},
		{"endless source", func() error { _, err := Source(Config{}, Orders); return err }, "Config.Records"},
		{"bad source", func() error { _, err := Source(Config{Records: -1}, Orders); return err }, "-1 records"},
	} {
		if err := row.open(); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want an error with %q", row.name, err, row.want)
		}
	}
}
