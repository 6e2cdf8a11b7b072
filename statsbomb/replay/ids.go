package replay

import (
	"strconv"
	"time"
)

// ids gives out match ids by the partition that their key hashes to: the smallest that is still free.
type ids struct {
	partitionOf func(key []byte) int
	candidate   int64
	free        [][]int64 // by partition, passed over so far
}

func newIDs(cfg Config) ids {
	return ids{partitionOf: cfg.PartitionOf, candidate: cfg.firstID, free: make([][]int64, cfg.Partitions)}
}

// firstIDNow is where the ids of a replay begin that nobody will want to repeat: at the microseconds since 1970. A replay
// plays far fewer matches than microseconds pass, so that two replays share an id only if they begin within the same few
// microseconds. Ids stay below 2^53, which readers that hold numbers as floating point need, until the year 2255.
func firstIDNow(now time.Time) int64 { return now.UnixMicro() }

// firstIDOf is where the ids of a replay begin that is the same for the same start and seed: at the start, in microseconds,
// and half a minute later at most, as the seed says. Multiples of 2^64 over the golden ratio lie apart (Knuth, The Art of
// Computer Programming 3, 6.4): the ids of the seeds 0 to 999 begin more than 15,000 apart.
func firstIDOf(start time.Time, seed uint64) int64 {
	const golden = 0x9E3779B97F4A7C15
	return start.UnixMicro() + int64(seed*golden>>39)
}

func (s *ids) next(partition int) int64 {
	for len(s.free[partition]) == 0 {
		s.candidate++
		p := s.partitionOf(key(s.candidate))
		s.free[p] = append(s.free[p], s.candidate)
	}
	id := s.free[partition][0]
	s.free[partition] = s.free[partition][1:]
	return id
}

// key is the record key of a match.
func key(id int64) []byte { return strconv.AppendInt(nil, id, 10) }
