package kafka

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
	"cancha/stream/broker"
)

// fill writes records with the values "TOPIC FROM" to "TOPIC TO-1" under 16 keys.
func fill(t *testing.T, addr, topic string, partitions, from, to int) {
	t.Helper()
	p := producer(t, addr, topic, partitions)
	for i := from; i < to; i++ {
		if err := p.Send(t.Context(), fmt.Append(nil, i%16), fmt.Append(nil, topic, " ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// byTopic counts a recorder's records and requires each to be of the topic that its value names.
func byTopic(t *testing.T, h *recorder) func() map[string]int {
	var mu sync.Mutex
	counts := map[string]int{}
	h.onBatch = func(b stream.Batch) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range b.Records {
			if topic, _, _ := strings.Cut(string(r.Value), " "); topic != r.Topic || topic != b.Topic {
				t.Errorf("record %q came as one of topic %q in a batch of %q", r.Value, r.Topic, b.Topic)
			}
			counts[b.Topic]++
		}
	}
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(counts)
	}
}

// TestSeveralTopics: topics with the same partition numbers, by name and by pattern, alone and in a group.
func TestSeveralTopics(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	name := topicName(t)
	a, b, other := name+"-a", name+"-b", name+"-other"
	fill(t, addr, a, 2, 0, 500)
	fill(t, addr, b, 3, 0, 700)
	fill(t, addr, other, 1, 0, 50)
	both := map[string]int{a: 500, b: 700}
	for _, row := range []struct {
		name       string
		cfg        Config
		want       map[string]int
		partitions int
	}{
		{"names", Config{Topics: []string{b, a, b}}, both, 5},
		{"topic and names", Config{Topic: a, Topics: []string{b}}, both, 5},
		{"pattern", Config{Pattern: name + "-[ab]"}, both, 5},
		{"pattern of whole names", Config{Pattern: name + "-o|" + a}, map[string]int{a: 500}, 2},
		{"name and pattern", Config{Topic: other, Pattern: name + "-[ab]"}, map[string]int{a: 500, b: 700, other: 50}, 6},
		{"offsets", Config{Topics: []string{a, b}, OffsetsOf: map[string]map[int]int64{b: {0: 1 << 40}}}, nil, 5},
	} {
		for _, group := range []string{"", "group"} {
			t.Run(row.name+" "+group, func(t *testing.T) {
				h := &recorder{}
				counts := byTopic(t, h)
				cfg := row.cfg
				cfg.Brokers, cfg.Until = []string{addr}, closed()
				if group != "" {
					cfg.Group = topicName(t)
				}
				err := begin(t, cfg, h).wait(t)
				if row.want == nil {
					if err == nil || !strings.Contains(err.Error(), "partition 0 of topic "+b+" ends at offset") {
						t.Errorf("got %v, want an error that names the partition and its topic", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				h.check(t, -1)
				if got := counts(); !maps.Equal(got, row.want) {
					t.Errorf("got %v, want %v", got, row.want)
				}
				if got := h.assigned[0]; len(got) != row.partitions || !slices.IsSortedFunc(got, byName) {
					t.Errorf("got partitions %v, want %d by topic and number", got, row.partitions)
				}
				lags, err := Lag(t.Context(), cfg)
				if err != nil || len(lags) != row.partitions {
					t.Errorf("got lags %+v, %v, want %d", lags, err, row.partitions)
				}
				for _, l := range lags {
					if group != "" && (l.Lag != 0 || l.Committed < 0 || l.Topic == "") {
						t.Errorf("after reading everything: got %+v, want no lag", l)
					}
				}
			})
		}
	}
}

func byName(a, b stream.Partition) int {
	return strings.Compare(fmt.Sprintf("%s %3d", a.Topic, a.ID), fmt.Sprintf("%s %3d", b.Topic, b.ID))
}

// TestNewTopicsOfAPattern: topics that are made while a source runs are read from their first record on, none twice.
func TestNewTopicsOfAPattern(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	for _, group := range []string{"", "group"} {
		t.Run("group "+group, func(t *testing.T) {
			name := topicName(t)
			cfg := Config{Brokers: []string{addr}, Pattern: name + "-.*"}
			if group != "" {
				cfg.Group = name
			}
			h := &recorder{}
			counts := byTopic(t, h)
			r := begin(t, cfg, h)
			eventually(t, "a report that no topic matches", func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				return len(h.retries) > 0 && strings.Contains(h.retries[0].Error(), "no topic matches")
			})
			want := map[string]int{}
			for i := range 3 {
				topic := fmt.Sprintf("%s-%d", name, i)
				fill(t, addr, topic, 2, 0, 300)
				want[topic] = 300
				if i > 0 {
					fill(t, addr, name+"-0", 2, 300*i, 300*(i+1))
					want[name+"-0"] += 300
				}
				eventually(t, fmt.Sprint("records of ", i+1, " topics"), func() bool { return maps.Equal(counts(), want) })
			}
			r.stop(t)
			h.check(t, 300*5)
		})
	}
}

// TestGroupSharesTopics: two members of a group share the partitions of two topics.
func TestGroupSharesTopics(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	name := topicName(t)
	cfg := Config{Brokers: []string{addr}, Topics: []string{name + "-a", name + "-b"}, Group: name}
	for _, topic := range cfg.Topics {
		fill(t, addr, topic, 2, 0, 100)
	}
	first, second := &recorder{}, &recorder{}
	a, b := begin(t, cfg, first), begin(t, cfg, second)
	eventually(t, "two partitions each", func() bool { return first.has(2) && second.has(2) })
	for _, topic := range cfg.Topics {
		fill(t, addr, topic, 2, 100, 500)
	}
	eventually(t, "all records", func() bool { return first.count()+second.count() >= 1000 })
	a.stop(t)
	b.stop(t)
	first.check(t, -1)
	second.check(t, -1)
	for v := range first.values {
		if second.values[v] > 0 {
			t.Errorf("%s came to both members", v)
		}
	}
}

// TestHeaders: records come with the headers that another client gave them, and a Producer gives them too.
func TestHeaders(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	p := producer(t, addr, topic, 1)
	sent := []stream.Header{{Key: "source", Value: []byte("camera 3")}, {Key: "source", Value: []byte{0xff, 0}}, {Key: "", Value: nil}}
	if err := p.SendRecord(t.Context(), stream.Record{Key: []byte("k"), Value: []byte("ours"), Headers: sent}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	theirs := &kgo.Record{Value: []byte("theirs"), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("42")}}}
	if err := client.ProduceSync(t.Context(), theirs, &kgo.Record{Value: []byte("none")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	h := &recorder{onBatch: func(b stream.Batch) {
		for _, r := range b.Records {
			got[string(r.Value)] = fmt.Sprintf("%q", r.Headers)
		}
	}}
	if err := begin(t, Config{Brokers: []string{addr}, Topic: topic, Until: closed()}, h).wait(t); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"ours": `[{"source" "camera 3"} {"source" "\xff\x00"} {"" ""}]`, "theirs": `[{"trace" "42"}]`, "none": "[]"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
