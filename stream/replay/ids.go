package replay

import "strconv"

// idsPerMinute is how many match ids belong to each minute of Config.Start: producers that are started a minute apart give
// different ids as long as neither plays more than that many matches in a minute.
const idsPerMinute = 10000

// ids gives out match ids by the partition that their key hashes to: the smallest that is still free.
type ids struct {
	partitionOf func(key []byte) int
	candidate   int64
	free        [][]int64 // by partition, passed over so far
}

func newIDs(cfg Config) ids {
	return ids{
		partitionOf: cfg.PartitionOf,
		candidate:   cfg.Start.Unix() / 60 * idsPerMinute,
		free:        make([][]int64, cfg.Partitions),
	}
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
