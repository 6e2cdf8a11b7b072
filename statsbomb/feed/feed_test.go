package feed

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/simulate"
	"cancha/stream"
)

// counter counts what a source gives it, by match.
type counter struct {
	mu      sync.Mutex
	records int
	lost    int64
	keys    map[string]int
}

func (c *counter) Assigned([]stream.Partition) {}
func (c *counter) Retry(error, time.Duration)  {}
func (c *counter) Batch(_ context.Context, b stream.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = make(map[string]int)
	}
	c.lost += b.Lost
	c.records += len(b.Records)
	for _, r := range b.Records {
		c.keys[string(r.Key)]++
	}
	return nil
}

func TestOwnFeedIsReadToItsEnd(t *testing.T) {
	t.Setenv(BrokersVariable, "")
	f, err := Open(t.Context(), Config{Matches: 8, Partitions: 2, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !f.Own() || !strings.Contains(f.String(), "simulated matches, as fast as can be") {
		t.Errorf("got %s, own %v", f, f.Own())
	}
	if club := f.archive.Matches()[0].Home; f.Team(int64(club.ID)) != club.Name || f.Team(-1) != "team -1" {
		t.Errorf("got %q for %v and %q for a team that there is not", f.Team(int64(club.ID)), club, f.Team(-1))
	}
	var groups [2]counter
	for i := range groups { // each group gets all, the second from what is kept
		if err := f.Source([]string{"", "g"}[i]).Run(t.Context(), &groups[i]); err != nil {
			t.Fatal(err)
		}
		if n := int64(groups[i].records); n != f.Progress().Sent || n < 8*1000 || groups[i].lost != 0 || len(groups[i].keys) != 8 {
			t.Errorf("group %d: %d records of %d matches, %d lost; %d sent of 8", i, n, len(groups[i].keys), groups[i].lost, f.Progress().Sent)
		}
	}
	if err := f.Err(); err != nil {
		t.Errorf("replay: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	f.Close()
	if _, err := net.Dial("tcp", f.Brokers()[0]); err == nil {
		t.Error("the broker still listens after Close")
	}
}

func TestContextClosesTheFeed(t *testing.T) {
	t.Setenv(BrokersVariable, "")
	ctx, cancel := context.WithCancel(t.Context())
	f, err := Open(ctx, Config{Rate: 100})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-f.Played():
	case <-time.After(10 * time.Second):
		t.Fatal("the replay goes on 10 s after its context ended")
	}
	f.Close()
	if err := f.Err(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestClusterIsTakenAsItIs(t *testing.T) {
	t.Setenv(BrokersVariable, "kafka-1:9092, kafka-2:9092")
	f, err := Open(t.Context(), Config{Topic: "t", Data: "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, want := f.String(), "topic t at kafka-1:9092,kafka-2:9092"; got != want || f.Own() {
		t.Errorf("got %q, own %v, want %q", got, f.Own(), want)
	}
	if got, want := f.Source("g").Description(), "kafka t at kafka-1:9092,kafka-2:9092"; got != want {
		t.Errorf("source: got %q, want %q", got, want)
	}
}

func TestOpenErrors(t *testing.T) {
	t.Setenv(BrokersVariable, "")
	for _, row := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no folder", Config{Data: filepath.Join(t.TempDir(), "none")}, "open match folder"},
		{"partitions", Config{Partitions: -1}, "partitions"},
		{"rate", Config{Rate: -1}, "rate -1"},
		{"start", Config{Start: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)}, "1970"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, err := Open(t.Context(), row.cfg)
			if err == nil {
				f.Close()
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
		})
	}
}

func TestArchiveOfSimulatedDates(t *testing.T) {
	sim := simulate.Config{Seed: 1, Matches: 40}
	all := simulate.New(sim).Matches()
	from := all[25].Date
	archive, what, err := Archive("", statsbomb.Filter{Competition: 11, From: from}, sim)
	if err != nil || what != "simulated matches" {
		t.Fatalf("got %q, %v", what, err)
	}
	for _, m := range archive.Matches() {
		if m.Date < from {
			t.Errorf("match %d is of %s, before %s", m.ID, m.Date, from)
		}
	}
	if n := len(archive.Matches()); n < 15 || n >= 40 {
		t.Errorf("got %d matches of 40", n)
	}
	if _, _, err := Archive("", statsbomb.Filter{From: "2999-01-01"}, sim); err == nil || !strings.Contains(err.Error(), "no simulated match") {
		t.Errorf("got %v", err)
	}
}

// TestSeasonsToCome: dates beyond the first simulated season are those of the next ones, in which the same teams play.
func TestSeasonsToCome(t *testing.T) {
	const from = "2022-12-26"
	archive, _, err := Archive("", statsbomb.Filter{From: from}, simulate.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	first := simulate.New(simulate.Config{Seed: 1}).Matches()
	known := map[int]bool{}
	for _, m := range first {
		known[m.Home.ID] = true
	}
	if last := first[len(first)-1].Date; last >= from {
		t.Fatalf("the first season ends on %s: the test says nothing", last)
	}
	if n := len(archive.Matches()); n < 100 {
		t.Errorf("got %d matches from %s on", n, from)
	}
	for _, m := range archive.Matches() {
		if m.Date < from || !known[m.Home.ID] {
			t.Errorf("got match %d of %s, %s at home", m.ID, m.Date, m.Home.Name)
		}
	}
}
