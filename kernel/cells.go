package kernel

import (
	"encoding/json"
	"sync"

	"cancha/kernel/cell"
)

// cellsRemembered is how many executions can still be told apart: output of a goroutine that an older cell started goes
// to the latest cell.
const cellsRemembered = 1024

// cellInfo is what is remembered of a cell's execution.
type cellInfo struct {
	parent json.RawMessage // header of its request
	count  int
	silent bool
	ended  bool
	shown  *cell.Error // the error that was published while it ran
}

// cellMemory numbers executions and knows whose output a frame is.
type cellMemory struct {
	mu     sync.Mutex
	latest int64
	known  map[int64]*cellInfo
}

func newCellMemory() *cellMemory { return &cellMemory{known: map[int64]*cellInfo{}} }

// begin enters a new execution and returns its serial number, from 1.
func (m *cellMemory) begin(c cellInfo) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest++
	m.known[m.latest] = &c
	delete(m.known, m.latest-cellsRemembered)
	return m.latest
}

// end marks an execution as ended and returns the error that was published for it, if any.
func (m *cellMemory) end(id int64) *cell.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.known[id]
	c.ended = true
	return c.shown
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

// showError remembers that an error of a cell is published. It reports false for a second one while the cell runs: a
// client is to see exactly one error for a failed cell.
func (m *cellMemory) showError(id int64, e *cell.Error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.known[id]
	if c == nil || c.ended {
		return true
	}
	if c.shown != nil {
		return false
	}
	c.shown = e
	return true
}
