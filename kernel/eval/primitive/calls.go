package primitive

import (
	"math"
	"sync"
	"sync/atomic"
)

// calls counts what runs code of cells: their goroutines, and their functions that libraries call on other ones (see Guard). While somebody
// excludes it, such code waits before it begins. The zero value is ready.
type calls struct {
	n  atomic.Int64 // negative while excluded
	mu sync.Mutex   // held by who excludes
}

// enter costs one atomic addition: a library may call a function for each row of a table.
func (c *calls) enter() {
	if c.n.Add(1) < 0 {
		c.wait()
	}
}

func (c *calls) leave() { c.n.Add(-1) }

func (c *calls) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
}

func (c *calls) exclude() (release func(), ok bool) {
	c.mu.Lock()
	if !c.n.CompareAndSwap(0, math.MinInt64) {
		c.mu.Unlock()
		return nil, false
	}
	return func() {
		c.n.Add(math.MinInt64) // wraps: those that wait are left
		c.mu.Unlock()
	}, true
}

// Exclude keeps code of cells from beginning until release is called, so that what it may write to can be read; ok is false where some
// runs. Not counted is what a library calls on a goroutine of its own without being known to (see check.StartsGoroutines). Nothing that may
// wait for such code is to be done before release.
func (m *Machine) Exclude() (release func(), ok bool) { return m.calls.exclude() }
