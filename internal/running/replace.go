package running

import (
	"context"
	"fmt"
	"time"

	"cancha/internal/cellio"
)

// replacePatience is how long a thing is waited for that another one replaces.
const replacePatience = 30 * time.Second

// Replace stops, in order, what an earlier execution of the running cell has started of that kind under that name: a cell that is run again
// replaces what it has started before. Outside of cells it does nothing. Two things of one name that one execution starts, in a loop say, are
// left alone, and so are those of other cells. The error is that one does not stop; how it ends is its own business.
func (r *Registry) Replace(ctx context.Context, kind Kind, name string) error {
	run := cellio.CurrentRun()
	if run == nil || run.Origin == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, replacePatience)
	defer cancel()
	defer context.AfterFunc(run.Context(), cancel)() // by an interrupt
	for _, e := range r.Live() {
		if e.Kind != kind || e.Name != name || !e.precedes(run) {
			continue
		}
		if err := e.Stop(ctx); err != nil && ctx.Err() != nil {
			return fmt.Errorf("replace the %s %q of this cell's run before: %w", kind, name, err)
		}
	}
	return nil
}

// precedes tells whether an earlier execution of the run's cell has started the thing. Executions are numbered in their order.
func (e *Entry) precedes(run *cellio.Run) bool { return e.origin == run.Origin && e.Cell < run.Cell }
