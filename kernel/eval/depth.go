package eval

import (
	"runtime/metrics"
	"time"

	"cancha/internal/cellio"
)

// Go ends the process when a stack passes a gigabyte, and nothing can be done then. Stacks grow by doubling, so one of half of
// that is seen in time.
const (
	stackLimit    = 400 << 20
	stackInterval = 20 * time.Millisecond
	stackMetric   = "/memory/classes/heap/stacks:bytes"
)

// watchStack ends a run's recursion that does not seem to end. It returns when over is closed.
func (p *Program) watchStack(run *cellio.Run, over <-chan struct{}) {
	tick := time.NewTicker(stackInterval)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: stackMetric}}
	leaving := false
	for {
		select {
		case <-over:
			if leaving {
				p.machine.Leave(run, false)
			}
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		if large := sample[0].Value.Uint64() > stackLimit; large != leaving {
			leaving = large
			p.machine.Leave(run, large)
		}
	}
}
