package primitive

import (
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"cancha/kernel/recursion"
)

// maxTrace is how many functions of a panic's trace are kept; deep recursion has more.
const maxTrace = 32

// Frame is a function of the cells that a panic left.
type Frame struct {
	Function string // "f", "T.M"; "" for a cell's statements
	Cell     string // "cell 3"
	Line     int    // where it was, 0 where that is not known
}

// Trace takes what the interpreter writes while a panic leaves its functions: a line for each, innermost first, written by
// the goroutine that panics. Function knows the functions of the lowered program by name.
type Trace struct {
	Function func(lowered string) (Frame, bool)

	mu     sync.Mutex
	panics map[int64]*passage
}

// passage is a panic on its way through a goroutine's functions.
type passage struct {
	compiled [][]Frame // before the first interpreted function, before the second, …
	frames   []Frame
	written  int
}

// Write takes a line.
func (t *Trace) Write(p []byte) (int, error) {
	_, rest, ok := strings.Cut(string(p), "panic: main.")
	if !ok {
		return len(p), nil
	}
	name, _, _ := strings.Cut(rest, "(")
	id := goroutineID()
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.panics[id]
	if g == nil {
		g = &passage{compiled: cellFrames()}
		if t.panics == nil {
			t.panics = map[int64]*passage{}
		}
		t.panics[id] = g
	}
	g.pass()
	if len(g.frames) > maxTrace || t.Function == nil {
		return len(p), nil
	}
	if f, ok := t.Function(strings.TrimRight(strings.ReplaceAll(name, ".func", ""), ".")); ok {
		g.add(f)
	}
	return len(p), nil
}

// pass adds the compiled functions that called into the panic before the next interpreted one.
func (g *passage) pass() {
	if g.written < len(g.compiled) {
		for _, f := range g.compiled[g.written] {
			g.add(f)
		}
	}
	g.written++
}

// add adds a function, unless it is the one before: a literal, or a recursion.
func (g *passage) add(f Frame) {
	if n := len(g.frames); n > 0 && g.frames[n-1].Function == f.Function && g.frames[n-1].Cell == f.Cell {
		return
	}
	g.frames = append(g.frames, f)
}

// take returns the trace of the calling goroutine's panic and forgets it.
func (t *Trace) take() []Frame {
	id := goroutineID()
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.panics[id]
	if g == nil {
		g = &passage{compiled: cellFrames()}
	}
	delete(t.panics, id)
	for g.written < len(g.compiled) {
		g.pass()
	}
	return g.frames
}

func (t *Trace) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.panics) > 0 { // a goroutine that ends because its stack is full calls this at every depth
		delete(t.panics, goroutineID())
	}
}

// runsFunction is the function of yaegi that runs one of the lowered program.
const runsFunction = "yaegi/interp.runCfg"

// cellFrames finds the compiled functions of cells on the calling goroutine's stack, innermost first, in groups that interpreted
// ones divide. While a panic is on its way the functions that it has left are still there. The compiler has been told the cells'
// names and lines.
func cellFrames() [][]Frame {
	var pcs [2048]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	groups := [][]Frame{nil}
	for {
		f, more := frames.Next()
		file := filepath.Base(f.File)
		switch {
		case strings.HasSuffix(f.Function, runsFunction):
			groups = append(groups, nil)
		case strings.HasPrefix(file, "cell ") || strings.HasPrefix(file, "expression "):
			last := len(groups) - 1
			groups[last] = append(groups[last], Frame{recursion.FunctionName(f.Function), file, f.Line})
		}
		if !more {
			return groups
		}
	}
}
