package disk_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream/broker"
)

// session is a producer of transactions over both partitions of the topic t.
type session struct {
	t *testing.T
	*kgo.Client
}

func transacting(t *testing.T, addr string) session {
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.TransactionalID("id"), kgo.AllowAutoTopicCreation(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(20*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.UnknownTopicRetries(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return session{t, c}
}

// begin writes a record of this value into each partition, in a transaction that stays open.
func (s session) begin(value string) {
	s.t.Helper()
	if err := s.BeginTransaction(); err != nil {
		s.t.Fatal(err)
	}
	for p := range int32(2) {
		if err := s.ProduceSync(s.t.Context(), &kgo.Record{Topic: "t", Partition: p, Value: []byte(value)}).FirstErr(); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s session) end(how kgo.TransactionEndTry) {
	s.t.Helper()
	if err := s.EndTransaction(s.t.Context(), how); err != nil {
		s.t.Fatal(err)
	}
}

// leftOf is a copy of what a broker has written by now: what is left of it if it is killed.
func leftOf(t *testing.T, dir string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "left")
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return left
}

// committed are the values of both partitions that a reader of what is committed gets, up to "last" in each.
func committed(t *testing.T, addr string) (values []string) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(20*time.Millisecond),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for last := 0; last < 2; {
		f := c.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("the last rows are not there; %v are", values)
		}
		f.EachRecord(func(r *kgo.Record) {
			if values = append(values, fmt.Sprintf("%d %s", r.Partition, r.Value)); string(r.Value) == "last" {
				last++
			}
		})
	}
	slices.Sort(values)
	return values
}

// TestOpenTransaction kills a broker in a transaction: it is aborted, its producer can go on, and readers of what is committed get all that comes.
func TestOpenTransaction(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Start(broker.Config{Dir: dir, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	before := transacting(t, b.Addr())
	before.begin("first")
	before.end(kgo.TryCommit)
	before.begin("aborted")
	before.end(kgo.TryAbort)
	before.begin("open")
	for again := range 2 { // the second time it is killed in the transaction behind
		left := leftOf(t, dir)
		b, err := broker.Start(broker.Config{Dir: left})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		s := transacting(t, b.Addr())
		s.begin("next")
		if again == 0 {
			dir = left
			continue
		}
		s.end(kgo.TryCommit)
		s.begin("last")
		s.end(kgo.TryCommit)
		want := []string{"0 first", "0 last", "0 next", "1 first", "1 last", "1 next"}
		if got := committed(t, b.Addr()); !slices.Equal(got, want) {
			t.Errorf("committed are %q, want %q", got, want)
		}
	}
}

// TestHalfEnded kills a broker that has written the end of a transaction into one of two partitions: it is ended in the other one as there. The producer asks
// again, and is told so.
func TestHalfEnded(t *testing.T) {
	for _, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		dir := t.TempDir()
		b, err := broker.Start(broker.Config{Dir: dir, Partitions: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		s := transacting(t, b.Addr())
		s.begin("first")
		s.end(kgo.TryCommit)
		s.begin("half")
		sizes := sizesOf(t, dir, "pids.log", "partitions/t-1/0.dat", "partitions/t-1/0.idx")
		s.end(how)
		left := leftOf(t, dir)
		for file, size := range sizes {
			if err := os.Truncate(filepath.Join(left, file), size); err != nil {
				t.Fatal(err)
			}
		}
		after, err := broker.Start(broker.Config{Dir: left})
		if err != nil {
			t.Fatal(err)
		}
		defer after.Close()
		last := transacting(t, after.Addr())
		last.begin("last")
		last.end(kgo.TryCommit)
		want := []string{"0 first", "0 last", "1 first", "1 last"}
		if how == kgo.TryCommit {
			want = []string{"0 first", "0 half", "0 last", "1 first", "1 half", "1 last"}
		}
		if got := committed(t, after.Addr()); !slices.Equal(got, want) {
			t.Errorf("ended with %v: committed are %q, want %q", how, got, want)
		}
	}
}

func sizesOf(t *testing.T, dir string, files ...string) map[string]int64 {
	t.Helper()
	sizes := map[string]int64{}
	for _, file := range files {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		sizes[file] = info.Size()
	}
	return sizes
}

// TestFenced kills a broker in a transaction whose producer asks for its commit then: it must not be told that it is committed.
func TestFenced(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Start(broker.Config{Dir: dir, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := transacting(t, b.Addr())
	s.begin("first")
	s.end(kgo.TryCommit)
	s.begin("open")
	left := leftOf(t, dir)
	addr := b.Addr()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := broker.Start(broker.Config{Dir: left, Addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if err := s.EndTransaction(t.Context(), kgo.TryCommit); err == nil {
		t.Error("a transaction that a killed broker has lost is taken for committed")
	}
}

// TestHalfEndedAgain kills brokers that have written the end of a commit into one of two partitions, one after the other, while one producer goes on.
func TestHalfEndedAgain(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Start(broker.Config{Dir: dir, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	addr := b.Addr()
	s := transacting(t, addr)
	s.begin("first")
	s.end(kgo.TryCommit)
	for _, value := range []string{"half 1", "half 2", "half 3"} {
		s.begin(value)
		sizes := sizesOf(t, dir, "pids.log", "partitions/t-1/0.dat", "partitions/t-1/0.idx")
		s.end(kgo.TryCommit)
		left := leftOf(t, dir)
		for file, size := range sizes {
			if err := os.Truncate(filepath.Join(left, file), size); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		dir = left
		if b, err = broker.Start(broker.Config{Dir: dir, Addr: addr}); err != nil {
			t.Fatal(err)
		}
	}
	defer b.Close()
	s.begin("last")
	s.end(kgo.TryCommit)
	want := []string{"0 first", "0 half 1", "0 half 2", "0 half 3", "0 last", "1 first", "1 half 1", "1 half 2", "1 half 3", "1 last"}
	if got := committed(t, addr); !slices.Equal(got, want) {
		t.Errorf("committed are %q, want %q", got, want)
	}
}
