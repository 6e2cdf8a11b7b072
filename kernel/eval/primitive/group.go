package primitive

import (
	"slices"
	"sync"
)

// groupWaits are the waits for WaitGroups. An interrupted one leaves a goroutine behind in Wait. Where the cell is run again its
// variable is a new group in the same place, and what that wakes first is the old goroutine: so one that comes back with nobody to
// tell looks again for those who wait there now. The zero value is ready.
type groupWaits struct {
	mu   sync.Mutex
	live map[*sync.WaitGroup][]*groupWait
}

// groupWait is somebody who waits.
type groupWait struct {
	over   chan struct{} // closed when the group is done
	second bool          // another goroutine looks for it too
}

func (g *groupWaits) enter(wg *sync.WaitGroup) *groupWait {
	w := &groupWait{over: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live == nil {
		g.live = map[*sync.WaitGroup][]*groupWait{}
	}
	g.live[wg] = append(g.live[wg], w)
	return w
}

func (g *groupWaits) leave(wg *sync.WaitGroup, w *groupWait) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(wg, w)
}

// remove reports whether w was still waiting.
func (g *groupWaits) remove(wg *sync.WaitGroup, w *groupWait) bool {
	i := slices.Index(g.live[wg], w)
	if i < 0 {
		return false
	}
	g.live[wg] = slices.Delete(g.live[wg], i, i+1)
	if len(g.live[wg]) == 0 {
		delete(g.live, wg)
	}
	return true
}

// wait waits for the group on behalf of w.
func (g *groupWaits) wait(wg *sync.WaitGroup, w *groupWait) {
	defer func() {
		if fault := recover(); fault != nil && !g.left(wg, w) {
			panic(fault) // misuse by who still waits
		}
	}()
	wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.remove(wg, w) {
		close(w.over)
		return
	}
	for _, other := range g.live[wg] {
		if !other.second {
			other.second = true
			go g.wait(wg, other) // which comes back at once if the group is done
		}
	}
}

// left reports whether w waits no more.
func (g *groupWaits) left(wg *sync.WaitGroup, w *groupWait) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !slices.Contains(g.live[wg], w)
}
