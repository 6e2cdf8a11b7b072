package stream

import (
	"context"
	"time"
)

// Record is one record of a topic partition, as Kafka holds it. Key and Value may share a buffer with other records of
// the batch and are valid until the handler of the batch returns.
type Record struct {
	Partition int
	Offset    int64
	Time      time.Time // Kafka's own time stamp
	Key       []byte
	Value     []byte
}

// Batch is a run of records of one partition in offset order.
type Batch struct {
	Topic         string
	Partition     int
	Records       []Record
	HighWatermark int64 // offset after the last record in the partition when the batch was fetched
	Lost          int64 // records that retention removed before they could be read: counted, never skipped in silence
}

// Handler takes what a source reads. Batches of one partition come one after another, in offset order, without gaps other
// than Lost and without repeats, across reconnects too; batches of different partitions may come at the same time.
type Handler interface {
	// Assigned tells which partitions the source reads from now on. A partition without new records is reported by
	// batches without records, at least once a second, so that idle partitions are known to be idle and not merely slow.
	Assigned(partitions []int)
	// Batch handles a batch; an error ends the source.
	Batch(ctx context.Context, b Batch) error
	// Retry tells that the source lost its broker and tries again after wait: a report, not an end.
	Retry(err error, wait time.Duration)
}

// Source reads the records of a topic.
type Source interface {
	// Run reads until ctx ends (then it returns nil after all its goroutines have ended), until the source is exhausted
	// (nil), or until an error that trying again cannot mend.
	Run(ctx context.Context, h Handler) error
	// Description is what a user reads in progress reports, such as "kafka statsbomb-360-events at 127.0.0.1:9092".
	Description() string
}
