package eval

import (
	"fmt"
	"time"

	"cancha/internal/cellio"
)

// slowAfter is how long a cell may be interpreted until it says so, unless the configuration says otherwise.
const slowAfter = 2 * time.Second

// A goroutine is looked at busyLooks times, with busyInterval between them, and has to be at work in the interpreter most times:
// what waits for a stream, or has a library compute, would not be faster compiled.
const (
	busyLooks    = 10
	busyInterval = 10 * time.Millisecond
)

// watchInterpreted tells a cell's author that the cell is still interpreted, and how it would be faster. It returns when over is
// closed.
func (p *Program) watchInterpreted(run *cellio.Run, over <-chan struct{}) {
	next := time.NewTimer(p.slowAfter)
	defer next.Stop()
	for looks, busy := 0, 0; ; looks++ {
		select {
		case <-over:
			return
		case <-next.C:
		}
		if !p.depth.isLarge() && p.machine.Interpreting(run) { // looking walks all stacks
			busy++
		}
		if busy > busyLooks/2 {
			p.note(run.Cell, []string{p.faster()})
			return
		}
		next.Reset(busyInterval)
		if looks >= busyLooks {
			looks, busy = 0, 0
			next.Reset(p.slowAfter)
		}
	}
}

// faster says how to have a cell run faster that is interpreted.
func (p *Program) faster() string {
	const slow = "this cell still runs, and is interpreted: its loops are about a hundred times slower than compiled"
	switch {
	case !p.native.available():
		return fmt.Sprintf("%s. Cells are not compiled here: %s", slow, p.native.reason)
	case p.mode.get() == engineInterp:
		return slow + ", since the interpreter was asked for. With %engine auto cells that loop are compiled"
	}
	return slow + ". Interrupt it and write %%native in its first line to have it compiled"
}
