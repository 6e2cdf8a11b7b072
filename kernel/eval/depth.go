package eval

import (
	"runtime/metrics"
	"sync"
	"time"

	"cancha/kernel/eval/primitive"
)

// Go ends the process when a goroutine's stack is full: at 512 MiB, since stacks grow by doubling and the limit is a gigabyte. A
// recursion takes a quarter of a second and more from where stacks are large to there, so one that does not end is seen in time (see
// primitive.Look), unless its calls have frames of megabytes or it is a library's own: then the kernel tells how the engine died.
const (
	stackMetric   = "/memory/classes/heap/stacks:bytes"
	stackInterval = 20 * time.Millisecond
	deepInterval  = time.Millisecond // while some goroutine is known to be deep
	lookTime      = time.Millisecond // in which a goroutine that calls functions of cells has entered one
)

// depth watches the stacks of a program's goroutines for as long as any of them run.
type depth struct {
	large uint64 // bytes of all stacks together, above which one of them may be deep

	mu       sync.Mutex
	cells    int // that run
	watching bool
}

// watch sees to it that stacks are watched until over is called, and as long as goroutines of cells run.
func (d *depth) watch(m *primitive.Machine) (over func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cells++
	if !d.watching {
		d.watching = true
		go d.run(m)
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.cells--
	}
}

// run looks for deep recursions until no cell and no goroutine of one runs.
func (d *depth) run(m *primitive.Machine) {
	timer := time.NewTimer(stackInterval)
	defer timer.Stop()
	for {
		<-timer.C
		if d.over(m) {
			return
		}
		next := stackInterval
		if d.isLarge() {
			m.Look()
			time.Sleep(lookTime) // not for an order of events: so long the goroutines are slower
			if m.Looked() {
				next = deepInterval
			}
		}
		timer.Reset(next)
	}
}

// isLarge tells that some goroutine may be in a deep recursion.
func (d *depth) isLarge() bool {
	sample := []metrics.Sample{{Name: stackMetric}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() > d.large
}

// over tells that there is nothing to watch any more.
func (d *depth) over(m *primitive.Machine) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watching = d.cells > 0 || m.Busy()
	return !d.watching
}
