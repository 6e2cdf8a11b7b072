package eval

import (
	"runtime/metrics"
	"sync"
	"time"

	"cancha/kernel/eval/primitive"
)

// Go ends the process when a goroutine's stack is full: at 512 MiB, since stacks grow by doubling and the limit is a gigabyte. From the
// point where stacks are large, a recursion takes at least a quarter of a second to get there. So an endless one is seen in time (see
// primitive.Look), unless its calls have frames of megabytes or it is a library's own: then the kernel tells how the engine died.
const (
	stackMetric   = "/memory/classes/heap/stacks:bytes"
	stackInterval = 20 * time.Millisecond
	deepInterval  = time.Millisecond // while some goroutine is known to be deep
	lookTime      = time.Millisecond // in which a goroutine that calls functions of cells has entered one

	// How often goroutines are asked that an interrupted cell has left: first, and at least.
	firstAsk, lastAsk = 2 * time.Millisecond, 256 * time.Millisecond
)

// depth watches the stacks of a program's goroutines for as long as any of them run, and has those asked that an interrupted cell has
// left behind.
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

// run looks for deep recursions, and for what was left behind, until no cell and no goroutine of one runs.
func (d *depth) run(m *primitive.Machine) {
	timer := time.NewTimer(stackInterval)
	defer timer.Stop()
	asks := asks{every: firstAsk}
	for {
		<-timer.C
		if d.over(m) {
			return
		}
		next := stackInterval
		if asks.due(m.LeftBehind(), time.Now()) || d.isLarge() {
			m.Look()
			time.Sleep(lookTime) // not for an order of events: so long the goroutines are slower
			if m.Looked() {
				next = deepInterval
			}
		}
		if asks.left > 0 {
			next = min(next, asks.every)
		}
		timer.Reset(next)
	}
}

// asks says when to ask what interrupted cells have left behind: at once, then ever more seldom.
type asks struct {
	left  int // runs
	every time.Duration
	last  time.Time
}

func (a *asks) due(left int, now time.Time) bool {
	if left > a.left {
		a.every = firstAsk
	}
	a.left = left
	if left == 0 || now.Sub(a.last) < a.every {
		return false
	}
	a.every, a.last = min(2*a.every, lastAsk), now
	return true
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
