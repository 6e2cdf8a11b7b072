package engine

import (
	"context"

	"cancha/kernel/cell"
)

// replace ends a process whose cell asks for another engine, and runs the cell in that. The session has agreed to lose what the process
// holds.
func (e *Engine) replace(ctx context.Context, old *process, r cell.Request, asks cell.Result, interrupted <-chan struct{}) cell.Result {
	wanted := asks.Replacement
	if r.Carried != nil { // it has been replaced for this cell already
		return failed("engine error", "the engine that was started for the cell asks for another one: "+wanted.Workspace)
	}
	if e.config.Replace == nil {
		return failed("engine error", "this kernel cannot replace its engine")
	}
	if err := e.config.Replace(wanted.Workspace); err != nil {
		return failed("engine error", "replace the engine: "+err.Error())
	}
	e.mu.Lock()
	old.told = true // that it ends is no loss
	e.mu.Unlock()
	old.replaced.Store(true)
	old.close(closeGrace)
	select {
	case <-interrupted:
		return failed("interrupted", "the cell was interrupted while its engine was replaced: run it again")
	default:
	}
	r.Carried = &wanted.Carried
	return e.Execute(ctx, r)
}
