package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
)

// remake deletes a topic, if it is there, and makes it anew.
func remake(t *testing.T, addr, topic string, partitions int) {
	t.Helper()
	cfg := TopicConfig{Brokers: []string{addr}, Topic: topic, Partitions: partitions}
	if err := DeleteTopic(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	n, err := CreateTopic(t.Context(), cfg)
	if err != nil || n != partitions {
		t.Fatalf("%d partitions, %v, want %d", n, err, partitions)
	}
}

// say writes values to the first partition.
func say(t *testing.T, addr, topic string, values ...string) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, v := range values {
		if err := c.ProduceSync(t.Context(), &kgo.Record{Value: fmt.Appendf(nil, `{"v":%q}`, v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func numbered(word string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(word, i))
	}
	return all
}

// heard is a query over a topic that is followed, whose values it gives.
func heard(t *testing.T, cfg Config, place checkpoint.Place) *stream.Running {
	t.Helper()
	q := stream.From(Source(cfg)).Select("v")
	if place != nil {
		q = q.Checkpoint(place).Epoch(20 * time.Millisecond)
	}
	r, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Stop(context.Background()) })
	return r
}

func valuesIn(r *stream.Running) (all []string) {
	rows := r.Results()
	for i := range rows.Len() {
		all = append(all, rows.At(i, 0).Text())
	}
	slices.Sort(all)
	return all
}

// older is a broker that fetches by names alone, as those before Kafka 3.1 do.
func older(t *testing.T) string {
	t.Helper()
	versions := kversion.V2_8_0()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(versions))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
}

// TestRecreatedWhileRead: a topic that is deleted and made anew under a query that reads it ends the query with an error that has both IDs, or is read from its
// beginning with a note: alone, in a group, with a checkpoint and without, on a broker that fetches by IDs and on one that does not.
func TestRecreatedWhileRead(t *testing.T) {
	t.Parallel()
	brokers := map[string]func() string{
		"by ids":   sync.OnceValue(func() string { return startBroker(t, broker.Config{}) }),
		"by names": func() string { return older(t) },
	}
	for name, addr := range brokers {
		for _, group := range []bool{false, true} {
			for _, kept := range []bool{false, true} {
				for _, anew := range []Recreation{FailOnRecreation, ReadRecreated} {
					t.Run(fmt.Sprintf("%s group %v checkpoint %v recreated %d", name, group, kept, anew), func(t *testing.T) {
						at, topic := addr(), topicName(t)
						remake(t, at, topic, 2)
						say(t, at, topic, numbered("old", 10)...)
						cfg := Config{Brokers: []string{at}, Topic: topic, Recreated: anew}
						if group {
							cfg.Group = topic
						}
						var place checkpoint.Place
						if kept {
							place = checkpoint.Folder(t.TempDir())
						}
						r := heard(t, cfg, place)
						eventually(t, "the old records", func() bool { return r.Results().Len() == 10 })
						remake(t, at, topic, 2)
						say(t, at, topic, numbered("new", 13)...)
						if anew == FailOnRecreation {
							err := r.Wait(t.Context())
							if err == nil || !strings.Contains(err.Error(), "made anew since it was read: it was ") || !strings.Contains(err.Error(), "kafka.ReadRecreated") {
								t.Errorf("it ends with %v", err)
							}
							return
						}
						eventually(t, "the new records", func() bool { return r.Results().Len() >= 23 || !r.Active() })
						want := append(numbered("old", 10), numbered("new", 13)...)
						slices.Sort(want)
						if got := valuesIn(r); !slices.Equal(got, want) {
							t.Errorf("got %q, want %q", got, want)
						}
						if notes := strings.Join(r.Notes(), " "); !strings.Contains(notes, "has been deleted and made anew: it was ") {
							t.Errorf("it says %q", notes)
						}
					})
				}
			}
		}
	}
}

// TestRecreatedSince: a topic that was made anew while no query ran is found out by the checkpoint of the next one: it is refused, or read from its beginning. A group
// without a checkpoint knows nothing of the old one, whose offsets the brokers have forgotten with it.
func TestRecreatedSince(t *testing.T) {
	t.Parallel()
	at := startBroker(t, broker.Config{})
	for _, c := range []struct {
		group, kept bool
		recreated   Recreation
		refused     bool
	}{
		{false, true, FailOnRecreation, true},
		{false, true, ReadRecreated, false},
		{true, true, FailOnRecreation, true},
		{true, true, ReadRecreated, false},
		{true, false, FailOnRecreation, false},
		{true, false, ReadRecreated, false},
	} {
		t.Run(fmt.Sprintf("group %v checkpoint %v recreated %d", c.group, c.kept, c.recreated), func(t *testing.T) {
			topic := topicName(t)
			remake(t, at, topic, 1)
			say(t, at, topic, numbered("old", 10)...)
			cfg := Config{Brokers: []string{at}, Topic: topic, Recreated: c.recreated}
			if c.group {
				cfg.Group = topic
			}
			var place checkpoint.Place
			if c.kept {
				place = checkpoint.Folder(t.TempDir())
			}
			first := heard(t, cfg, place)
			eventually(t, "the old records", func() bool { return first.Results().Len() == 10 })
			if err := first.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			remake(t, at, topic, 1)
			say(t, at, topic, numbered("new", 13)...)
			r := heard(t, cfg, place)
			if c.refused {
				if err := r.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "made anew since") {
					t.Errorf("it ends with %v", err)
				}
				return
			}
			eventually(t, "the new records", func() bool { return slices.Contains(valuesIn(r), "new12") || !r.Active() })
			want := numbered("new", 13)
			if c.kept {
				want = append(want, numbered("old", 10)...)
			}
			slices.Sort(want)
			if got := valuesIn(r); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if notes := strings.Join(r.Notes(), " "); c.kept && !strings.Contains(notes, "has been deleted and made anew: it was ") {
				t.Errorf("it says %q", notes)
			}
		})
	}
}

// TestRecreatedWithOtherPartitions: a topic that is made anew may have more partitions or fewer.
func TestRecreatedWithOtherPartitions(t *testing.T) {
	t.Parallel()
	at := startBroker(t, broker.Config{})
	for _, partitions := range []int{1, 3} {
		for _, group := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d group %v", partitions, group), func(t *testing.T) {
				topic := topicName(t)
				remake(t, at, topic, 2)
				say(t, at, topic, numbered("old", 10)...)
				cfg := Config{Brokers: []string{at}, Topic: topic, Recreated: ReadRecreated}
				if group {
					cfg.Group = topic
				}
				r := heard(t, cfg, checkpoint.Folder(t.TempDir()))
				eventually(t, "the old records", func() bool { return r.Results().Len() == 10 })
				remake(t, at, topic, partitions)
				produce(t, at, topic, partitions, 0, 30)
				say(t, at, topic, numbered("new", 13)...)
				want := append(numbered("old", 10), numbered("new", 13)...)
				slices.Sort(want)
				eventually(t, "the new records", func() bool { return slices.Equal(valuesIn(r), want) || !r.Active() })
				eventually(t, "all partitions", func() bool { return r.Totals().Records == 10+30+13 || !r.Active() })
				if got := r.Totals().Records; got != 53 || !r.Active() {
					t.Errorf("%d records, want 53; status %s", got, r)
				}
			})
		}
	}
}

// TestRecreatedSmaller: a topic that is made anew with fewer partitions, in a group. What was open in those that are not there any more nobody gives out, and a
// note says so, in a process that runs on and in one that is started since.
func TestRecreatedSmaller(t *testing.T) {
	t.Parallel()
	at := startBroker(t, broker.Config{})
	for _, c := range []struct{ kept, since bool }{{false, false}, {true, false}, {true, true}} {
		t.Run(fmt.Sprintf("checkpoint %v since %v", c.kept, c.since), func(t *testing.T) {
			t.Parallel()
			topic, dir := topicName(t), t.TempDir()
			moves(t, at, topic, 2000)
			begin := func() *stream.Running {
				q := windows(Config{Brokers: []string{at}, Topic: topic, Group: topic, Recreated: ReadRecreated})
				if c.kept {
					q = q.Checkpoint(checkpoint.Folder(dir)).Epoch(20 * time.Millisecond)
				}
				r, err := q.Start(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { r.Stop(context.Background()) })
				return r
			}
			r := begin()
			eventually(t, "the old records", func() bool { return r.Totals().Records == 2000 })
			if c.since {
				if err := r.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			remake(t, at, topic, 2)
			if c.since {
				r = begin()
			}
			want := "has 2 partitions since it was made anew, and had 4: what was open in the others, windows and other state, is not given out."
			eventually(t, want, func() bool { return strings.Contains(strings.Join(r.Notes(), " "), want) })
		})
	}
}

// TestWhatStaysOfARecreatedTopic: the note that a topic is read from its beginning says what its old records have left in a table.
func TestWhatStaysOfARecreatedTopic(t *testing.T) {
	at := startBroker(t, broker.Config{})
	in, table := topicName(t)+"in", topicName(t)+"table"
	remake(t, at, in, 1)
	remake(t, at, table, 1)
	say(t, at, table, "x")
	known := stream.From(Source(Config{Brokers: []string{at}, Topic: table, Recreated: ReadRecreated})).Select("v")
	r, err := stream.From(Source(Config{Brokers: []string{at}, Topic: in})).Select("v").Lookup(stream.Latest("known", known, "v"), stream.Same("v")).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop(context.Background())
	say(t, at, in, "x")
	eventually(t, "a row", func() bool { return r.Results().Len() == 1 })
	remake(t, at, table, 1)
	eventually(t, "the note", func() bool {
		notes := strings.Join(r.Notes(), " ")
		return strings.Contains(notes, "has been deleted and made anew") && strings.Contains(notes, `put into the table "known" stay`)
	})
}
