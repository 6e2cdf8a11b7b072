package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
)

// mostLooks is how often brokers are asked for a topic that they do not know: one that has just started may not have heard of it yet.
const mostLooks = 5

// errGone is what brokers say of a topic that is not there.
var errGone = errors.New("the topic is not there")

// topicIs asks for the ID of a topic; zero where the brokers know no IDs. A topic that is not there is errGone.
func topicIs(ctx context.Context, client *kgo.Client, topic string) (is topicID, err error) {
	ask := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	ask.Topics = append(ask.Topics, t)
	var b backoff
	for range mostLooks {
		if is, err = lookAt(ctx, client, ask); !errors.Is(err, errGone) || !pause(ctx, b.next()) {
			break
		}
	}
	return is, ended(ctx, err)
}

// gone tells whether an answer is that there is no such topic.
func gone(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}

func lookAt(ctx context.Context, client *kgo.Client, ask *kmsg.MetadataRequest) (is topicID, err error) {
	var answer *kmsg.MetadataResponse
	err = patiently(ctx, func() (err error) {
		answer, err = ask.RequestWith(ctx, client)
		return err
	})
	if err != nil {
		return is, err
	}
	for _, t := range answer.Topics {
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case gone(err):
			return is, errGone
		case err == nil || t.TopicID != topicID{}: // a partition without a leader is not the topic's end
			return t.TopicID, nil
		default:
			return is, err
		}
	}
	return is, nil
}

// same fails where the topic is not the one any more that this one writes: what a query has written is not there then.
func (x *exact) same(ctx context.Context) error {
	is, err := topicIs(ctx, x.client, x.topic)
	switch {
	case errors.Is(err, errGone) && x.is != topicID{}:
		return fmt.Errorf("it has been deleted while the query wrote it (it was %s), and what it had is gone: %s", x.is, elsewhere)
	case errors.Is(err, errGone):
		return nil // of brokers that know no IDs: the client waits for it
	case err != nil:
		return err
	case x.is == topicID{}:
		x.is = is
	case is != topicID{} && is != x.is:
		return fmt.Errorf("it has been deleted and made anew while the query wrote it: it was %s, and is %s, and what it had is gone: %s", x.is, is, elsewhere)
	}
	return nil
}

// elsewhere is what to do where a topic has lost what a query has written.
const elsewhere = "write to another topic, which gets the rows from now on, or begin anew with another place for the checkpoint"

// stands refuses a topic that is not the one any more that a checkpoint has written to. Checkpoints of earlier versions do not know which one it was.
func (x *exact) stands(ctx context.Context, mark stream.Mark) error {
	if x.last == (stream.EpochID{}) && mark.Wrote == (stream.EpochID{}) {
		mark.Position = nil // whichever it was, it had nothing
	}
	is, err := topicIs(ctx, x.client, x.topic)
	var was topicID
	known := copy(was[:], mark.Position) == len(was)
	switch {
	case errors.Is(err, errGone) && known:
		return fmt.Errorf("kafka: topic %s has been deleted (it was %s), and with it what %s had written up to epoch %d: %s", x.topic, was, mark.Unit, mark.Epoch, elsewhere)
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		return fmt.Errorf("kafka: look up topic %s: %w", x.topic, err)
	case known && is != topicID{} && is != was:
		return fmt.Errorf("kafka: topic %s has been deleted and made anew since the checkpoint was taken: it was %s, and is %s, which lacks what %s had written up to epoch %d: %s",
			x.topic, was, is, mark.Unit, mark.Epoch, elsewhere)
	}
	x.is = cmp.Or(is, was) // brokers that cannot tell once do not make it another one
	return nil
}
