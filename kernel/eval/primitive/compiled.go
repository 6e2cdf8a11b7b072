package primitive

import (
	"regexp"
	"runtime"
	"strings"

	"cancha/internal/cellio"
	"cancha/kernel/eval/native/support"
)

var _ support.Machine = (*Machine)(nil)

// Done is closed when the calling goroutine's cell is interrupted; nil where that is never.
func (m *Machine) Done() <-chan struct{} { return m.done() }

// Interrupted stops the calling goroutine, whose cell has been interrupted.
func (m *Machine) Interrupted() any {
	m.throw(interrupted{})
	return nil
}

// throw raises the panic of an interrupt. Deferred functions that run because of it find it on their stack.
func (m *Machine) throw(i interrupted) { panic(i) }

const throwName = "primitive.(*Machine).throw"

// throwing tells whether the calling goroutine runs deferred functions after an interrupt in compiled code. A library that
// recovers ends that by itself, since the frames are then gone.
func throwing() bool {
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, throwName) {
			return true
		}
		if !more {
			return false
		}
	}
}

// Recovered returns what recover returned to a function of a cell, nil for an interrupt.
func (m *Machine) Recovered(p any) any {
	if _, ok := p.(interrupted); ok {
		return nil
	}
	m.trace.forget()
	return m.recovered(p)
}

// task is a goroutine of a cell.
type task struct {
	run *cellio.Run
	id  int64
}

// Began registers the calling goroutine as one of its cell.
func (m *Machine) Began() any {
	run := cellio.CurrentRun()
	return task{run, m.begin(run)}
}

// Ended, deferred with what Began returned, reports the goroutine's panic to its cell.
func (m *Machine) Ended(goroutine any) {
	t := goroutine.(task)
	defer m.end(t.run, t.id)
	if p := recover(); p != nil {
		m.report(p)
		return
	}
	m.reportOverflow()
}

// Called tells that a function begins that compiled code may call on a goroutine of its own. It defers Left or Caught.
func (m *Machine) Called() { m.calls.enter() }

// Left ends what Called began. A panic passes, to the library that recovers it.
func (m *Machine) Left() { m.calls.leave() }

// Caught ends what Called began, of a function that a goroutine begins with, and reports a panic to the cell. On a goroutine of a cell
// panics pass.
func (m *Machine) Caught() {
	defer m.calls.leave()
	if p := recover(); p != nil {
		m.caught(p)
	}
}

// catch is Caught for a function that is called by way of package reflect.
func (m *Machine) catch() {
	if p := recover(); p != nil {
		m.caught(p)
	}
}

// caught reports a panic, or goes on with it where somebody recovers it who knows more.
func (m *Machine) caught(p any) {
	if m.recovers() {
		panic(p)
	}
	m.report(p)
}

// recovers tells whether somebody recovers the panics of the calling goroutine: it is a cell's, or a library's that says so.
func (m *Machine) recovers() bool {
	_, ours := m.running.Load(goroutineID())
	return ours || m.guest() != nil
}

// ShowOf returns the function that takes the values of a cell's last expression: those of a call that gives several, too.
func (m *Machine) ShowOf(cell int64) func(values ...any) {
	return func(values ...any) { m.Show(cell, values...) }
}

// ownPath is where the package of a compiled cell shows in the name of a type: in the arguments of a generic one. Any other
// declared type is main's in print, since the package is called so.
var ownPath = regexp.MustCompile(`\bcells/[0-9a-f]{16}(?:-\d+)?\.`)

// OnPackage tells the machine of the package of a compiled cell. Call it before the cell runs.
func (m *Machine) OnPackage(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.packages[path+"."] = true
}

// redeclared is the runtime's error about a cell's type that a later cell has declared anew.
var redeclared = regexp.MustCompile(`(interface conversion: [^\n]* is [^\n]*, not [^\n]*) \(types from different packages\)`)

// clean writes the types and methods of compiled cells as a program would. It leaves everything else that cells print alone: their own text
// has neither the mark of hidden methods nor the path of a package, which is a hash of its text.
func (m *Machine) clean(text string) string {
	if strings.Contains(text, support.HiddenMark) {
		text = strings.ReplaceAll(text, support.HiddenMark, "")
	}
	if strings.Contains(text, " (types from different packages)") {
		text = redeclared.ReplaceAllString(text, "$1 (the type has been declared anew since)")
	}
	if !strings.Contains(text, "cells/") {
		return text
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return ownPath.ReplaceAllStringFunc(text, func(path string) string {
		if m.packages[path] {
			return "main."
		}
		return path
	})
}
