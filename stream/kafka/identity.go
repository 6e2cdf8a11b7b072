package kafka

import (
	"context"
	"encoding/hex"
	"errors"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metadata of this version and later has the IDs of topics: since Kafka 2.8.
const leastIdentified = 10

// ids are the IDs of topics, by name: a topic that is made anew under its old name has another one. Brokers that do not know any, or do not answer,
// give none: then nothing can be told apart, and nothing is refused.
func (c *cluster) ids(ctx context.Context, topics []string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for _, broker := range c.brokers {
		if ids, err := c.identify(ctx, broker, topics); err == nil {
			return ids
		}
	}
	return nil
}

// identify asks one broker for the IDs of topics.
func (c *cluster) identify(ctx context.Context, broker string, topics []string) (map[string]string, error) {
	conn, err := c.dial(ctx, "tcp", broker)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer untilDone(ctx, conn)()
	if err := identifies(conn); err != nil {
		return nil, err
	}
	ask := kmsg.NewPtrMetadataRequest()
	ask.Version = leastIdentified
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		ask.Topics = append(ask.Topics, t)
	}
	answer, err := exchange(conn, ask)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, t := range answer.(*kmsg.MetadataResponse).Topics {
		if t.Topic != nil && t.TopicID != [16]byte{} {
			ids[*t.Topic] = hex.EncodeToString(t.TopicID[:])
		}
	}
	return ids, nil
}

// identifies is a broker's error where it has no version of metadata with IDs.
func identifies(conn net.Conn) error {
	answer, err := exchange(conn, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return err
	}
	for _, k := range answer.(*kmsg.ApiVersionsResponse).ApiKeys {
		if k.ApiKey == (*kmsg.MetadataRequest)(nil).Key() && k.MinVersion <= leastIdentified && k.MaxVersion >= leastIdentified {
			return nil
		}
	}
	return errors.New("the broker tells no IDs of topics")
}
