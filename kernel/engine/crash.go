package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"cancha/kernel/cell"
)

// crashLimit bounds how much of a trace is kept: the cause stands in its first lines.
const crashLimit = 64 << 10

// crashLine matches how Go's runtime begins to report that it gives up.
var crashLine = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime: goroutine stack exceeds|unexpected fault address|SIG[A-Z]+: )`)

// crash holds back, on an engine's stderr, what looks like the runtime's own report of a crash, so that a person reads the
// cause as the cell's error instead of some hundred lines of the interpreter's stack.
type crash struct {
	mu   sync.Mutex
	held []byte
}

// filter returns what is ordinary output, and holds the rest from the first line of a crash on.
func (c *crash) filter(b []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.held) > 0 {
		c.hold(b)
		return nil
	}
	at := crashLine.FindIndex(b)
	if at == nil {
		return b
	}
	c.hold(b[at[0]:])
	return b[:at[0]]
}

func (c *crash) hold(b []byte) {
	if room := crashLimit - len(c.held); len(b) > room {
		b = b[:room]
	}
	c.held = append(c.held, b...)
}

// give returns what was held and forgets it.
func (c *crash) give() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.held
	c.held = nil
	return held
}

// death tells, after the process has ended, how it ended, as the error of each cell that ran.
func (p *process) death() *cell.Error {
	p.wait()
	return p.cause()
}

// findCause looks, once, for what ended the process.
func (p *process) findCause() *cell.Error {
	trace := string(p.pipes[1].crash.give())
	cause := deathCause(p.exit, trace)
	if p.cut && trace == "" {
		cause = "its connection to the kernel is gone: code of a cell has closed file descriptors that it had not opened"
	}
	value := cause + "; all variables are lost, a fresh engine runs the next cell"
	e := &cell.Error{Name: "engine died", Value: value, Traceback: []string{"engine died: " + value}}
	if trace = readable(trace); trace != "" {
		e.Traceback = append(e.Traceback, firstLines(trace, 30))
	}
	return e
}

// readable leaves out of a trace what no writer of a cell can use: the runtime's own stack, which comes first in a fatal
// error, and where memory has run out, of stack or of all, the interpreter's functions that came upon it.
func readable(trace string) string {
	head, rest, ok := strings.Cut(trace, "\n\nruntime stack:\n")
	if !ok {
		return trace
	}
	if strings.Contains(head, "stack overflow") || strings.Contains(head, "out of memory") {
		return head
	}
	if _, goroutines, ok := strings.Cut(rest, "\n\n"); ok {
		return head + "\n\n" + goroutines
	}
	return head
}

// memoryFlag is how the cause ends that an engine gives when it has passed the limit that it was started with.
const memoryFlag = "(--memory)"

// deathCause names, from the exit and the runtime's last words, what ended an engine, and what to do about it.
func deathCause(exit error, trace string) string {
	switch {
	case strings.Contains(trace, "stack exceeds"), strings.Contains(trace, "stack overflow"):
		return "stack overflow: a function called itself without end (look for a recursion that has no way out)"
	case strings.Contains(trace, memoryFlag):
		cause, _, _ := strings.Cut(strings.TrimPrefix(trace, "fatal error: "), "\n")
		return cause
	case strings.Contains(trace, "out of memory"), strings.Contains(trace, "cannot allocate memory"):
		return "out of memory"
	case strings.Contains(trace, "all goroutines are asleep"):
		return "deadlock: all goroutines are asleep"
	case trace != "":
		first, _, _ := strings.Cut(strings.TrimSpace(trace), "\n")
		return first
	}
	var status *exec.ExitError
	switch {
	case exit == nil:
		return "the cell ended the process (os.Exit(0))"
	case !errors.As(exit, &status):
		return exit.Error()
	}
	if w, ok := status.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return signalCause(w.Signal())
	}
	return fmt.Sprintf("the cell ended the process with exit status %d (os.Exit or log.Fatal)", status.ExitCode())
}

func signalCause(s syscall.Signal) string {
	if s == syscall.SIGKILL {
		return "it was killed (signal 9): by somebody, or by the system for want of memory"
	}
	return fmt.Sprintf("it was ended by signal %d (%s)", int(s), s)
}

func firstLines(s string, n int) string {
	lines := bytes.SplitAfterN([]byte(s), []byte("\n"), n+1)
	if len(lines) <= n {
		return s
	}
	return string(bytes.Join(lines[:n], nil)) + "…"
}
