package kafka

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where a batch of format 2 has whose it is, and the bits of its attributes that say that it belongs to a transaction, or is a marker of one's end.
const (
	batchProducer   = 43
	isTransactional = 1 << 4
	isControl       = 1 << 5
)

// aborted tells the batches of aborted transactions in the answer to a fetch that asks for what is committed: the answer says at which offset each of
// them begins, and a marker among the batches ends it.
type aborted struct {
	begins []kmsg.FetchResponseTopicPartitionAbortedTransaction // the first that begins first
	open   map[int64]bool                                       // by producer
}

func newAborted(of []kmsg.FetchResponseTopicPartitionAbortedTransaction) *aborted {
	if len(of) == 0 {
		return nil
	}
	begins := slices.Clone(of)
	slices.SortFunc(begins, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return int(min(1, max(-1, a.FirstOffset-b.FirstOffset)))
	})
	return &aborted{begins: begins, open: map[int64]bool{}}
}

// has tells whether the next batch is one of an aborted transaction, and returns the offset behind it.
func (a *aborted) has(batch []byte) (behind int64, yes bool) {
	if a == nil || len(batch) < batchRecords || batch[batchMagic] != 2 {
		return 0, false
	}
	behind = int64(binary.BigEndian.Uint64(batch)) + int64(int32(binary.BigEndian.Uint32(batch[batchLastDelta:]))) + 1
	for len(a.begins) > 0 && a.begins[0].FirstOffset < behind {
		a.open[a.begins[0].ProducerID] = true
		a.begins = a.begins[1:]
	}
	attributes, producer := binary.BigEndian.Uint16(batch[batchAttributes:]), int64(binary.BigEndian.Uint64(batch[batchProducer:]))
	switch {
	case attributes&isControl != 0:
		delete(a.open, producer)
		return 0, false
	case attributes&isTransactional == 0:
		return 0, false
	}
	return behind, a.open[producer]
}
