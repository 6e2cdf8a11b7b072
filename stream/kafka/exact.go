package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	client *kgo.Client
	id     string // of the transactions, and of the group
	topic  string
	epoch  int64 // the last one that is there
}

// transactionTimeout is how long a broker waits for a process that has died in a transaction; readers of what is committed wait as long. A process that
// goes on with its unit does not wait.
const transactionTimeout = 60 * time.Second

// openExact takes a unit's transactions over.
func openExact(ctx context.Context, cfg ProducerConfig, id string) (*exact, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	codec, ok := codecs(cfg.Compression)
	if !ok {
		return nil, fmt.Errorf("kafka: compression %q: want none, lz4, snappy, zstd or gzip", cfg.Compression)
	}
	versions := kversion.Stable()
	versions.SetMaxKeyVersion((*kmsg.TxnOffsetCommitRequest)(nil).Key(), 4) // from 5 on it would say by itself that the group is part of it
	client, err := kgo.NewClient(append(cfg.options(codec), kgo.TransactionalID(id), kgo.TransactionTimeout(transactionTimeout), kgo.MaxVersions(versions))...)
	if err != nil {
		return nil, fmt.Errorf("kafka: transactions of %s: %w", cfg.Topic, err)
	}
	x := &exact{client: client, id: id, topic: cfg.Topic}
	err = patiently(ctx, func() error {
		_, _, err := client.ProducerID(ctx)
		return err
	})
	if err == nil {
		x.epoch, err = x.noted(ctx)
	}
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("kafka: take over the transactions of %s: %w", cfg.Topic, err)
	}
	return x, nil
}

// noted asks for the epoch that was committed last; 0 if none was.
func (x *exact) noted(ctx context.Context) (epoch int64, err error) {
	ask := kmsg.NewPtrOffsetFetchRequest()
	ask.Group, ask.RequireStable = x.id, true
	ask.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: x.topic, Partitions: []int32{0}}}
	err = patiently(ctx, func() error {
		answer, err := ask.RequestWith(ctx, x.client)
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(answer.ErrorCode); errors.Is(err, kerr.GroupIDNotFound) {
			return nil // nothing has been committed yet
		} else if err != nil {
			return err
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return err
				}
				epoch = max(0, p.Offset)
			}
		}
		return nil
	})
	return epoch, err
}

// write writes the rows of an epoch in one transaction, and nothing if they are there.
func (x *exact) write(ctx context.Context, epoch int64, records []*kgo.Record) error {
	if epoch <= x.epoch {
		return nil
	}
	if err := x.client.BeginTransaction(); err != nil {
		return x.explain(err)
	}
	err := x.client.ProduceSync(ctx, records...).FirstErr()
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
	x.epoch = epoch
	return nil
}

// note makes the epoch's number a part of the transaction.
func (x *exact) note(ctx context.Context, epoch int64) error {
	producer, generation, err := x.client.ProducerID(ctx)
	if err != nil {
		return err
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = x.id, producer, generation, x.id
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = x.id, producer, generation, x.id
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = epoch, kmsg.StringPtr("epoch of a query")
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
	if slices.ContainsFunc(unknown, func(e error) bool { return errors.Is(err, e) }) {
		return fmt.Errorf("%w: %w", stream.ErrTakenOver, err)
	}
	return err
}

// errUnknown comes where the broker could not be asked again what has become of a transaction.
var errUnknown = errors.New("whether the transaction is committed is not known")

// unknown is what a broker says to a producer that it does not know as it knows itself.
var unknown = []error{errUnknown, kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState, kerr.UnknownProducerID,
	kerr.OutOfOrderSequenceNumber}

func (x *exact) close() { x.client.Close() }
