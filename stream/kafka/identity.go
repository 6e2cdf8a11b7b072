package kafka

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
)

// Metadata of this version and later has the IDs of topics: since Kafka 2.8.
const leastIdentified = 10

// topicID tells a topic from another one of its name; zero: the brokers know none.
type topicID [16]byte

// String is how people see it; empty where there is none.
func (id topicID) String() string {
	if id == (topicID{}) {
		return ""
	}
	return hex.EncodeToString(id[:])
}

// ids are the IDs of topics, by name: a topic that is made anew under its old name has another one. Brokers that do not know any, or do not answer,
// give none: then nothing can be told apart, and nothing is refused.
func (c *cluster) ids(ctx context.Context, topics []string) map[string]topicID {
	ids, _ := c.identities(ctx, topics)
	return ids
}

// identities are ids, with an error where no broker answers. Brokers that know no IDs give none, and no error.
func (c *cluster) identities(ctx context.Context, topics []string) (_ map[string]topicID, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	nameless := false
	for _, broker := range c.brokers {
		ids, failed := c.identify(ctx, broker, topics)
		if failed == nil {
			return ids, nil
		}
		nameless = nameless || errors.Is(failed, errNameless)
		err = failed
	}
	if nameless { // whatever was wrong with the others
		return nil, nil
	}
	return nil, err
}

// errNameless is what a broker without IDs of topics gives.
var errNameless = errors.New("the broker tells no IDs of topics")

// identify asks one broker for the IDs of topics.
func (c *cluster) identify(ctx context.Context, broker string, topics []string) (map[string]topicID, error) {
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
	ids := map[string]topicID{}
	for _, t := range answer.(*kmsg.MetadataResponse).Topics {
		switch {
		case t.Topic == nil || t.ErrorCode != 0:
		case t.TopicID == [16]byte{}: // a broker whose cluster is still of an older version
			return nil, errNameless
		default:
			ids[*t.Topic] = t.TopicID
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
	return errNameless
}

// errAnother ends a connection over which a topic was read that is not there any more.
var errAnother = errors.New("the topic has been deleted, or made anew")

// other tells whether a topic is another one by now than a link reads. Where the brokers do not say it is not.
func (c *cluster) other(ctx context.Context, l *link) bool {
	if l.topic == (topicID{}) {
		return false
	}
	ids, err := c.identities(ctx, []string{l.id.Topic})
	if err != nil || ids == nil {
		return false
	}
	is := ids[l.id.Topic]
	return is != l.topic
}

// stillThere asks now and then, where fetches name topics by their names alone, whether the topic is still the one that it was.
func (r *reader) stillThere(ctx context.Context, l *link) error {
	if l.version >= fetchByID || l.topic == (topicID{}) || time.Since(r.looked) < watchInterval {
		return nil
	}
	r.looked = time.Now()
	if r.run.cluster.other(ctx, l) {
		return fmt.Errorf("topic %s: %w", l.id.Topic, errAnother)
	}
	return nil
}

// recognize compares the topic that a link reads with the one that was read so far. One that was made anew ends the run, or is read from its beginning.
func (r *reader) recognize(l *link) error {
	is := l.topic.String()
	r.run.mu.Lock()
	was := r.pos.id
	if was == "" {
		r.pos.id = is
	}
	r.run.mu.Unlock()
	if was == "" || is == "" || was == is {
		return nil
	}
	if err := r.run.recreated(r.id, r.pos, is); err != nil {
		return err
	}
	r.lost += max(0, r.high-r.next)
	r.next, r.high = r.pos.next, 0
	return nil
}

// recreated has a partition begin anew, of a topic that has been made anew, if the configuration says so, and else ends the run. Its reader calls it, or whoever
// assigns while it has none.
func (r *run) recreated(p stream.Partition, pos *position, is string) error {
	if r.cfg.Recreated != ReadRecreated {
		err := fmt.Errorf("topic %s has been deleted and made anew since it was read: it was %s, and is %s, whose records are others; "+
			"to have the new one read from its beginning set Recreated: kafka.ReadRecreated, or start with another group and another checkpoint", p.Topic, pos.id, is)
		r.end(err)
		return err
	}
	next := int64(0)
	if b, asks := r.handler.(stream.Beginner); asks {
		at, known, err := b.Begin(p, stream.Found{ID: is, Committed: -1, Recreated: true})
		if err != nil {
			r.end(err)
			return err
		}
		if known {
			next = at
		}
	} else if to, ok := r.handler.(stream.Noter); ok {
		to.Note(stream.RecreationNote("topic "+p.Topic, pos.id, is))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	pos.next, pos.first, pos.id, pos.note, pos.ended = next, next, is, "", false // what the group has committed stays known: it is not where to go on
	return nil
}
