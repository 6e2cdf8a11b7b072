package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// TestTooMuch asks for what is well formed and more than a broker has.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	c := client(t, b.Addr())
	for _, n := range []int32{maxTopicPartitions, maxTopicPartitions + 1, 1<<31 - 1} {
		req := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "many", n, 1
		req.Topics = append(req.Topics, topic)
		res, err := req.RequestWith(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var want error
		if n > maxTopicPartitions {
			want = kerr.PolicyViolation
		}
		if got := kerr.ErrorForCode(res.Topics[0].ErrorCode); !errors.Is(got, want) {
			t.Errorf("%d partitions: got %v, want %v", n, got, want)
		}
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = "many", 1<<31-1
	req.Topics = append(req.Topics, topic)
	if res, err := req.RequestWith(t.Context(), c); err != nil || res.Topics[0].ErrorCode != kerr.PolicyViolation.Code {
		t.Errorf("more partitions: %+v, %v", res, err)
	}
}

// TestTooManyGroups: those that are there go on, and no more come.
func TestTooManyGroups(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	for i := range maxGroups - 1 {
		b.policy.groups[fmt.Sprint("group ", i)] = true // before the first request, on nobody's goroutine
	}
	b.policy.producers = maxProducers - 1
	c := client(t, b.Addr(), kgo.MaxVersions(kversion.V3_0_0())) // in which commits name their topics
	for i, want := range []*kerr.Error{kerr.MemberIDRequired, kerr.PolicyViolation} {
		join := kmsg.NewPtrJoinGroupRequest()
		join.Group, join.ProtocolType, join.SessionTimeoutMillis = fmt.Sprint("another ", i), "consumer", 10_000
		protocol := kmsg.NewJoinGroupRequestProtocol()
		protocol.Name = "range"
		join.Protocols = append(join.Protocols, protocol)
		if res, err := join.RequestWith(t.Context(), c); err != nil || res.ErrorCode != want.Code {
			t.Errorf("group %d of %d: %+v, %v, want %v", maxGroups+i, maxGroups, res, err, want)
		}
		commit := kmsg.NewPtrOffsetCommitRequest()
		commit.Group = fmt.Sprint("another ", i)
		topic, partition := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
		topic.Topic, topic.Partitions = "t", append(topic.Partitions, partition)
		commit.Topics = append(commit.Topics, topic)
		res, err := commit.RequestWith(t.Context(), c)
		if refused := err == nil && res.Topics[0].Partitions[0].ErrorCode == kerr.PolicyViolation.Code; err != nil || refused != (i == 1) {
			t.Errorf("commits of group %d: %+v, %v", maxGroups+i, res, err)
		}
		producer := kmsg.NewPtrInitProducerIDRequest()
		if res, err := producer.RequestWith(t.Context(), c); err != nil || (res.ErrorCode == kerr.PolicyViolation.Code) != (i == 1) {
			t.Errorf("producer %d of %d: %+v, %v", maxProducers+i, maxProducers, res, err)
		}
	}
}

func TestPolicyCountsWhatThereIs(t *testing.T) {
	p := &policy{made: map[string]int{}}
	for i := range maxPartitions / maxTopicPartitions {
		if !p.allows(map[string]int{string(rune('a' + i)): maxTopicPartitions}) {
			t.Fatalf("topic %d of %d is refused", i, maxPartitions/maxTopicPartitions)
		}
	}
	if p.allows(map[string]int{"z": 1}) || !p.allows(map[string]int{"a": 5}) {
		t.Error("a topic too many is allowed, or one that is there is refused")
	}
	b := start(t, Config{})
	p.recount(b.cluster) // has none of them
	if !p.allows(map[string]int{"z": 1}) || p.sum != 1 {
		t.Errorf("%d partitions are counted of topics that are gone", p.sum-1)
	}
}

// TestBatchesThatLie changes the number of records in a batch that is right otherwise.
func TestBatchesThatLie(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Partitions: 1})
	c := client(t, b.Addr(), kgo.MaxVersions(kversion.V3_0_0())) // in which a Produce names its topics
	if err := c.ProduceSync(t.Context(), kgo.StringRecord("true")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int32{0, -5, 1 << 30} {
		req := kmsg.NewPtrProduceRequest()
		part, topic := kmsg.NewProduceRequestTopicPartition(), kmsg.NewProduceRequestTopic()
		batch := kmsg.RecordBatch{Length: 49 + 8, Magic: 2, LastOffsetDelta: n - 1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: n, Records: make([]byte, 8)}
		raw := batch.AppendTo(nil)
		binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
		part.Records, topic.Topic = raw, "t"
		topic.Partitions = append(topic.Partitions, part)
		req.Acks, req.Topics = -1, append(req.Topics, topic)
		res, err := req.RequestWith(t.Context(), c)
		if err != nil || res.Topics[0].Partitions[0].ErrorCode != kerr.CorruptMessage.Code {
			t.Errorf("%d records: %+v, %v; want CORRUPT_MESSAGE", n, res.Topics, err)
		}
	}
}

// TestImpossibleNames of topics are refused as Apache Kafka refuses them, and nothing is made of them.
func TestImpossibleNames(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	c := client(t, b.Addr())
	for name, want := range map[string]*kerr.Error{
		"orders": nil, "a.B_c-9": nil, strings.Repeat("n", 249): nil, strings.Repeat("n", 250): kerr.InvalidTopicException,
		"": kerr.InvalidTopicException, ".": kerr.InvalidTopicException, "..": kerr.InvalidTopicException, "my orders": kerr.InvalidTopicException,
		"a/b": kerr.InvalidTopicException, "bestellungen-köln": kerr.InvalidTopicException,
	} {
		req := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
		req.Topics = append(req.Topics, topic)
		res, err := req.RequestWith(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if got := kerr.TypedErrorForCode(res.Topics[0].ErrorCode); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
		unasked := kmsg.NewPtrMetadataRequest()
		asked := kmsg.NewMetadataRequestTopic()
		asked.Topic = &name
		unasked.Topics, unasked.AllowAutoTopicCreation = append(unasked.Topics, asked), true
		metadata, err := unasked.RequestWith(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if made := metadata.Topics[0].ErrorCode == 0; made != (want == nil) {
			t.Errorf("%q: the topic is there: %t", name, made)
		}
	}
}

// TestImpossibleNamesAmongOthers: those that can be made are made.
func TestImpossibleNamesAmongOthers(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	c := client(t, b.Addr())
	req := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range []string{"my orders", "one", "a/b", "c d", "two"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
		req.Topics = append(req.Topics, topic)
	}
	for turn, want := range []*kerr.Error{nil, kerr.TopicAlreadyExists} {
		res, err := req.RequestWith(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range res.Topics {
			want := want
			if !isTopic(topic.Topic) {
				want = kerr.InvalidTopicException
			}
			if got := kerr.TypedErrorForCode(topic.ErrorCode); got != want {
				t.Errorf("turn %d, %q: got %v, want %v", turn, topic.Topic, got, want)
			}
		}
	}
}
