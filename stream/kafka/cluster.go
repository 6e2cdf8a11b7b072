package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
)

// cluster is how one run reaches its brokers.
type cluster struct {
	brokers []string
	topics  []string
	pattern *regexp.Regexp // of more topics; nil: none
	sec     Security
	conns   conns
	doubt   doubt

	readCommitted bool             // what is committed alone is read
	decompressor  kgo.Decompressor // of all readers

	mu        sync.Mutex
	leaders   map[stream.Partition]kafka.Partition // as last looked up; nil: look up again
	known     map[string]topicID                   // of their topics
	diagnosed time.Time                            // when the brokers were last diagnosed
}

// dial connects to a broker; the connection is encrypted and authenticated, as far as the cluster asks for it. An error
// that no try can mend is a refusal.
func (c *cluster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := c.conns.tcp(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c.doubt.secure(ctx, &c.sec, conn, address)
}

// client returns a client for single requests and what releases it. A client lives for a request or two: kafka-go's
// Transport keeps a goroutine that asks for metadata for as long as it lives.
func (c *cluster) client() (*kafka.Client, func()) {
	t := &kafka.Transport{Dial: c.dial, ClientID: clientID}
	if c.pattern == nil {
		t.MetadataTopics = c.topics
	}
	return &kafka.Client{Addr: kafka.TCP(c.brokers...), Transport: t, Timeout: requestTimeout}, t.CloseIdleConnections
}

// subject names the topics.
func (c *cluster) subject() string {
	named := strings.Join(c.topics, ", ")
	if len(c.topics) > 1 {
		named = "topics " + named
	} else if len(c.topics) == 1 {
		named = "topic " + named
	}
	switch {
	case c.pattern == nil:
		return named
	case named == "":
		return "topics like " + c.pattern.String()
	}
	return named + " and topics like " + c.pattern.String()
}

// partitions looks the topics up, without creating them: kafka-go's own look-ups (Conn.ReadPartitions) ask the broker to make
// a topic that is missing, and a consumer that came first would fix the number of partitions to the broker's default.
func (c *cluster) partitions(ctx context.Context) (map[stream.Partition]kafka.Partition, error) {
	client, release := c.client()
	defer release()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request := &kafka.MetadataRequest{Topics: c.topics}
	if c.pattern != nil {
		request.Topics = nil // all
	}
	meta, err := client.Metadata(ctx, request)
	var dial *net.OpError
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() && !(errors.As(err, &dial) && dial.Op == "dial") {
		err = fmt.Errorf("no answer within %v: is it the port of a Kafka broker? %w", requestTimeout, err)
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s at %s: %w", c.subject(), strings.Join(c.brokers, ","), err)
	}
	return c.choose(meta.Topics)
}

// choose takes from the topics of the cluster those that are to be read. All that are named must be there: beside the error that names one that is not it
// returns the others.
func (c *cluster) choose(topics []kafka.Topic) (map[stream.Partition]kafka.Partition, error) {
	found := map[stream.Partition]kafka.Partition{}
	missing := slices.Clone(c.topics)
	for _, t := range topics {
		named := slices.Contains(c.topics, t.Name)
		if !named && (c.pattern == nil || t.Internal || !c.pattern.MatchString(t.Name)) || errors.Is(t.Error, kafka.UnknownTopicOrPartition) {
			continue
		}
		if t.Error != nil {
			return nil, fmt.Errorf("look up topic %s at %s: %w", t.Name, strings.Join(c.brokers, ","), t.Error)
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == t.Name })
		for _, p := range t.Partitions {
			found[stream.Partition{Topic: t.Name, ID: p.ID}] = p
		}
	}
	at := strings.Join(c.brokers, ",")
	switch {
	case len(missing) > 0:
		return found, fmt.Errorf("topic %s does not exist yet at %s: start a producer: %w", missing[0], at, kafka.UnknownTopicOrPartition)
	case len(found) == 0:
		return nil, fmt.Errorf("no topic matches %s yet at %s: %w", c.pattern, at, kafka.UnknownTopicOrPartition)
	}
	return found, nil
}

// lookup finds a partition, its leader and its topic's ID. One look-up serves all readers that need one at the same time.
func (c *cluster) lookup(ctx context.Context, partition stream.Partition) (kafka.Partition, topicID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaders == nil {
		found, err := c.partitions(ctx)
		if err != nil {
			return kafka.Partition{}, topicID{}, err
		}
		if c.known, err = c.identities(ctx, topicsOf(found)); err != nil {
			return kafka.Partition{}, topicID{}, fmt.Errorf("look up the IDs of %s: %w", c.subject(), err)
		}
		c.leaders = found
	}
	p, ok := c.leaders[partition]
	if !ok || p.Leader.Host == "" {
		return p, topicID{}, fmt.Errorf("topic %s: %w", partition.Topic, kafka.LeaderNotAvailable)
	}
	id := c.known[partition.Topic]
	if c.known != nil && id == (topicID{}) {
		return p, id, fmt.Errorf("topic %s: %w", partition.Topic, kafka.UnknownTopicOrPartition) // it has gone between the two questions
	}
	return p, id, nil
}

// forget makes the next lookup ask the brokers.
func (c *cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaders = nil
}

// hopeless reports whether trying again cannot mend err.
func hopeless(err error) bool {
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return true
	}
	return slices.ContainsFunc([]kafka.Error{
		kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.InvalidTopic, kafka.InvalidGroupId,
		kafka.InvalidSessionTimeout, kafka.InconsistentGroupProtocol, kafka.UnsupportedVersion,
	}, func(e kafka.Error) bool { return errors.Is(err, e) })
}
