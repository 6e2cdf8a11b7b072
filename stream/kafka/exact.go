package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"cancha/stream"
)

// exact writes the epochs of a query's unit, each in a transaction that also notes which epoch it is: as the offset of a group of the transaction's
// name, in partition 0 of the topic. So rows and number are there together or not at all, and whoever goes on with the unit reads the number, and by
// asking for it ends what an older process has begun, which can commit nothing any more.
type exact struct {
	most   int // bytes of a batch
	client *kgo.Client
	id     string // of the transactions, and of the group
	topic  string
	is     topicID        // of the topic; zero: brokers have not told
	last   stream.EpochID // that is there
}

// transactionsOf begins the names of all transactions: query, unit and topic come behind it.
const transactionsOf = "cancha "

// transactionTimeout is how long a broker waits for a process that has died in a transaction; readers of what is committed wait as long. A process that
// goes on with its unit does not wait.
const transactionTimeout = 60 * time.Second

// mostOpenings is how often transactions are taken over anew whose taking over another process has cut off.
const mostOpenings = 10

// mostUnknown is how often a client looks for a topic that brokers have said is not there, before the transaction is given up: some seconds.
const mostUnknown = 20

// openExact takes a unit's transactions over. Another process may do that at the same time, one that was killed included, whose request comes late: then the
// brokers say PRODUCER_FENCED, and a client that has heard that is of no more use. Neither has written anything meanwhile: another client tries again.
func openExact(ctx context.Context, cfg ProducerConfig, id string) (x *exact, err error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	var b backoff
	for range mostOpenings {
		if x, err = takeExact(ctx, cfg, id); err == nil || !renewable(err) || !pause(ctx, b.next()) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("kafka: take over the transactions of %s: %w", cfg.Topic, err)
	}
	return x, nil
}

// takeExact takes a unit's transactions over with a new client.
func takeExact(ctx context.Context, cfg ProducerConfig, id string) (*exact, error) {
	codec, ok := codecs(cfg.Compression)
	if !ok {
		return nil, fmt.Errorf("compression %q: want none, lz4, snappy, zstd or gzip", cfg.Compression)
	}
	// No client of these may make the topic: one that was deleted would be there again, without what was written.
	versions := kversion.Stable()
	versions.SetMaxKeyVersion((*kmsg.TxnOffsetCommitRequest)(nil).Key(), 4) // from 5 on it would say by itself that the group is part of it
	client, err := kgo.NewClient(append(cfg.options(codec), kgo.TransactionalID(id), kgo.UnknownTopicRetries(mostUnknown), kgo.TransactionTimeout(transactionTimeout), kgo.MaxVersions(versions))...)
	if err != nil {
		return nil, err
	}
	x := &exact{client: client, id: id, topic: cfg.Topic, most: cfg.BatchBytes}
	err = patiently(ctx, func() error {
		_, _, err := client.ProducerID(ctx)
		return err
	})
	if err == nil {
		x.last, err = x.noted(ctx)
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return x, nil
}

// notes is what is committed with the number of an epoch, before the run that it is of. A version that named no runs noted "epoch of a query" alone.
const notes = "epoch of a query, of its run "

// noted asks for the epoch that was committed last; zero if none was.
func (x *exact) noted(ctx context.Context) (last stream.EpochID, err error) {
	ask := kmsg.NewPtrOffsetFetchRequest()
	ask.Group, ask.RequireStable = x.id, true
	ask.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: x.topic, Partitions: []int32{0}}}
	err = patiently(ctx, func() error {
		answer, err := ask.RequestWith(ctx, x.client)
		if gone(err) {
			return nil
		} else if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(answer.ErrorCode); errors.Is(err, kerr.GroupIDNotFound) {
			return nil // nothing has been committed yet
		} else if err != nil {
			return err
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); gone(err) {
					return nil // meet says so
				} else if err != nil {
					return err
				}
				last = stream.EpochID{Number: max(0, p.Offset)}
				if p.Metadata != nil {
					_, last.Run, _ = strings.Cut(*p.Metadata, notes)
				}
			}
		}
		return nil
	})
	return last, err
}

// foreign is an error where a query goes on that has not written the topic yet, and another one's checkpoint has: rows of both would be there. Who may not list
// groups does not find that out.
func (x *exact) foreign(ctx context.Context, mark stream.Mark) error {
	if x.last != (stream.EpochID{}) || mark.Known || mark.Snapshot.Number == 0 {
		return nil
	}
	for _, shard := range x.client.RequestSharded(ctx, kmsg.NewPtrListGroupsRequest()) {
		if shard.Err != nil {
			continue
		}
		for _, g := range shard.Resp.(*kmsg.ListGroupsResponse).Groups {
			// Of whichever unit: those of queries that share other topics have these topics' names.
			if strings.HasPrefix(g.Group, transactionsOf+mark.Query+" ") || !strings.HasPrefix(g.Group, transactionsOf) || !strings.HasSuffix(g.Group, " "+x.topic) {
				continue
			}
			other := exact{client: x.client, id: g.Group, topic: x.topic}
			if last, err := other.noted(ctx); err == nil && last.Number > 0 {
				return fmt.Errorf("kafka: topic %s has rows of another checkpoint, and this one, of epoch %d, has not written there yet: "+
					"go on from the checkpoint that wrote them, or write to another topic, which gets the rows from now on", x.topic, mark.Snapshot.Number)
			}
		}
	}
	return nil
}

// meet compares what is there with what a checkpoint knows. What is in a topic stays there: where that is more than the checkpoint knows, or another query's,
// it cannot be gone on from.
func (x *exact) meet(mark stream.Mark) (epoch int64, err error) {
	switch x.last {
	case stream.EpochID{}: // nothing was written, or brokers have forgotten it
		return mark.Epoch, nil
	case mark.Snapshot:
		return mark.Snapshot.Number, nil
	case mark.Wrote:
		return mark.Epoch, nil
	}
	if x.last.Run == "" && mark.Wrote == (stream.EpochID{}) && x.last.Number <= mark.Snapshot.Number { // both of a version that named no runs
		return max(x.last.Number, mark.Epoch), nil
	}
	return 0, fmt.Errorf("kafka: topic %s has the rows of %s up to epoch %d, and they are not those that the checkpoint knows, which is of epoch %d: "+
		"what comes behind it is there already, or is of a query that has gone on from elsewhere, and a topic cannot go back; "+
		"go on from the checkpoint that wrote it last, or write to another topic, which gets the rows from now on", x.topic, mark.Unit, x.last.Number, mark.Snapshot.Number)
}

// write writes the rows of an epoch in one transaction, and nothing if they are there.
func (x *exact) write(ctx context.Context, epoch stream.EpochID, records []*kgo.Record) error {
	if epoch == x.last {
		return nil
	}
	if err := x.same(ctx); err != nil { // the client would wait for one that was deleted
		return x.explain(err)
	}
	if err := x.client.BeginTransaction(); err != nil {
		return x.explain(err)
	}
	err := x.produced(x.client.ProduceSync(ctx, records...))
	if err == nil {
		err = x.same(ctx) // where the rows are: it may have been made anew meanwhile
	}
	if err == nil {
		err = x.note(ctx, epoch)
	}
	if err != nil {
		x.abort()
		return x.explain(ended(ctx, err))
	}
	if err := ended(ctx, x.client.EndTransaction(ctx, kgo.TryCommit)); lost(err) && ctx.Err() == nil {
		return x.explain(fmt.Errorf("%w: %w", errUnknown, err))
	} else if err != nil {
		return x.explain(err)
	}
	x.last = epoch
	return nil
}

// produced is the first error of what was written.
func (x *exact) produced(results kgo.ProduceResults) error {
	for _, r := range results {
		if errors.Is(r.Err, kerr.MessageTooLarge) {
			return tooLarge(r.Record, x.topic, x.most)
		}
	}
	return results.FirstErr()
}

// note makes the epoch's number a part of the transaction.
func (x *exact) note(ctx context.Context, epoch stream.EpochID) error {
	producer, generation, err := x.client.ProducerID(ctx)
	if err != nil {
		return err
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = x.id, producer, generation, x.id
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = x.id, producer, generation, x.id
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = epoch.Number, kmsg.StringPtr(notes+epoch.Run)
	commit.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: x.topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}}}
	return patiently(ctx, func() error {
		added, err := add.RequestWith(ctx, x.client)
		if err == nil {
			err = kerr.ErrorForCode(added.ErrorCode)
		}
		if err != nil {
			return err
		}
		committed, err := commit.RequestWith(ctx, x.client)
		if err != nil {
			return err
		}
		for _, t := range committed.Topics {
			for _, p := range t.Partitions {
				err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
			}
		}
		return err
	})
}

// patiently asks again while the coordinator is still at something, a transaction that is ending or its own start, and while connections to it break.
func patiently(ctx context.Context, ask func() error) error {
	var b backoff
	for {
		err := ask()
		busy := slices.ContainsFunc([]error{kerr.ConcurrentTransactions, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
			kerr.UnstableOffsetCommit}, func(e error) bool { return errors.Is(err, e) })
		if again := (busy || lost(err)) && !hopeless(err); !again || !pause(ctx, b.next()) {
			return err
		}
	}
}

// abort gives a transaction up, so that readers of what is committed need not wait for its end.
func (x *exact) abort() {
	ctx, cancel := context.WithTimeout(context.Background(), sinkClosing)
	defer cancel()
	if x.client.AbortBufferedRecords(ctx) == nil { // else the broker ends it after transactionTimeout, or whoever goes on does
		_ = x.client.EndTransaction(ctx, kgo.TryAbort)
	}
}

// ended is why ctx has ended, if it has, and else err.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// explain says so where another process has taken the transactions over, or a broker that was killed knows nothing of this one: who takes them over anew
// learns what is there.
func (x *exact) explain(err error) error {
	err = fmt.Errorf("kafka: write an epoch to %s: %w", x.topic, err)
	if renewable(err) {
		return fmt.Errorf("%w: %w", stream.ErrTakenOver, err)
	}
	return err
}

// errUnknown comes where the broker could not be asked again what has become of a transaction.
var errUnknown = errors.New("whether the transaction is committed is not known")

// unknown is what a broker says to a producer that it does not know as it knows itself, and what leaves open whether it has done what it was asked for. A
// producer that goes on after such an answer could have a late request of the one transaction count for the next: it is renewed.
var unknown = []error{errUnknown, kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState, kerr.UnknownProducerID,
	kerr.OutOfOrderSequenceNumber, kerr.TransactionAbortable, kerr.UnknownServerError, kerr.RequestTimedOut, kerr.NetworkException, kerr.OperationNotAttempted,
	kerr.UnknownTopicOrPartition, kerr.UnknownTopicID}

// renewable tells whether a producer that has taken the transactions over anew may do what this one could not.
func renewable(err error) bool {
	return slices.ContainsFunc(unknown, func(e error) bool { return errors.Is(err, e) })
}

func (x *exact) close() { x.client.Close() }
