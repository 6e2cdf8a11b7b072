package stream

import (
	"context"
	"errors"
	"fmt"

	"cancha/stream/checkpoint"
)

// Savepoint copies the state of a query with a Checkpoint, as it is now, to another place, while the query goes on: to try another version of it, or to
// move it to another machine. A query whose Checkpoint that place is goes on from there. Where its sinks are those of the first one, only one of the
// two may run. Rows that the first one has given out since come again: a sink that can go back takes them off before (Reverter), and with another one the start
// is refused.
//
// Where the processes of a group share the query, the state of all partitions is copied: of those that other processes have, as their newest snapshots in
// the Checkpoint say. Each partition goes on from its own offset, so they need not be of one moment. The source must be Partitioned.
//
// A savepoint that fails, or whose process ends meanwhile, leaves a place that is marked: a query whose Checkpoint it is does not start
// (checkpoint.ErrUnfinished). It can be taken again into that place, unless the query has come too far from what is there: then it says so, and takes an empty
// one.
func (r *Running) Savepoint(ctx context.Context, to checkpoint.Place) error {
	if at := r.work.at(); at != "" {
		return fmt.Errorf("stream: a savepoint of a query that runs on %s, which keeps the state: copy the folder of its Checkpoint there", at)
	}
	if r.keeper == nil {
		return errors.New("stream: a savepoint of a query without a Checkpoint")
	}
	if r.Active() {
		if err := r.keeper.epoch(false, true); err != nil {
			return err
		}
	}
	names, err := r.keeper.all(ctx)
	if err != nil {
		return err
	}
	r.keeper.ending.Lock() // this process removes no snapshot meanwhile
	defer r.keeper.ending.Unlock()
	return checkpoint.Copy(ctx, r.query.place, to, names...)
}

// all are the names of the units of the query that have snapshots, those of other processes too.
func (k *keeper) all(ctx context.Context) (names []string, err error) {
	if !k.shared {
		return []string{checkpoint.Whole}, nil
	}
	source := k.r.graph.inputs[0].query.source
	partitioned, ok := source.(Partitioned)
	if !ok {
		return nil, fmt.Errorf("stream: a savepoint of a query that several processes share, and %s does not tell which partitions there are: "+
			"its source needs a method Partitions (stream.Partitioned), or run the query in one process", describeSource(source))
	}
	partitions, err := partitioned.Partitions(ctx)
	if err != nil {
		return nil, fmt.Errorf("stream: a savepoint of a query that several processes share: which partitions there are: %w; take it when the source answers", err)
	}
	for _, p := range partitions {
		epochs, err := k.place.List(ctx, unitName(p))
		if err != nil {
			return nil, err
		}
		if len(epochs) > 0 { // else nothing of it has been given out
			names = append(names, unitName(p))
		}
	}
	return names, nil
}
