package lower

import (
	"fmt"
	"strings"
)

// Names of what the back end has to provide.
const (
	RuntimePath  = "cancha/cell" // import path of the primitives
	runtimeAlias = "rtᐧ"
	StopVariable = "stopᐧ" // bool of the lowered program: set while a cell is to be interrupted
)

// Unit is a lowered cell: a program in the interpreter's part of Go, to be added to those before it.
type Unit struct {
	Source  string            // declarations
	Imports []string          // compiled packages that Source imports for the first time
	Entry   string            // name of the func() that runs the cell
	Shows   bool              // the entry hands the value of its last expression to the primitive Show
	Names   map[string]string // name in Source → what a person calls it, for traces
	Notes   []string          // what the cell's author should know: things that differ from compiled Go
}

// writer collects the parts of a unit.
type writer struct {
	imports, types, vars, funcs []string
	paths                       []string // of imports
	setup                       []string // statements in front of the entry's own
	names                       map[string]string
	notes                       []string
}

func (w *writer) source() string {
	var b strings.Builder
	b.WriteString("package main\n")
	for _, part := range [][]string{w.imports, w.types, w.vars, w.funcs} {
		for _, s := range part {
			b.WriteString(s)
			b.WriteString("\n")
		}
	}
	return b.String()
}

// note tells the author something once a unit.
func (w *writer) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, n := range w.notes {
		if n == text {
			return
		}
	}
	w.notes = append(w.notes, text)
}
