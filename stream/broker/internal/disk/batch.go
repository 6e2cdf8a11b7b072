package disk

import (
	"encoding/binary"
	"hash/crc32"
)

// The head of a record batch, version 2, as a segment holds it (https://kafka.apache.org/documentation/#recordbatch). The
// checksum covers what comes from the attributes on; what comes before it is known from its neighbours.
const (
	lengthAt     = 8
	epochAt      = 12
	magicAt      = 16
	sumAt        = 17
	attributesAt = 21
	lastDeltaAt  = 23
	maxTimeAt    = 35
	recordsAt    = 57
	headBytes    = 61

	lengthCounts = 12 // the length is that of what follows it
	magic        = 2

	transactional, control = 0x10, 0x20 // attributes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is a batch whose checksum is right, and where it lies in its segment.
type batch struct {
	at, size    int
	first, next int64 // offsets of its first record, and behind its last
	records     int64
	epoch       int32
	maxTime     int64 // Unix milliseconds
	open        bool  // of a transaction, and not its end
	control     bool  // the end of one
	magic       byte
}

// hole is a part of a segment that is no batch.
type hole struct {
	at, size int
	before   int   // the batches before it
	lost     int64 // the offsets that its batch had, 0 where its head does not tell
	sure     bool  // it tells so twice
}

// scan takes a segment apart. What is damaged costs its own batch only: behind it the next one is looked for.
func scan(raw []byte) (batches []batch, holes []hole) {
	for at := 0; at < len(raw); {
		if b, ok := batchAt(raw, at); ok {
			batches = append(batches, b)
			at += b.size
			continue
		}
		next := at + 1
		for next < len(raw) && !startsAt(raw, next) {
			next++
		}
		lost, sure := offsetsOf(raw[at:next])
		holes = append(holes, hole{at: at, size: next - at, before: len(batches), lost: lost, sure: sure})
		at = next
	}
	return batches, holes
}

// startsAt is batchAt for any place, which tells most of them apart by a byte.
func startsAt(raw []byte, at int) bool {
	if len(raw)-at < headBytes || raw[at+magicAt] != magic {
		return false
	}
	_, ok := batchAt(raw, at)
	return ok
}

func batchAt(raw []byte, at int) (batch, bool) {
	head := raw[at:]
	if len(head) < headBytes {
		return batch{}, false
	}
	size := lengthCounts + int(int32(binary.BigEndian.Uint32(head[lengthAt:])))
	if size < headBytes || size > len(head) {
		return batch{}, false
	}
	if crc32.Checksum(head[attributesAt:size], castagnoli) != binary.BigEndian.Uint32(head[sumAt:]) {
		return batch{}, false
	}
	first := int64(binary.BigEndian.Uint64(head))
	attributes := binary.BigEndian.Uint16(head[attributesAt:])
	return batch{
		at: at, size: size, first: first, next: first + int64(int32(binary.BigEndian.Uint32(head[lastDeltaAt:]))) + 1,
		records: int64(int32(binary.BigEndian.Uint32(head[recordsAt:]))), epoch: int32(binary.BigEndian.Uint32(head[epochAt:])),
		maxTime: int64(binary.BigEndian.Uint64(head[maxTimeAt:])), open: attributes&transactional != 0 && attributes&control == 0,
		control: attributes&(transactional|control) == transactional|control, magic: head[magicAt],
	}, true
}

// offsetsOf is how many offsets a damaged batch had: the head has the number twice, and what is damaged is rather too large to
// be one. Too many do no harm, and too few give an offset to two records.
func offsetsOf(raw []byte) (n int64, sure bool) {
	if len(raw) < headBytes {
		return 0, false
	}
	deltas, records := int64(int32(binary.BigEndian.Uint32(raw[lastDeltaAt:])))+1, int64(int32(binary.BigEndian.Uint32(raw[recordsAt:])))
	for _, told := range []int64{deltas, records} {
		if told > n && told <= maxRecords {
			n = told
		}
	}
	return n, deltas == records
}

// maxRecords is far above what producers put into one batch.
const maxRecords = 1 << 20

// filler is a batch without records that holds the offsets first to first+n-1, as compaction leaves one behind.
func filler(first, n int64, epoch int32, time int64) []byte {
	b := make([]byte, headBytes)
	binary.BigEndian.PutUint64(b, uint64(first))
	binary.BigEndian.PutUint32(b[lengthAt:], headBytes-lengthCounts)
	binary.BigEndian.PutUint32(b[epochAt:], uint32(epoch))
	b[magicAt] = magic
	binary.BigEndian.PutUint32(b[lastDeltaAt:], uint32(n-1))
	binary.BigEndian.PutUint64(b[27:], uint64(time)) // of the first record
	binary.BigEndian.PutUint64(b[maxTimeAt:], uint64(time))
	for i := 43; i < recordsAt; i++ { // no producer, no sequence: -1
		b[i] = 0xff
	}
	binary.BigEndian.PutUint32(b[sumAt:], crc32.Checksum(b[attributesAt:], castagnoli))
	return b
}
