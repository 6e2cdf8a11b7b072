package stream

import (
	"context"
	"errors"

	"cancha/stream/checkpoint"
)

// Savepoint copies the state of a query with a Checkpoint, as it is now, to another place, while the query goes on: to try another version of it, or to
// move it to another machine. A query whose Checkpoint that place is goes on from there. Where its sinks are those of the first one, only one of the
// two may run.
func (r *Running) Savepoint(ctx context.Context, to checkpoint.Place) error {
	if r.keeper == nil {
		return errors.New("stream: a savepoint of a query without a Checkpoint")
	}
	if r.Active() {
		if err := r.keeper.epoch(false, true); err != nil {
			return err
		}
	}
	r.keeper.ending.Lock() // no snapshot is removed meanwhile
	defer r.keeper.ending.Unlock()
	for _, u := range r.parts() {
		if err := checkpoint.Copy(ctx, r.query.place, to, u.name); err != nil {
			return err
		}
	}
	return nil
}
