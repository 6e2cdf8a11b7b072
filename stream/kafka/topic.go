package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"cancha/stream"
)

const defaultPartitions = 4

// TopicConfig names a topic to make.
type TopicConfig struct {
	Brokers    []string
	Topic      string
	Partitions int // default 4
	// RetentionBytes bounds each partition of the topic; 0 leaves it to the broker.
	RetentionBytes int64
	// Compact keeps the newest record of each key, instead of the newest records.
	Compact bool
	Security
	// Retry is told why a try failed; nil: in a notebook the cell, every 15 s, elsewhere nobody.
	Retry func(err error)
}

// CreateTopic makes a topic unless it exists and returns how many partitions it has. It tries again while no broker answers,
// until ctx ends; a broker that refuses this client (a wrong password, TLS or none, an unknown certificate) is an error at once.
func CreateTopic(ctx context.Context, cfg TopicConfig) (partitions int, err error) {
	if err := validateTarget(cfg.Brokers, cfg.Topic, cfg.Security); err != nil {
		return 0, err
	}
	if cfg.Partitions == 0 {
		cfg.Partitions = defaultPartitions
	}
	c := cluster{brokers: cfg.Brokers, topics: []string{cfg.Topic}, sec: cfg.Security}
	defer c.conns.closeAll()
	tell := retry(cfg.Retry)
	for b := (backoff{}); ; {
		found, err := c.ensure(ctx, cfg)
		if err == nil && found > 0 {
			return found, nil
		}
		err = c.diagnose(ctx, err)
		if err != nil && (hopeless(err) || ctx.Err() != nil) {
			return 0, err
		}
		if err != nil && tell != nil {
			tell(err)
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return 0, fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			return 0, context.Cause(ctx)
		case <-time.After(b.next()):
		}
	}
}

// ensure looks the topic up and asks for it when it is missing; 0 partitions mean that it is not to be seen yet.
func (c *cluster) ensure(ctx context.Context, cfg TopicConfig) (int, error) {
	found, err := c.partitions(ctx)
	if err == nil || !errors.Is(err, kafka.UnknownTopicOrPartition) {
		return len(found), err
	}
	client, release := c.client()
	defer release()
	topic := kafka.TopicConfig{Topic: cfg.Topic, NumPartitions: cfg.Partitions, ReplicationFactor: -1}
	if cfg.RetentionBytes > 0 {
		topic.ConfigEntries = []kafka.ConfigEntry{{ConfigName: "retention.bytes", ConfigValue: fmt.Sprint(cfg.RetentionBytes)}}
	}
	if cfg.Compact {
		topic.ConfigEntries = append(topic.ConfigEntries, kafka.ConfigEntry{ConfigName: "cleanup.policy", ConfigValue: "compact"})
	}
	res, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})
	if err == nil {
		err = res.Errors[cfg.Topic]
	}
	if err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
		return 0, fmt.Errorf("create topic %s: %w", cfg.Topic, err)
	}
	found, err = c.partitions(ctx)
	if errors.Is(err, kafka.UnknownTopicOrPartition) {
		return 0, nil // made, but not yet known to every broker
	}
	return len(found), err
}

// DeleteTopic deletes a topic with all its records, and returns when no broker that was asked knows it any more. That it is not there is no error. It tries
// again while no broker answers, until ctx ends.
func DeleteTopic(ctx context.Context, cfg TopicConfig) error {
	if err := validateTarget(cfg.Brokers, cfg.Topic, cfg.Security); err != nil {
		return err
	}
	c := cluster{brokers: cfg.Brokers, topics: []string{cfg.Topic}, sec: cfg.Security}
	defer c.conns.closeAll()
	tell := retry(cfg.Retry)
	for b := (backoff{}); ; {
		_, err := c.partitions(ctx)
		if errors.Is(err, kafka.UnknownTopicOrPartition) {
			return nil
		}
		if err == nil {
			err = c.remove(ctx, cfg.Topic)
		}
		err = c.diagnose(ctx, err)
		if err != nil && (hopeless(err) || ctx.Err() != nil) {
			return err
		}
		if err != nil && tell != nil {
			tell(err)
		}
		if !pause(ctx, b.next()) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// remove asks for the end of a topic. Brokers may know it for a moment after that.
func (c *cluster) remove(ctx context.Context, topic string) error {
	client, release := c.client()
	defer release()
	res, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err == nil {
		err = res.Errors[topic]
	}
	if err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	return nil
}

// String tells what is made, without the password.
func (c TopicConfig) String() string {
	return fmt.Sprintf("kafka.TopicConfig{%s at %s, %d partitions, %s}", c.Topic, strings.Join(c.Brokers, ","), c.Partitions, c.Security.String())
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (c TopicConfig) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// PartitionLag is how far a group has come in a partition.
type PartitionLag struct {
	Topic     string
	Partition int
	First     int64 // offset of the oldest record the broker has
	End       int64 // offset after the newest
	Committed int64 // what the group reads next; -1: nothing committed
	Lag       int64 // records the group has yet to read
}

// Lag tells how far Config.Group has come in each partition of the topics of a Config, as of its last commit: by topic and
// partition.
func Lag(ctx context.Context, cfg Config) ([]PartitionLag, error) {
	cfg.fill()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := cfg.cluster()
	defer c.conns.closeAll()
	lags, err := c.lag(ctx, cfg.Group)
	return lags, c.diagnose(ctx, err)
}

func (c *cluster) lag(ctx context.Context, group string) ([]PartitionLag, error) {
	found, err := c.partitions(ctx)
	if err != nil {
		return nil, err
	}
	client, release := c.client()
	defer release()
	committed := make(map[stream.Partition]mark)
	if group != "" {
		if committed, err = c.committed(ctx, client, group, inOrder(found)); err != nil {
			return nil, err
		}
	}
	return c.lags(ctx, client, found, committed)
}

func (c *cluster) committed(ctx context.Context, client *kafka.Client, group string, of []stream.Partition) (map[stream.Partition]mark, error) {
	ask := make(map[string][]int)
	for _, p := range of {
		ask[p.Topic] = append(ask[p.Topic], p.ID)
	}
	var res *kafka.OffsetFetchResponse
	err := coordinated(ctx, func() (err error) {
		if res, err = client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: ask}); err == nil {
			err = res.Error
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("offsets of group %s: %w", group, err)
	}
	offsets := make(map[stream.Partition]mark)
	for topic, partitions := range res.Topics {
		for _, p := range partitions {
			offsets[stream.Partition{Topic: topic, ID: p.Partition}] = mark{p.CommittedOffset, p.Metadata}
		}
	}
	return offsets, nil
}

// coordinated asks again, for as long as a request may take, while the group has no coordinator that is ready: it has just been made, or moves to
// another broker.
func coordinated(ctx context.Context, ask func() error) error {
	trying, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for b := (backoff{}); ; {
		err := ask()
		moving := errors.Is(err, kafka.NotCoordinatorForGroup) || errors.Is(err, kafka.GroupCoordinatorNotAvailable) || errors.Is(err, kafka.GroupLoadInProgress)
		if !moving || !pause(trying, b.next()) {
			return err
		}
	}
}

func (c *cluster) lags(ctx context.Context, client *kafka.Client, found map[stream.Partition]kafka.Partition, committed map[stream.Partition]mark) ([]PartitionLag, error) {
	ask := make(map[string][]kafka.OffsetRequest)
	for p := range found {
		ask[p.Topic] = append(ask[p.Topic], kafka.FirstOffsetOf(p.ID), kafka.LastOffsetOf(p.ID))
	}
	res, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: ask})
	if err != nil {
		return nil, fmt.Errorf("offsets of %s: %w", c.subject(), err)
	}
	var lags []PartitionLag
	for topic, partitions := range res.Topics {
		for _, p := range partitions {
			if p.Error != nil {
				return nil, fmt.Errorf("offsets of partition %d of topic %s: %w", p.Partition, topic, p.Error)
			}
			l := PartitionLag{Topic: topic, Partition: p.Partition, First: p.FirstOffset, End: p.LastOffset, Committed: -1}
			if m, ok := committed[stream.Partition{Topic: topic, ID: p.Partition}]; ok {
				l.Committed = m.offset
			}
			l.Lag = l.End - max(l.Committed, l.First)
			lags = append(lags, l)
		}
	}
	slices.SortFunc(lags, func(a, b PartitionLag) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return lags, nil
}
