package stream

import (
	"sync/atomic"

	"cancha/stream/checkpoint"
)

// unit is a part of a query that a snapshot holds whole: all of it, or one partition where partitions go from process to process.
type unit struct {
	name      string    // checkpoint.Whole, or that of the partition
	partition Partition // where there is one
	lane      *lane     // of partition, as its snapshot says; nil: it says nothing of it
	results   results   // Running.publishing guards them
	out       [][]Value // rows that have been made ready; the graph's lock guards them
	refused   *Rows     // records that are dead letters; Running.mu guards them

	busy    atomic.Bool  // something has happened in this epoch: there were records or rows, or a partition has come further without
	handled atomic.Int64 // records that count for MaxRecords, those of earlier runs too
	// counting tells that another process has begun to count: one of its group without a MaxRecords of its own goes on with that.
	counting bool

	// Of the epoch that has begun, where there is a checkpoint; Running.publishing guards them.
	rows    [][]Value
	letters *Rows

	// Of whoever ends epochs (keeper.ending).
	header checkpoint.Header // of the newest snapshot
	number int64             // of the newest snapshot that there is
	kept   int64             // the first snapshot that is still kept
	room   map[string][]byte // what the sections of the newest snapshot lie in
	sinks  []checkpoint.Sink // as they are now, those of dead letters behind the others
	own    bool              // the newest snapshot is of this run, and the sinks have gone back to it

	over bool        // its source had come to its end, and all was given out, before this run
	lost atomic.Bool // another process has gone on from its snapshot
}

// unitName is the name of a partition's unit.
func unitName(p Partition) string { return "partition " + laneName(p) }

func (r *Running) newUnit(name string) *unit {
	u := &unit{name: name, refused: NewRows(letterColumns()...), results: results{keep: r.query.keep, identity: r.graph.identity}}
	if r.graph.identity != nil {
		u.results.at = map[string]int{}
	}
	return u
}

// parts returns the units of a run.
func (r *Running) parts() []*unit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.units
}
