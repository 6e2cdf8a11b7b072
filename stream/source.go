package stream

import (
	"context"
	"fmt"
	"time"
)

// Header is what a record carries beside its key and value, such as where it comes from. A record may have several of
// one key.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record of a topic partition, as Kafka holds it. Key, Value and Headers may share a buffer with other
// records of the batch and are valid until the handler of the batch returns.
type Record struct {
	Topic     string // empty: the batch's
	Partition int
	Offset    int64
	Time      time.Time // Kafka's own time stamp; one that is not set counts as 1970
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Partition names a partition of a topic.
type Partition struct {
	Topic string
	ID    int
}

// Batch is a run of records of one partition in offset order.
type Batch struct {
	Topic         string
	Partition     int
	Records       []Record
	HighWatermark int64 // offset after the last record in the partition when the batch was fetched
	Lost          int64 // records that retention removed before they could be read: counted, never skipped in silence
	// Seen is what the source wants to be told of the partition when it goes on from where this batch ends, or from a record within it: see Rememberer. Empty:
	// what it said before.
	Seen string
}

// Handler takes what a source reads. Batches of one partition come one after another, in offset order, without gaps other
// than Lost and without repeats, across reconnects too; batches of different partitions may come at the same time.
type Handler interface {
	// Assigned tells which partitions the source reads from now on, named as its batches name them. A partition without
	// new records is reported by batches without records, at least once a second, so that idle partitions are known to be
	// idle and not merely slow.
	Assigned(partitions []Partition)
	// Batch handles a batch; an error ends the source. After one that is no Partial nothing of the batch counts as handled.
	Batch(ctx context.Context, b Batch) error
	// Retry tells that the source lost its broker and tries again after wait: a report, not an end.
	Retry(err error, wait time.Duration)
}

// Noter is a Handler that takes sentences which a user should read: where the source goes on from, say.
type Noter interface{ Note(sentence string) }

// Finisher is a Handler that takes which partitions have ended, each after its last batch: none of their records will come any more in this run,
// and so they hold back no watermark.
type Finisher interface{ Finished(p Partition) }

// Beginner is a Handler that knows where partitions are to be read on: a query with a Checkpoint is one. Begin is asked for each partition, before
// Assigned. It returns the offset of the first record to hand over, or says that the source's own settings decide: then it has nothing of what was handed over
// before, and a source that had begun with the partition begins with it again. An error ends the source.
type Beginner interface {
	Begin(p Partition, found Found) (next int64, known bool, err error)
}

// Rememberer is a Beginner that keeps what batches have Seen, together with how far it has handled their records. A source that asks once Begin has returned an
// offset finds out by it whether what it reads is still what was read. Empty: nothing is known.
type Rememberer interface{ Seen(p Partition) string }

// Starter is a Handler that keeps where a source begins with a partition of which Begin has known nothing. It is told before Assigned, if the settings of the
// source mean another place at another time, such as the end of the partition: what comes between a crash and the next run would be left out otherwise.
type Starter interface{ Starts(p Partition, next int64) }

// Found is what a source knows of a partition before it reads it.
type Found struct {
	// ID tells what the partition holds from what another one of its name would, such as a topic that was made anew; empty if the source cannot tell.
	ID string
	// Committed is what was committed last of a partition that processes share (see Committer), and Note what it was committed with; -1: nothing.
	Committed int64
	Note      string
	// Recreated tells that the source reads what has been made anew from its beginning. A Beginner that knows the partition by another ID forgets where it was
	// then, and says 0. Unset, it is an error.
	Recreated bool
}

// RecreationNote is what a user is told where something was deleted and made anew, and is read from its beginning: it was one ID, and is another.
func RecreationNote(what, was, is string) string {
	return fmt.Sprintf("%s has been deleted and made anew: it was %s, and is %s. It is read from its beginning; what had not been read of the one before is gone.", what, was, is)
}

// Replayable is a Source that asks a Beginner, and so can go on from a checkpoint.
type Replayable interface{ Replayable() }

// Identified is a Source that is the same wherever its records are to be had: a topic, whichever brokers are asked for it. Its Description is what
// tells it from others otherwise. A Sink may be one, too: a checkpoint knows it by its Identity, or else by what its String says. A Source whose settings
// decide what an offset counts or what a record is has them in its Identity, in words: those are shown where the checkpoint's differ.
type Identified interface{ Identity() string }

// Partial is the error of a Handler that has handled only the first records of a batch and wants no more: a source that keeps a place to
// go on from goes on behind these.
type Partial struct {
	Handled int // records, from the first of the batch on
	Err     error
}

func (p *Partial) Error() string { return p.Err.Error() }

// Unwrap returns Err.
func (p *Partial) Unwrap() error { return p.Err }

// Unmeasured is a Source that does not know where its partitions end before it has read them: the HighWatermark of a batch with records is the end
// of the batch. That a partition has been read to its end is told by a batch without records, or by Finished.
type Unmeasured interface{ Unmeasured() }

// Ending is a Source that knows when nothing more will come: the channel is closed then, and nil where that is never. An Engine reads by itself: a query that
// it runs is told so, and ends with what the sources hold then.
type Ending interface{ Ends() <-chan struct{} }

// Source reads the records of a topic.
type Source interface {
	// Run reads until ctx ends (then it returns nil after all its goroutines have ended), until the source is exhausted
	// (nil), or until an error that trying again cannot mend.
	Run(ctx context.Context, h Handler) error
	// Description is what a user reads in progress reports, such as "kafka statsbomb-360-events at 127.0.0.1:9092".
	Description() string
}

// Checker is a Source that can tell beforehand that it cannot work as it is set: Start refuses the query with its error.
type Checker interface{ Check() error }

// Hearer is a Source that knows whether it reads what a sink writes to, such as a topic, or a folder whose files get their names as they are made: a query that hears itself feeds itself without end, and is refused.
type Hearer interface{ Hears(sink Sink) bool }

// Reader is a Source that knows whether it reads what a sink writes to a place.
type Reader interface{ Reads(place string) bool }
