package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
	"cancha/stream/broker"
)

// TestSourceOfWhatIsThere ends with what its topic holds: as a source, with a group and without, as a table's, and as one side of a join.
func TestSourceOfWhatIsThere(t *testing.T) {
	t.Parallel()
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	if _, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{addr}, Topic: topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, r := range []kgo.Record{{Key: []byte("a"), Value: []byte(`{"n":1}`)}, {Key: []byte("b"), Value: []byte(`{"n":2}`)}, {Key: []byte("a")}} {
		if err := client.ProduceSync(t.Context(), &r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	source := func(group string) stream.Source {
		return Source(Config{Brokers: []string{addr}, Topic: topic, Group: group, AvailableNow: true})
	}
	rows := func(s stream.Source) *stream.Query {
		return stream.From(s).With("id", stream.Field("@key")).Select("id")
	}
	table := stream.Latest("now", stream.From(source("")).With("id", stream.Field("@key")).Select("id", "n"), "id")
	for _, row := range []struct {
		name  string
		query *stream.Query
		want  string
	}{
		{"alone", rows(source("")), "id\na\na\nb\n"},
		{"in a group", rows(source(topic)), "id\na\na\nb\n"},
		{"beside a table", rows(source("")).LeftLookup(table, stream.Same("id")), "id,n\na,\na,\nb,2\n"},
		{"united", rows(source("")).Union(rows(source(""))), "id\na\na\na\na\nb\nb\n"},
	} {
		running, err := row.query.Start(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if err := running.Wait(t.Context()); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		var got strings.Builder
		if err := running.Results().WriteCSV(&got); err != nil {
			t.Fatal(err)
		}
		if got.String() != row.want {
			t.Errorf("%s: got %q, want %q: %+v", row.name, got.String(), row.want, running.BadRecords().Reasons)
		}
	}
	err = Source(Config{Brokers: []string{addr}, Topic: topic, AvailableNow: true, Until: closed()}).Run(t.Context(), &recorder{})
	if want := "both AvailableNow and Until"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("both set: got %v, want %q", err, want)
	}
}
