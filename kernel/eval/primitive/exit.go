package primitive

import (
	"runtime"
	"strings"

	"cancha/internal/cellio"
	"cancha/internal/stack"
)

// os.Exit in a cell ends the cell, not the process: the goroutine that calls it leaves its functions by a panic that cells cannot recover, as
// an interrupted one does, and the others of the cell are interrupted. Functions that cells have deferred are not run, as in Go: each stops
// where it begins (see staysExited). What a library has deferred runs, and a library's function that a cell has: they give back locks.

// Exited is how a cell has ended the process, which ends the cell.
type Exited struct {
	Code  int
	Trace []Frame // the functions of the cells that the call stands in, innermost first, as far as they are compiled
	Own   bool    // the goroutine that began the run has called it
}

// Exit is os.Exit. Outside of cells it ends the process, its output sent.
func (m *Machine) Exit(code int) {
	run := cellio.CurrentRun()
	if run == nil {
		m.flush()
		m.exit(code)
		return
	}
	id, trace := stack.Goroutine(), flat(cellFrames())
	_, library := m.guests.Load(id)
	runs := m.exitsCell(run, Exited{code, trace, m.goroutineOf(run) == goroutineID()})
	if !runs && !library {
		head := (&cellio.ExitError{Code: code}).Error() + " in goroutine"
		_, _ = cellio.Stderr.Write([]byte(strings.Join(m.traceback(head, trace), "\n") + "\n"))
	}
	if runs || !library { // a library that works for a cell that has ended hears of it as of a panic
		run.Cancel(cellio.ErrInterrupted)
		m.Interrupt(run)
	}
	if !m.recovers() { // nobody would recover a panic
		runtime.Goexit()
	}
	e := interrupted{&cellio.ExitError{Code: code}}
	m.exitsGoroutine(id, e)
	m.throw(e)
}

// ExitedBy is told, before the process ends, that os.Exit was called, by a library that a cell has called for one. It does not return where
// the calling goroutine belongs to a cell.
func (m *Machine) ExitedBy(code int) {
	if cellio.OwnRun() != nil {
		m.Exit(code)
	}
}

// exitsCell notes how the cell of a run ends; the first call counts. It returns false where the cell has ended already.
func (m *Machine) exitsCell(run *cellio.Run, e Exited) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, runs := m.cells[run]; !runs {
		return false
	}
	if m.exited[run] == nil {
		m.exited[run] = &e
	}
	return true
}

// Exited returns, once, how the cell of a run has ended the process; nil if it has not.
func (m *Machine) Exited(run *cellio.Run) *Exited {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.exited[run]
	delete(m.exited, run)
	return e
}

// exitsGoroutine notes that a goroutine, the calling one, leaves its functions. leaves ends that.
func (m *Machine) exitsGoroutine(id uintptr, e interrupted) {
	if _, already := m.exiting.Swap(id, e); !already {
		m.exits.Add(1)
		m.stopGuests(1) // the functions that it defers are to look
	}
}

// staysExited stops a function that the calling goroutine has deferred before os.Exit was called.
func (m *Machine) staysExited() {
	if m.exits.Load() == 0 {
		return
	}
	if e, ok := m.exiting.Load(stack.Goroutine()); ok && throwing() {
		m.throw(e.(interrupted))
	}
}

// leaves notes that the calling goroutine is out of the functions that os.Exit was called in.
func (m *Machine) leaves(id uintptr) {
	if _, was := m.exiting.LoadAndDelete(id); was {
		m.exits.Add(-1)
		m.stopGuests(-1)
	}
}

// ExitIn is the status of an os.Exit that an error, or a panic of a cell, tells of: a query that a function of a cell has ended so.
func (m *Machine) ExitIn(x any) (code int, ok bool) {
	e := exitIn(x)
	if e == nil {
		return 0, false
	}
	return e.Code, true
}
