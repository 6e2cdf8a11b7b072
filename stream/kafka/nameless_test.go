package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"cancha/stream"
)

// TestTopicsWithoutIDs are read: of brokers that know none, although another address of Brokers does not answer, and of newer ones whose cluster is still of a
// version that had none.
func TestTopicsWithoutIDs(t *testing.T) {
	t.Parallel()
	for name, versions := range map[string]*kversion.Versions{"older brokers": kversion.V2_7_0(), "an older cluster of newer brokers": kversion.V3_0_0()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := topicName(t)
			c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(versions), kfake.SeedTopics(1, topic))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				ask := req.(*kmsg.MetadataRequest)
				if ask.Version != leastIdentified || len(ask.Topics) != 1 {
					return nil, nil, false // of another client
				}
				answer := ask.ResponseKind().(*kmsg.MetadataResponse)
				is := kmsg.NewMetadataResponseTopic()
				is.Topic = ask.Topics[0].Topic
				answer.Topics = append(answer.Topics, is)
				return answer, nil, true
			})
			of := &cluster{brokers: []string{c.ListenAddrs()[0], "127.0.0.1:1"}, topics: []string{topic}}
			defer of.conns.closeAll()
			if _, id, err := of.lookup(t.Context(), stream.Partition{Topic: topic}); err != nil || id != (topicID{}) {
				t.Errorf("got %v, %v, want no ID and no error", id, err)
			}
		})
	}
}
