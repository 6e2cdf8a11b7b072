package broker

import (
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker with a directory makes the topics that clients ask for here and not by kfake's own option, which a broker in
// memory uses: kfake forgets to write topics that it makes unasked to its directory, so that after kill -9 all their records
// are gone. As with an Apache Kafka, the request that asks is answered "unknown topic" and the client's next try finds it.

// wants looks at a metadata request on its way into the cluster. It runs on the cluster's goroutine, so it only passes
// names on; when there is no room, the client's next try brings them again.
func (b *Broker) wants(req kmsg.Request) bool {
	m, ok := req.(*kmsg.MetadataRequest)
	if !ok || !m.AllowAutoTopicCreation {
		return false
	}
	for _, t := range m.Topics {
		if t.Topic == nil {
			continue
		}
		select {
		case b.wanted <- *t.Topic:
		default:
		}
	}
	return false // no fault: the request goes on
}

// makeTopics makes the topics that clients want until the broker stops.
func (b *Broker) makeTopics() {
	watch := b.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Count: -1, When: b.wants, Observe: true})
	defer watch.Remove()
	for {
		select {
		case <-b.stop:
			return
		case name := <-b.wanted:
			if b.cluster.TopicInfo(name) == nil {
				b.faults.makeTopic(b.cluster, name)
			}
		}
	}
}
