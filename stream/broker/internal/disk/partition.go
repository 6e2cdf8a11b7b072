package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// partition looks over the segments of one.
func (v *visit) partition(f folder) error {
	bases, err := v.bases(f)
	if err != nil {
		return err
	}
	p := &log{visit: v, folder: f, sum: Partition{Topic: f.topic, Number: f.number, First: -1}, active: map[int64]int16{}}
	p.exact = !v.topics[f.topic].compacted() && !v.wasCut(f)
	if err := p.promise(); err != nil {
		return err
	}
	for i, base := range bases {
		if want := p.next; base > want && p.exact && (i > 0 || p.begins >= 0 && base > p.begins) {
			p.found(f.path, fmt.Sprintf("offsets %d to %d are missing: a segment is gone", max(want, p.begins), base-1), "the rest is served", nothing)
		}
		if err := p.segment(base, i == len(bases)-1); err != nil {
			return err
		}
	}
	if len(bases) > 0 {
		p.ended(bases[len(bases)-1])
	}
	if len(bases) == 0 && p.begins >= 0 && p.ends > p.begins {
		p.found(f.path, fmt.Sprintf("offsets %d to %d are missing: all segments are gone", p.begins, p.ends-1), "it begins anew", nothing)
	}
	p.sum.First = max(p.sum.First, 0)
	v.report.Partitions = append(v.report.Partitions, p.sum)
	return p.snapshot(bases)
}

// bases are the first offsets of the segments, which their files are named after.
func (v *visit) bases(f folder) (bases []int64, err error) {
	entries, err := os.ReadDir(filepath.Join(v.dir, f.path))
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".dat"); ok {
			if base, err := strconv.ParseInt(name, 10, 64); err == nil {
				bases = append(bases, base)
			}
		}
	}
	slices.Sort(bases)
	return bases, err
}

// segmentName is the name of a segment's files, less their extensions.
func segmentName(base int64) string { return strconv.FormatInt(base, 10) }

// wasCut tells whether something was taken out of a partition before.
func (v *visit) wasCut(f folder) bool {
	_, err := os.Lstat(filepath.Join(v.dir, damagedFolder, f.path))
	return !errors.Is(err, fs.ErrNotExist)
}

// log is a partition while its segments are looked over, in order.
type log struct {
	*visit
	folder folder
	sum    Partition
	exact  bool  // each batch begins where the one before it ends
	next   int64 // the offset behind the last batch
	begins int64 // the first offset and the one behind the last when it was closed orderly; -1 and 0: unknown
	ends   int64
	sizes  map[int64]int64
	resize bool // the sizes in the snapshot are not those of the segments

	leaderEpoch int32           // of the last batch
	active      map[int64]int16 // producers with a transaction that has not ended so far, and its epoch
}

// segment looks over one file of batches and the index beside it.
func (p *log) segment(base int64, last bool) error {
	file := filepath.Join(p.folder.path, segmentName(base)+".dat")
	raw, err := p.read(file)
	if err != nil {
		return err
	}
	batches, holes := scan(raw)
	out := p.straighten(file, base, raw, batches, holes)
	for _, h := range holes {
		p.hole(file, base, raw, h, last && h.before == len(batches), out)
	}
	if last {
		p.complete(file, base, out)
	}
	p.count(base, out)
	if !bytes.Equal(out.raw, raw) {
		p.mends = append(p.mends, func() error { return write(p.dir, file, out.raw) })
		p.resize = true
	}
	return p.index(base, out)
}

// segment is the content that a segment shall have.
type segment struct {
	raw     []byte
	batches []batch
}

// straighten puts the batches of a segment behind each other, and right what stands in front of their checksums.
func (p *log) straighten(file string, base int64, raw []byte, batches []batch, holes []hole) *segment {
	out := &segment{raw: make([]byte, 0, len(raw))}
	want := max(base, p.next)
	for i, b := range batches {
		torn := slices.ContainsFunc(holes, func(h hole) bool { return h.before == i })
		follows := int64(-1) // the first offset of the next batch, where it tells something of this one
		if i+1 < len(batches) && !slices.ContainsFunc(holes, func(h hole) bool { return h.before == i+1 }) {
			follows = batches[i+1].first
		}
		at := len(out.raw)
		out.raw = append(out.raw, raw[b.at:b.at+b.size]...)
		first := p.firstOf(b, want, follows, torn)
		if first != b.first || b.magic != magic {
			binary.BigEndian.PutUint64(out.raw[at:], uint64(first))
			out.raw[at+magicAt] = magic
			p.found(file, fmt.Sprintf("batch at byte %d: its head says offset %d", b.at, b.first), fmt.Sprintf("it is offset %d by its neighbours", first), nothing)
		}
		b.next += first - b.first
		b.first, b.at, want = first, at, b.next
		out.batches = append(out.batches, b)
	}
	return out
}

func nothing() error { return nil }

// firstOf is the offset of a batch's first record: what its head says, where that can be.
func (p *log) firstOf(b batch, want, follows int64, torn bool) int64 {
	switch n := b.next - b.first; {
	case b.first < want, p.exact && !torn && b.first != want:
		return want
	case follows >= 0 && b.first+n > follows && want+n <= follows:
		return follows - n // it would reach into the next one
	}
	return b.first
}

// hole sets aside what is no batch. At the end of the log its offsets are held by a batch without records: were they given to
// others, a reader that has committed one of them would miss those.
func (p *log) hole(file string, base int64, raw []byte, h hole, end bool, out *segment) {
	what := fmt.Sprintf("%d bytes from byte %d are no batch of records", h.size, h.at)
	if h.lost > 0 && h.sure {
		what = fmt.Sprintf("the batch at byte %d is damaged, %d records", h.at, h.lost)
	}
	p.setAside(file, what, h.at, raw[h.at:h.at+h.size])
	if end && h.lost > 0 {
		out.fill(max(base, p.next), h.lost)
	}
}

// fill puts a batch without records behind the last one, or at offset from where there is none.
func (s *segment) fill(from, n int64) {
	b := batch{next: from}
	if len(s.batches) > 0 {
		b = s.batches[len(s.batches)-1]
	}
	f := filler(b.next, n, b.epoch, b.maxTime)
	s.batches = append(s.batches, batch{at: len(s.raw), size: len(f), first: b.next, next: b.next + n, epoch: b.epoch, maxTime: b.maxTime, magic: magic})
	s.raw = append(s.raw, f...)
}

// complete compares the end of a log with that of its orderly end.
func (p *log) complete(file string, base int64, out *segment) {
	end := max(base, p.next)
	if n := len(out.batches); n > 0 {
		end = out.batches[n-1].next
	}
	if n := p.ends - end; n > 0 && n <= 1<<30 {
		p.found(file, fmt.Sprintf("offsets %d to %d are missing at its end", end, p.ends-1), "they are not given again", nothing)
		out.fill(end, n)
	}
}

func (p *log) count(base int64, s *segment) {
	if p.sizes == nil {
		p.sizes = map[int64]int64{}
	}
	p.sizes[base] = int64(len(s.raw))
	p.sum.Bytes += int64(len(s.raw))
	p.sum.Batches += len(s.batches)
	for _, b := range s.batches {
		if p.sum.First < 0 {
			p.sum.First = b.first
		}
		p.sum.Records += b.records
		p.next, p.leaderEpoch = b.next, b.epoch
	}
	p.sum.Next = p.next
}

// indexEntry is of one batch: a version, the low byte of the checksum of what follows, the epoch, the latest time of any batch
// up to here, and whether it is part of a transaction.
const indexEntry = 15

// index has the index made anew where its entries are not those of the batches.
func (p *log) index(base int64, s *segment) error {
	file := filepath.Join(p.folder.path, segmentName(base)+".idx")
	raw, err := p.read(file)
	if err != nil {
		return err
	}
	entries := len(raw) / indexEntry
	for at := 0; at < entries*indexEntry; at += indexEntry {
		if raw[at+1] != byte(crc32.Checksum(raw[at+2:at+indexEntry], castagnoli)) {
			p.found(file, fmt.Sprintf("entry %d is damaged", at/indexEntry), "made anew from the batches", nothing)
			entries = 0
			break
		}
	}
	if entries >= len(s.batches) && !p.resize {
		p.track(s, raw)
		return nil
	}
	// A crash between a batch and its entry leaves one too few; that is no damage.
	var made []byte
	latest := int64(-1 << 63)
	for _, b := range s.batches {
		latest = max(latest, b.maxTime)
		made = append(made, indexEntryOf(b.epoch, latest, b.open)...)
	}
	p.track(s, made)
	p.mends = append(p.mends, func() error { return write(p.dir, file, made) })
	return nil
}

// indexEntryOf is the entry of a batch.
func indexEntryOf(epoch int32, latest int64, open bool) []byte {
	e := make([]byte, indexEntry)
	e[0] = 1
	binary.LittleEndian.PutUint32(e[2:], uint32(epoch))
	binary.LittleEndian.PutUint64(e[6:], uint64(latest))
	if open {
		e[14] = 1
	}
	e[1] = byte(crc32.Checksum(e[2:], castagnoli))
	return e
}

// snapshotFile is what an orderly end leaves beside the segments.
const snapshotFile = "snapshot.json"

// promise reads where the partition began and ended, if the last end was an orderly one.
func (p *log) promise() error {
	p.begins = -1
	file := filepath.Join(p.folder.path, snapshotFile)
	raw, err := p.read(file)
	if err != nil || p.sums == nil || p.changed(file, raw) {
		return err
	}
	var snap struct {
		Begins int64 `json:"log_start_offset"`
		Ends   int64 `json:"high_watermark"`
	}
	if json.Unmarshal(raw, &snap) == nil {
		p.begins, p.ends = snap.Begins, snap.Ends
	}
	return nil
}

// snapshot keeps the file true that an orderly end has left: kfake takes it if the sizes in it are right.
func (p *log) snapshot(bases []int64) error {
	file := filepath.Join(p.folder.path, snapshotFile)
	raw, err := p.read(file)
	if err != nil || raw == nil {
		return err
	}
	var snap map[string]json.RawMessage
	var segments []map[string]json.RawMessage
	if json.Unmarshal(raw, &snap) != nil || json.Unmarshal(snap["segments"], &segments) != nil && snap["segments"] != nil || p.changed(file, raw) {
		p.setAside(file, "it is damaged; records that were deleted from the start of a segment are back", 0, raw)
		p.mends = append(p.mends, func() error { return os.Remove(filepath.Join(p.dir, file)) })
		return nil
	}
	if !p.resize || p.sums == nil { // after a crash it is of an earlier end, and not used
		return nil
	}
	for i, s := range segments {
		if base, err := strconv.ParseInt(string(s["base_offset"]), 10, 64); err == nil && i < len(bases) {
			s["size"] = json.RawMessage(strconv.FormatInt(p.sizes[base], 10))
		}
	}
	next := strconv.AppendInt(nil, p.next, 10)
	snap["high_watermark"] = next
	var stable int64
	if json.Unmarshal(snap["last_stable_offset"], &stable) != nil || stable > p.next {
		snap["last_stable_offset"] = next
	}
	if snap["segments"], err = json.Marshal(segments); err != nil {
		return err
	}
	made, err := json.Marshal(snap)
	p.mends = append(p.mends, func() error { return write(p.dir, file, made) })
	return err
}
