package kafka

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
)

// committedIn waits until readers of what is committed find so many records in a topic.
func committedIn(t *testing.T, addr, topic string, want int) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for n := 0; n < want; {
		fetches := c.PollFetches(t.Context())
		if t.Context().Err() != nil {
			t.Fatalf("%d records, want %d", n, want)
		}
		n += fetches.NumRecords()
	}
}

// TestSinkRemade: a query does not go on with a topic that has lost what it had written there, since it was deleted or is another one.
func TestSinkRemade(t *testing.T) {
	for _, test := range []struct {
		name             string
		running, deleted bool
		rows             int // that were written before
		want             string
	}{
		{"made anew while stopped", false, false, 10, "made anew since the checkpoint was taken"},
		{"deleted while stopped", false, true, 10, "has been deleted (it was "},
		{"made anew while running", true, false, 10, "made anew while the query wrote it"},
		{"deleted while running", true, true, 10, "has been deleted"},
		{"made anew, and nothing was written", false, false, 0, ""},
		{"deleted, and nothing was written", false, true, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := startBroker(t, broker.Config{})
			in, out := topicName(t)+"in", topicName(t)+"out"
			remake(t, at, in, 1)
			remake(t, at, out, 1)
			query := stream.From(Source(Config{Brokers: []string{at}, Topic: in})).Select("v").Checkpoint(checkpoint.Folder(t.TempDir())).
				Epoch(20 * time.Millisecond).To(Sink(SinkConfig{Brokers: []string{at}, Topic: out}))
			start := func() (*stream.Running, error) {
				r, err := query.Start(t.Context())
				if err == nil {
					t.Cleanup(func() { r.Stop(context.Background()) })
				}
				return r, err
			}
			r, err := start()
			if err != nil {
				t.Fatal(err)
			}
			say(t, at, in, numbered("a", test.rows)...)
			committedIn(t, at, out, test.rows)
			if !test.running {
				if err := r.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if test.deleted {
				err = DeleteTopic(t.Context(), TopicConfig{Brokers: []string{at}, Topic: out})
			} else {
				remake(t, at, out, 1)
			}
			if err != nil {
				t.Fatal(err)
			}
			if !test.running {
				r, err = start()
			}
			if err == nil {
				say(t, at, in, numbered("b", 5)...)
			}
			switch {
			case test.want == "" && err == nil:
				committedIn(t, at, out, 5)
				return
			case err == nil:
				err = r.Wait(t.Context())
			}
			if test.want == "" || err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), elsewhere) {
				t.Fatalf("got %v, want an error with %q and what to do, or none", err, test.want)
			}
			if _, err := start(); err == nil || !strings.Contains(err.Error(), elsewhere) {
				t.Errorf("the next start: got %v, want it refused", err)
			}
		})
	}
}
