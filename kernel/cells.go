package kernel

import (
	"encoding/json"
	"slices"
	"sync"
)

// cellsRemembered is how many cells that have ended can still be told apart, and how many handlers of comms: output of a
// goroutine that an older one started goes to the latest cell. They are counted apart, since a slider that is dragged has more
// handlers in a minute than a notebook has cells.
const cellsRemembered = 1024

// cellInfo is what is remembered of a cell's execution, or of a comm's handler.
type cellInfo struct {
	parent json.RawMessage // header of its request
	count  int
	silent bool
	aside  bool // a comm's handler
	ended  bool
	text   *transcript
}

// cellMemory numbers executions and knows whose output a frame is.
type cellMemory struct {
	overflow *overflow // nil: what is too much to show is not kept

	mu     sync.Mutex
	last   int64 // the latest number
	latest int64 // the latest cell
	known  map[int64]*cellInfo
	order  map[bool][]int64 // what is known of cells and, under true, of handlers, oldest first
}

func newCellMemory() *cellMemory {
	return &cellMemory{known: map[int64]*cellInfo{}, order: map[bool][]int64{}}
}

// begin enters a new execution and returns its serial number, from 1.
func (m *cellMemory) begin(c cellInfo) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	if !c.aside {
		m.latest = m.last
	}
	c.text = &transcript{to: m.overflow, count: c.count}
	m.known[m.last] = &c
	m.order[c.aside] = append(m.order[c.aside], m.last)
	m.forget(c.aside)
	return m.last
}

// forget drops the oldest that has ended, where there are too many.
func (m *cellMemory) forget(aside bool) {
	ids := m.order[aside]
	if len(ids) <= cellsRemembered {
		return
	}
	if at := slices.IndexFunc(ids, func(id int64) bool { return m.known[id].ended }); at >= 0 {
		delete(m.known, ids[at])
		m.order[aside] = slices.Delete(ids, at, at+1)
	}
}

// end marks an execution as ended.
func (m *cellMemory) end(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[id].ended = true
}

// of returns what is known of a cell; of the latest where it is forgotten or none is meant. ok is false before the first.
func (m *cellMemory) of(id int64) (c cellInfo, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.known[id]
	if p == nil {
		p = m.known[m.latest]
	}
	if p == nil {
		return cellInfo{}, false
	}
	return *p, true
}
