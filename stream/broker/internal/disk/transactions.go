package disk

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A broker that is killed leaves transactions open. kfake takes them for aborted, but writes no end of them: a reader of what is committed drops all that
// the producer writes next, and one whose end had been written to some of its partitions is half of it there. So their ends are written here, as the
// coordinator of an Apache Kafka writes them when it comes back.
//
// One whose end stands in some partition is ended everywhere as there, unless pids.log tells that this was the end of an earlier one: producers of before
// EndTxn version 5 have one epoch for all of them. All others are aborted. What was not written is the offsets that belong to a transaction; where the
// broker is killed between its first end and these, they are lost.

// producing is one epoch of a producer. Since EndTxn version 5 it has one transaction.
type producing struct {
	id    int64
	epoch int16
}

func (a producing) compare(b producing) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.epoch, b.epoch))
}

// Where a batch tells of its producer.
const (
	producerAt      = 43
	producerEpochAt = 51
)

// transactions are those of a directory that has no orderly end.
type transactions struct {
	ends map[producing]bool  // that stand in some partition: whether it is committed
	open map[producing][]end // that have no end in these
}

// end is the place in a partition where the end of a transaction belongs.
type end struct {
	segment     string // the file, less its extension
	next        int64
	leaderEpoch int32
}

// track notes what the batches of a segment, whose entries in its index are given, tell of transactions.
func (p *log) track(s *segment, index []byte) {
	for i, b := range s.batches {
		raw := s.raw[b.at : b.at+b.size]
		by := producing{int64(binary.BigEndian.Uint64(raw[producerAt:])), int16(binary.BigEndian.Uint16(raw[producerEpochAt:]))}
		switch {
		case b.open && index[i*indexEntry+14] == 1: // 0: compaction has written it anew, as ended
			p.active[by.id] = by.epoch
		case b.control:
			delete(p.active, by.id)
			p.transactions.ends[by] = commits(raw)
		}
	}
}

// commits tells whether the batch of an end is that of a transaction that is committed. Its record has a key of a version and a kind.
func commits(raw []byte) bool {
	const kindAt = headBytes + 1 + 1 + 1 + 1 + 1 + 2 // behind length, attributes, deltas of time and offset, the key's length, its version
	return len(raw) > kindAt+1 && binary.BigEndian.Uint16(raw[kindAt:]) == 1
}

// ended notes what a partition has left open.
func (p *log) ended(base int64) {
	for id, epoch := range p.active {
		by := producing{id, epoch}
		at := end{filepath.Join(p.folder.path, segmentName(base)), p.next, p.leaderEpoch}
		p.transactions.open[by] = append(p.transactions.open[by], at)
	}
}

// finish has the ends written that are missing: what producers may do first, so that one that asks again is told that its transaction is over.
func (v *visit) finish() error {
	if raw, err := v.read("session_state.json"); err != nil || json.Valid(raw) {
		return err // it was closed orderly, and kfake goes on with them
	}
	raw, err := v.read("pids.log")
	if err != nil {
		return err
	}
	known, over := producersIn(raw)
	for _, by := range slices.SortedFunc(maps.Keys(v.transactions.open), producing.compare) {
		commit := v.transactions.ends[by] && !over[by]
		v.mends = append(v.mends, func() error { return extend(v.dir, "pids.log", entryOf(afterEnd(by, commit, known[by.id]))) })
		for _, at := range v.transactions.open[by] {
			v.mends = append(v.mends, func() error { return at.write(v.dir, by, commit) })
		}
	}
	return nil
}

// producerEntry is an entry of pids.log.
type producerEntry struct {
	Type    string `json:"type"`
	ID      int64  `json:"pid"`
	Epoch   int16  `json:"epoch"`
	TxID    string `json:"txid,omitempty"`
	Timeout int32  `json:"timeout,omitempty"`
	Commit  *bool  `json:"commit,omitempty"`
}

// producersIn are the newest beginnings of producers that a log tells of, and their epochs of which it tells that a transaction has ended.
func producersIn(raw []byte) (known map[int64]producerEntry, over map[producing]bool) {
	known, over = map[int64]producerEntry{}, map[producing]bool{}
	good, _ := entries(raw)
	for len(good) > 0 {
		n := entryAt(good)
		var e producerEntry
		switch err := json.Unmarshal(good[entryHead:n], &e); {
		case err != nil: // of another version of kfake
		case e.Type == "init":
			known[e.ID] = e
		case e.Type == "endtx":
			over[producing{e.ID, e.Epoch}] = true
		}
		good = good[n:]
	}
	return known, over
}

// afterEnd tells what a producer may do next, of which was is known. One that asks again for the end of a transaction that is committed is told so: it begins
// with the next epoch, of which no transaction has ended. Of one that is aborted its epoch is two behind, since of one epoch behind kfake believes that
// it has been ended as it wants.
func afterEnd(by producing, commit bool, was producerEntry) producerEntry {
	if commit {
		return producerEntry{Type: "init", ID: by.id, Epoch: by.epoch + 1, TxID: was.TxID, Timeout: was.Timeout, Commit: &commit}
	}
	return producerEntry{Type: "timeout", ID: by.id, Epoch: int16(min(int(by.epoch)+2, math.MaxInt16))}
}

// entryOf is an entry of a log.
func entryOf(e producerEntry) []byte {
	text, _ := json.Marshal(e) // it has nothing that cannot be written
	b := make([]byte, entryHead, entryHead+len(text))
	binary.LittleEndian.PutUint32(b, uint32(2+len(text)))
	binary.LittleEndian.PutUint16(b[8:], 1)
	b = append(b, text...)
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	return b
}

// write writes the end of a transaction behind the last batch, and its entry into the index. Without the entry, the index is made anew.
func (e end) write(dir string, by producing, commit bool) error {
	now := time.Now().UnixMilli()
	err := extend(dir, e.segment+".dat", marker(by, commit, e.next, e.leaderEpoch, now))
	if err == nil {
		err = extend(dir, e.segment+".idx", indexEntryOf(e.leaderEpoch, now, false))
	}
	return err
}

// marker is the batch that ends a transaction (https://kafka.apache.org/documentation/#controlbatch).
func marker(by producing, commit bool, offset int64, leaderEpoch int32, time int64) []byte {
	b := filler(offset, 1, leaderEpoch, time)
	b[attributesAt+1] = transactional | control
	binary.BigEndian.PutUint64(b[producerAt:], uint64(by.id))
	binary.BigEndian.PutUint16(b[producerEpochAt:], uint16(by.epoch))
	binary.BigEndian.PutUint32(b[recordsAt:], 1)
	record := []byte{0, 0, 0, 8, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0} // attributes, deltas, the key's 4 bytes, the value's 6, no headers
	if commit {
		record[7] = 1
	}
	b = append(append(b, byte(2*len(record))), record...)
	binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-lengthCounts))
	binary.BigEndian.PutUint32(b[sumAt:], crc32.Checksum(b[attributesAt:], castagnoli))
	return b
}

// extend appends to a file.
func extend(dir, file string, more []byte) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(more)
	return errors.Join(err, f.Sync(), f.Close())
}
