package kafka

import (
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
)

// TestAQueryThatWouldFeedItself is refused where a broker of both has one name, unless it is meant.
func TestAQueryThatWouldFeedItself(t *testing.T) {
	addr := func(all ...string) []string { return all }
	for _, test := range []struct {
		name   string
		source Config
		sink   SinkConfig
		hears  bool
	}{
		{"one topic", Config{Brokers: addr("a:1"), Topic: "t"}, SinkConfig{Brokers: addr("a:1"), Topic: "t"}, true},
		{"one of the brokers", Config{Brokers: addr("a:1", "b:1"), Topic: "t"}, SinkConfig{Brokers: addr("B:1", "c:1"), Topic: "t"}, true},
		{"names of this machine", Config{Brokers: addr("localhost:9092"), Topic: "t"}, SinkConfig{Brokers: addr("127.0.0.1:9092"), Topic: "t"}, true},
		{"one of several", Config{Brokers: addr("a:1"), Topics: addr("s", "t")}, SinkConfig{Brokers: addr("a:1"), Topic: "t"}, true},
		{"a pattern", Config{Brokers: addr("a:1"), Pattern: "or.*"}, SinkConfig{Brokers: addr("a:1"), Topic: "orders"}, true},
		{"another topic", Config{Brokers: addr("a:1"), Topic: "t"}, SinkConfig{Brokers: addr("a:1"), Topic: "u"}, false},
		{"another cluster", Config{Brokers: addr("a:1"), Topic: "t"}, SinkConfig{Brokers: addr("b:1"), Topic: "t"}, false},
		{"another port", Config{Brokers: addr("localhost:1"), Topic: "t"}, SinkConfig{Brokers: addr("localhost:2"), Topic: "t"}, false},
		{"no whole name", Config{Brokers: addr("a:1"), Pattern: "or"}, SinkConfig{Brokers: addr("a:1"), Topic: "orders"}, false},
		{"meant", Config{Brokers: addr("a:1"), Topic: "t", Feedback: true}, SinkConfig{Brokers: addr("a:1"), Topic: "t"}, false},
	} {
		if got := Source(test.source).(stream.Hearer).Hears(Sink(test.sink)); got != test.hears {
			t.Errorf("%s: got %v, want %v", test.name, got, test.hears)
		}
	}
	b := startBroker(t, broker.Config{})
	out := Sink(SinkConfig{Brokers: []string{b}, Topic: "orders"})
	q := stream.From(Source(Config{Brokers: []string{b}, Topic: "orders"})).Select("id")
	for name, each := range map[string]*stream.Query{
		"a sink": q.To(out), "dead letters": q.DeadLetters(out),
		"a table": stream.From(stream.Memory("m", [][]stream.Record{nil})).Select("id").Lookup(stream.Latest("t", q, "id"), stream.Same("id")).To(out),
	} {
		running, err := each.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "would feed itself") || !strings.Contains(err.Error(), "kafka.Config.Feedback") {
			t.Errorf("%s: got %v, want that it would feed itself, and what to set", name, err)
		}
		if err == nil {
			running.Stop(t.Context())
		}
	}
}

// takes makes a topic that takes batches of so many bytes.
func takes(t *testing.T, addr, topic string, most int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	limit := kmsg.NewCreateTopicsRequestTopicConfig()
	limit.Name, limit.Value = "max.message.bytes", kmsg.StringPtr(strconv.Itoa(most))
	of := kmsg.NewCreateTopicsRequestTopic()
	of.Topic, of.NumPartitions, of.ReplicationFactor, of.Configs = topic, 1, 1, []kmsg.CreateTopicsRequestTopicConfig{limit}
	ask := kmsg.NewPtrCreateTopicsRequest()
	ask.Topics, ask.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{of}, 5000
	answer, err := ask.RequestWith(t.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(answer.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLargeRows: what brokers take unless set is written unless set, more where both are set, and the error of what is not names both.
func TestLargeRows(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	for _, exact := range []bool{false, true} {
		for _, test := range []struct {
			bytes, most int
			want        string
		}{{1_048_000, 0, ""}, {1_100_000, 0, "BatchBytes, 1048588"}, {1_100_000, 2 << 20, ""}} {
			topic := topicName(t)
			takes(t, addr, topic, max(test.most, 1_048_588))
			row := stream.Record{Value: []byte(`{"text":"` + strings.Repeat("x", test.bytes-len(`{"text":""}`)) + `"}`)}
			q := stream.From(stream.Memory("m", [][]stream.Record{{row}})).Select("text").
				To(Sink(SinkConfig{Brokers: []string{addr}, Topic: topic, Partitions: 1, BatchBytes: test.most}))
			if exact {
				q = q.Checkpoint(checkpoint.Folder(t.TempDir()))
			}
			running, err := q.Start(t.Context())
			if err == nil {
				err = running.Wait(t.Context())
			}
			switch {
			case test.want == "" && err != nil:
				t.Errorf("a row of %d bytes, batches of %d: %v", test.bytes, test.most, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || strings.Count(err.Error(), "max.message.bytes") != 1):
				t.Errorf("a row of %d bytes: got %.300v, want an error with %s, said once", test.bytes, err, test.want)
			}
		}
	}
}
