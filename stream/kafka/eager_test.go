package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream/broker"
)

// TestGroupOfAnEagerConsumer: a group whose members divide partitions in another way is not joined, and the error says what to do about it.
func TestGroupOfAnEagerConsumer(t *testing.T) {
	t.Parallel()
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	if _, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{addr}, Topic: topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	for _, eager := range []kgo.GroupBalancer{kgo.RangeBalancer(), kgo.RoundRobinBalancer(), kgo.StickyBalancer()} {
		group, joined := topic+eager.ProtocolName(), make(chan struct{})
		client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(eager),
			kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { close(joined) }))
		if err != nil {
			t.Fatal(err)
		}
		<-joined
		err = begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: group}, &recorder{}).wait(t)
		client.Close()
		if !errors.Is(err, kafka.InconsistentGroupProtocol) {
			t.Errorf("%s: got %v, want %v", eager.ProtocolName(), err, kafka.InconsistentGroupProtocol)
			continue
		}
		for _, want := range []string{"group " + group + " has members", "CooperativeStickyAssignor", "another Config.Group"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", eager.ProtocolName(), err, want)
			}
		}
	}
}
