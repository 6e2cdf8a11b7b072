package primitive

import (
	"fmt"
	"runtime"
	"strings"

	"cancha/internal/cellio"
)

// Interpreting tells whether the goroutine that began a run is at work in the interpreter right now: neither waiting for something, nor in
// a library or a compiled cell.
func (m *Machine) Interpreting(run *cellio.Run) bool {
	state, functions := goroutine(m.goroutineOf(run))
	if state, _, _ = strings.Cut(state, ","); state != "running" && state != "runnable" {
		return false
	}
	return interprets(functions)
}

// interprets tells whether the interpreter is at work in functions, innermost first. What cells are lent, the runtime and our own
// operations, works for whoever has called it: a compiled function prints by the same as an interpreted statement.
func interprets(functions []string) bool {
	for _, f := range functions {
		switch first, _, _ := strings.Cut(packageOf(f), "/"); first {
		case "runtime", "internal", "reflect", "sync":
			continue
		}
		if strings.HasPrefix(f, "cancha/kernel/eval/primitive.") || strings.HasPrefix(f, "cancha/kernel/eval/native/support.") {
			continue
		}
		return strings.HasPrefix(f, "github.com/traefik/yaegi/") || strings.HasPrefix(f, "cancha/kernel/eval")
	}
	return false
}

// goroutine returns what another goroutine does, as a crash's report tells it: its state, and the functions that it is in,
// innermost first. There are none where it has ended.
func goroutine(id int64) (state string, functions []string) {
	head, text, _ := strings.Cut(stackText(id), "\n")
	_, state, _ = strings.Cut(head, "[")
	state, _, _ = strings.Cut(state, "]")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "created by") {
			continue
		}
		line = strings.TrimSpace(line)
		if i := strings.LastIndexByte(line, '('); i > 0 {
			line = line[:i]
		}
		functions = append(functions, line)
	}
	return state, functions
}

// stackText is what the runtime prints of a goroutine, "" where it has ended.
func stackText(id int64) string {
	buf := make([]byte, 1<<20)
	text := "\n" + string(buf[:runtime.Stack(buf, true)])
	_, text, _ = strings.Cut(text, fmt.Sprintf("\ngoroutine %d ", id))
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}
