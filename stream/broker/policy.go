package broker

import (
	"encoding/binary"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What one request may ask for. kfake makes two billion partitions where a request says so, and holds a fetch for 24 days.
const (
	maxTopicPartitions = 1_000
	maxPartitions      = 20_000 // of all topics that were made since the start
	maxWait            = 5 * time.Minute
	maxAnswers         = 256 << 20 // bytes of records in the answers to all connections together
	minAnswer          = 1 << 20
	maxGroups          = 10_000  // names of consumer groups since the start; each has a goroutine of kfake's
	maxProducers       = 200_000 // ids given to idempotent and transactional producers since the start
)

// policy is asked about each request before kfake handles it, on the cluster's goroutine; so it decides by what it knows and
// calls nobody.
type policy struct {
	defaultPartitions int
	peers             func() int // connections that are open

	last    kmsg.Request // what refuses was asked last, and its answer
	refused bool
	named   kmsg.Request // what misnamed was asked last, and which of its topics are next
	next    []kmsg.CreateTopicsRequestTopic

	producers int
	groups    map[string]bool

	mu   sync.Mutex
	made map[string]int // partitions of the topics that were asked for and allowed
	sum  int
}

// faults are what a cluster is given to obey p.
func (p *policy) faults() []kfake.Fault {
	rule := func(f kfake.Fault, keys ...kmsg.Key) kfake.Fault {
		f.Keys, f.Count = keys, -1
		return f
	}
	return []kfake.Fault{
		rule(kfake.Fault{Err: kerr.InvalidTopicException, When: p.misnamed}, kmsg.CreateTopics),
		rule(kfake.Fault{Err: kerr.PolicyViolation, When: p.refuses}, kmsg.CreateTopics, kmsg.CreatePartitions),
		rule(kfake.Fault{Err: kerr.PolicyViolation, TopLevel: true, When: p.refusesGroup}, kmsg.JoinGroup, kmsg.ConsumerGroupHeartbeat),
		rule(kfake.Fault{Err: kerr.PolicyViolation, When: p.refusesGroup}, kmsg.OffsetCommit, kmsg.TxnOffsetCommit),
		rule(kfake.Fault{Err: kerr.PolicyViolation, TopLevel: true, When: p.refusesProducer}, kmsg.InitProducerID),
		// At the top level When is called once for a request, before its fields are read.
		rule(kfake.Fault{TopLevel: true, Observe: true, When: p.clampMetadata}, kmsg.Metadata),
		rule(kfake.Fault{TopLevel: true, Observe: true, When: p.clampFetch}, kmsg.Fetch),
		rule(kfake.Fault{TopLevel: true, Observe: true, When: p.clampProduce}, kmsg.Produce),
	}
}

// refuses is called for each topic of a request, with the whole request.
func (p *policy) refuses(req kmsg.Request) bool {
	if req != p.last {
		p.last, p.refused = req, !p.allows(p.wanted(req))
	}
	return p.refused
}

// topicNames is what Kafka takes as the name of a topic (org.apache.kafka.common.internals.Topic); . and .. are none.
var topicNames = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

func isTopic(name string) bool { return topicNames.MatchString(name) && name != "." && name != ".." }

// misnamed is called for each topic of a request, in their order.
func (p *policy) misnamed(req kmsg.Request) bool {
	if req != p.named {
		p.named, p.next = req, req.(*kmsg.CreateTopicsRequest).Topics
	}
	if len(p.next) == 0 {
		return false
	}
	name := p.next[0].Topic
	p.next = p.next[1:]
	return !isTopic(name)
}

// refusesGroup tells of a request that would make one group too many.
func (p *policy) refusesGroup(req kmsg.Request) bool {
	name := ""
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		name = r.Group
	case *kmsg.ConsumerGroupHeartbeatRequest:
		name = r.Group
	case *kmsg.OffsetCommitRequest:
		name = r.Group
	case *kmsg.TxnOffsetCommitRequest:
		name = r.Group
	}
	if p.groups[name] {
		return false
	}
	if len(p.groups) >= maxGroups {
		return true
	}
	p.groups[name] = true
	return false
}

// refusesProducer tells of a producer too many.
func (p *policy) refusesProducer(kmsg.Request) bool {
	p.producers++
	return p.producers > maxProducers
}

// wanted are the partitions that each topic shall have.
func (p *policy) wanted(req kmsg.Request) map[string]int {
	wanted := map[string]int{}
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		for _, t := range r.Topics {
			wanted[t.Topic] = max(int(t.NumPartitions), len(t.ReplicaAssignment))
			if wanted[t.Topic] <= 0 {
				wanted[t.Topic] = p.defaultPartitions
			}
		}
	case *kmsg.CreatePartitionsRequest:
		for _, t := range r.Topics {
			wanted[t.Topic] = int(t.Count)
		}
	}
	return wanted
}

// allows notes the partitions of topics, and tells whether there may be so many.
func (p *policy) allows(topics map[string]int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	more := 0
	for name, n := range topics {
		if n > maxTopicPartitions {
			return false
		}
		more += max(0, n-p.made[name])
	}
	if p.sum+more > maxPartitions {
		return false
	}
	for name, n := range topics {
		p.made[name] = max(p.made[name], n)
	}
	p.sum += more
	return true
}

// clampMetadata leaves a topic asked for twice out, so that an answer is no larger than the broker's topics, and makes no topic
// unasked where there are too many, or where one has an impossible name.
func (p *policy) clampMetadata(req kmsg.Request) bool {
	m := req.(*kmsg.MetadataRequest)
	type topic struct {
		name string
		id   [16]byte
	}
	seen, wanted, odd := map[topic]bool{}, map[string]int{}, false
	m.Topics = slices.DeleteFunc(m.Topics, func(t kmsg.MetadataRequestTopic) bool {
		k := topic{id: t.TopicID}
		if t.Topic != nil {
			k.name = *t.Topic
			wanted[k.name] = p.defaultPartitions
			odd = odd || !isTopic(k.name)
		}
		twice := seen[k]
		seen[k] = true
		return twice
	})
	m.AllowAutoTopicCreation = m.AllowAutoTopicCreation && !odd && p.allows(wanted)
	return false
}

// clampFetch divides the room for answers among those who may ask for one at the same time.
func (p *policy) clampFetch(req kmsg.Request) bool {
	f := req.(*kmsg.FetchRequest)
	f.MaxWaitMillis = min(f.MaxWaitMillis, int32(maxWait/time.Millisecond))
	f.MaxBytes = min(f.MaxBytes, int32(max(minAnswer, maxAnswers/max(1, p.peers()))))
	return false
}

// clampProduce gives the topics of a request that has only ids names of their own, until kfake looks for the right ones: it
// panics where two have none. And it empties a batch that claims to have no records, or more than its bytes can hold, which kfake
// then refuses as corrupt: it would count the log's offsets back, or two billion forward.
func (p *policy) clampProduce(req kmsg.Request) bool {
	r := req.(*kmsg.ProduceRequest)
	for i := range r.Topics {
		t := &r.Topics[i]
		if r.Version >= 13 {
			t.Topic = string(t.TopicID[:])
		}
		for j := range t.Partitions {
			if !plausible(t.Partitions[j].Records) {
				t.Partitions[j].Records = nil
			}
		}
	}
	return false
}

// plausible looks at the number of records of a batch, which is in the last four bytes of its head
// (https://kafka.apache.org/documentation/#recordbatch). A record has seven bytes at least; compressed, a thousand of them
// have one.
func plausible(batch []byte) bool {
	const attributesAt, recordsAt, headBytes, recordBytes, bestRatio = 21, 57, 61, 7, 1000
	if len(batch) < headBytes {
		return true // kfake refuses it
	}
	n := int64(int32(binary.BigEndian.Uint32(batch[recordsAt:])))
	most := int64(len(batch) - headBytes)
	if compressed := batch[attributesAt+1]&7 != 0; compressed {
		most *= bestRatio
	}
	return n > 0 && n <= most/recordBytes
}

// recount forgets topics that were deleted, or that the cluster refused.
func (p *policy) recount(c *kfake.Cluster) {
	p.mu.Lock()
	names := slices.Collect(maps.Keys(p.made))
	full := p.sum > maxPartitions/2
	p.mu.Unlock()
	for _, name := range names {
		if full && c.TopicInfo(name) == nil {
			p.mu.Lock()
			p.sum -= p.made[name]
			delete(p.made, name)
			p.mu.Unlock()
		}
	}
}
