package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
)

// cluster is how one run reaches its brokers.
type cluster struct {
	brokers []string
	topic   string
	sec     Security
	conns   conns

	mu      sync.Mutex
	leaders map[int]kafka.Partition // as last looked up; nil: look up again
}

func (c *cluster) mechanism() sasl.Mechanism {
	if c.sec.User == "" {
		return nil
	}
	return plain.Mechanism{Username: c.sec.User, Password: c.sec.Password}
}

func (c *cluster) dialer() *kafka.Dialer {
	return &kafka.Dialer{
		ClientID: clientID, DialFunc: c.conns.dial, Timeout: dialTimeout, TLS: c.sec.TLS, SASLMechanism: c.mechanism(),
	}
}

// client returns a client for single requests and what releases it. A client lives for a request or two: kafka-go's
// Transport keeps a goroutine that asks for metadata for as long as it lives.
func (c *cluster) client() (*kafka.Client, func()) {
	t := &kafka.Transport{Dial: c.conns.dial, ClientID: clientID, TLS: c.sec.TLS, SASL: c.mechanism(), MetadataTopics: []string{c.topic}}
	return &kafka.Client{Addr: kafka.TCP(c.brokers...), Transport: t, Timeout: requestTimeout}, t.CloseIdleConnections
}

// partitions looks the topic up, without creating it: kafka-go's own look-ups (Conn.ReadPartitions) ask the broker to make
// a topic that is missing, and a consumer that came first would fix the number of partitions to the broker's default.
func (c *cluster) partitions(ctx context.Context) (map[int]kafka.Partition, error) {
	client, release := c.client()
	defer release()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	meta, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{c.topic}})
	if err != nil {
		return nil, fmt.Errorf("look up topic %s at %s: %w", c.topic, strings.Join(c.brokers, ","), err)
	}
	for _, t := range meta.Topics {
		if t.Name != c.topic {
			continue
		}
		if errors.Is(t.Error, kafka.UnknownTopicOrPartition) {
			break
		}
		if t.Error != nil {
			return nil, fmt.Errorf("look up topic %s at %s: %w", c.topic, strings.Join(c.brokers, ","), t.Error)
		}
		found := make(map[int]kafka.Partition, len(t.Partitions))
		for _, p := range t.Partitions {
			found[p.ID] = p
		}
		return found, nil
	}
	return nil, fmt.Errorf("topic %s does not exist yet at %s: start a producer: %w", c.topic, strings.Join(c.brokers, ","), kafka.UnknownTopicOrPartition)
}

// leader connects to the broker that leads a partition.
func (c *cluster) leader(ctx context.Context, partition int) (*kafka.Conn, error) {
	p, err := c.lookup(ctx, partition)
	if err != nil {
		return nil, err
	}
	conn, err := c.dialer().DialPartition(ctx, "tcp", "", p)
	if err != nil {
		return nil, fmt.Errorf("connect to the leader: %w", err)
	}
	return conn, nil
}

// lookup finds a partition and its leader. One look-up serves all readers that need one at the same time.
func (c *cluster) lookup(ctx context.Context, partition int) (kafka.Partition, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaders == nil {
		found, err := c.partitions(ctx)
		if err != nil {
			return kafka.Partition{}, err
		}
		c.leaders = found
	}
	p, ok := c.leaders[partition]
	if !ok || p.Leader.Host == "" {
		return p, fmt.Errorf("topic %s: %w", c.topic, kafka.LeaderNotAvailable)
	}
	return p, nil
}

// forget makes the next lookup ask the brokers.
func (c *cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaders = nil
}

// hopeless reports whether trying again cannot mend err.
func hopeless(err error) bool {
	return slices.ContainsFunc([]kafka.Error{
		kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.InvalidTopic, kafka.InvalidGroupId,
		kafka.InvalidSessionTimeout, kafka.InconsistentGroupProtocol, kafka.UnsupportedVersion,
	}, func(e kafka.Error) bool { return errors.Is(err, e) })
}
