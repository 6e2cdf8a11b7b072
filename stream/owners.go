package stream

import (
	"fmt"
	"sync"
)

// matchOwners knows from which partition each match comes. It is asked once per row and window, not per record.
type matchOwners struct {
	mu        sync.Mutex
	partition map[int64]int
}

// claim notes that a match comes from a partition; the reason says that it comes from another one.
func (o *matchOwners) claim(match int64, partition int) (reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	owner, known := o.partition[match]
	if !known {
		o.partition[match] = partition
		return ""
	}
	if owner == partition {
		return ""
	}
	return fmt.Sprintf("a match comes from partitions %d and %d: key records by match_id, or add AcrossPartitions to the query",
		owner, partition)
}
