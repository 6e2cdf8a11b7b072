package stream

import (
	"fmt"
	"math"
	"sync"
)

// owners knows from which partition of an input each value of the path comes by which its records are promised to be keyed. It is asked once for a group and
// window; for a group without one, once in its time to live.
type owners struct {
	mu   sync.Mutex
	of   map[string]owner // made when the first is known
	next int64            // no key is forgotten before; where there are keys
}

type owner struct {
	partition Partition
	until     int64 // event time from which on none of its groups is there
}

// claim notes that a key comes from a partition up to an event time; the reason says that it comes from another one.
func (o *owners) claim(in *input, partition Partition, key string, end int64) (reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, known := o.of[key]
	if known && first.partition != partition {
		if first.partition.Topic != partition.Topic {
			return fmt.Sprintf("a group comes from topics %s and %s: leave out KeyedBy", first.partition.Topic, partition.Topic)
		}
		return fmt.Sprintf("a group comes from partitions %d and %d: key records by %s, or leave out KeyedBy", first.partition.ID, partition.ID,
			in.query.keyedBy)
	}
	if o.of == nil {
		o.of = map[string]owner{}
	}
	if !known && (len(o.of) == 0 || end < o.next) {
		o.next = end
	}
	o.of[key] = owner{partition, max(end, first.until)}
	return ""
}

// expire forgets the keys all of whose groups a watermark has passed.
func (o *owners) expire(watermark int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if watermark < o.next {
		return // all keys would be looked at many times a second
	}
	o.next = math.MaxInt64
	for key, each := range o.of {
		if each.until <= watermark {
			delete(o.of, key)
			continue
		}
		o.next = min(o.next, each.until)
	}
}
