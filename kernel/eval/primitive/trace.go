package primitive

import (
	"strings"
	"sync"
)

// maxTrace is how many functions of a panic's trace are kept; deep recursion has more.
const maxTrace = 32

// Trace takes what the interpreter writes while a panic leaves its functions: a line for each, innermost first, written by
// the goroutine that panics. Name turns the function names of the lowered program into the cells'.
type Trace struct {
	Name func(lowered string) string

	mu    sync.Mutex
	lines map[int64][]string
}

// Write takes a line.
func (t *Trace) Write(p []byte) (int, error) {
	_, rest, ok := strings.Cut(string(p), "panic: main.")
	if !ok {
		return len(p), nil
	}
	name, _, _ := strings.Cut(rest, "(")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines == nil {
		t.lines = map[int64][]string{}
	}
	id := goroutineID()
	if len(t.lines[id]) < maxTrace {
		t.lines[id] = append(t.lines[id], strings.TrimSuffix(name, ".func"))
	}
	return len(p), nil
}

// take returns the trace of the calling goroutine's panic, each function once in a row.
func (t *Trace) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := goroutineID()
	lines := t.lines[id]
	delete(t.lines, id)
	var out []string
	for _, l := range lines {
		name := l
		if t.Name != nil {
			name = t.Name(strings.TrimRight(strings.ReplaceAll(l, ".func", ""), "."))
		}
		if name != "" && (len(out) == 0 || out[len(out)-1] != name) {
			out = append(out, name)
		}
	}
	return out
}

func (t *Trace) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.lines, goroutineID())
}
