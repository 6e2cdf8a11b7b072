package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/recursion"
)

const (
	// crashLimit bounds how much is held back: the trace of some two thousand goroutines.
	crashLimit = 1 << 20
	// causeLimit bounds how much is kept of what was passed on: the cause stands in its first lines.
	causeLimit = 64 << 10
	// crashTime is more than the runtime takes from the first line of its report to the first goroutine's, and from each of its
	// writes to the next, which are microseconds: an engine that takes longer lives.
	crashTime = 500 * time.Millisecond
	// wordsTime is the same where nobody but the runtime writes: on a busy machine it takes seconds to look through a deep stack.
	wordsTime = 20 * time.Second
	// overflowTime is as much for a stack that is full: between its ends, which the runtime writes, it counts what lies between them,
	// millions of calls.
	overflowTime = 30 * time.Second
)

// How the runtime begins its report of a stack that is full, in its first three lines.
var (
	overflowBegins  = []byte("runtime: goroutine stack exceeds ")
	overflowFollows = []byte("\nfatal error: stack overflow\n")
)

const overflowHead = 512

var (
	// crashLine matches how Go's runtime begins to report that it gives up.
	crashLine = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime: goroutine stack exceeds|unexpected fault address|SIG[A-Z]+: )`)
	// traceLine matches what follows in such a report and hardly ever in other words: the first stack.
	traceLine = regexp.MustCompile(`(?m)^(goroutine \d|runtime stack:)`)
)

// crash holds back, on an engine's stderr, what looks like the runtime's own report of a crash, so that a user reads the
// cause as the cell's error instead of some hundred lines of the interpreter's stack.
//
// Any program may write such words, and nothing that a living engine writes may be lost. So they are passed on if no stack follows within
// crashTime, if nothing follows for that long, when a cell ends, and when they are too many to hold. As long as more comes they may still
// be the runtime's, so their beginning is kept as a possible cause.
type crash struct {
	patience time.Duration // 0: crashTime

	mu    sync.Mutex
	words []byte    // from the first line of a crash on; nil without one
	held  bool      // they have not been passed on
	trace bool      // a stack is among them
	begun time.Time // when the first came, and
	last  time.Time // anything after it
}

// filter takes what has come and returns what is to be passed on: all of it, or what stands before the first line of a crash, or
// what was held with it.
func (c *crash) filter(b []byte, now time.Time) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = now
	if c.held {
		c.hold(b)
		if len(c.words) > crashLimit || c.lives(now) {
			return c.release()
		}
		return nil
	}
	at := crashLine.FindIndex(b)
	if at == nil {
		return b
	}
	c.words, c.held, c.trace, c.begun = nil, true, false, now
	c.hold(b[at[0]:])
	return b[:at[0]]
}

// lives tells, of an engine whose words are held, that the runtime would have come to a stack by now.
func (c *crash) lives(now time.Time) bool { return !c.trace && now.Sub(c.begun) >= c.limit() }

// limit is how long the runtime may take to write more.
func (c *crash) limit() time.Duration {
	if bytes.HasPrefix(c.words, overflowBegins) && bytes.Contains(c.words[:min(len(c.words), overflowHead)], overflowFollows) {
		return overflowTime
	}
	return cmp.Or(c.patience, crashTime)
}

// quiet returns what is to be passed on when nothing more has come by now.
func (c *crash) quiet(now time.Time) (held []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := now.Sub(c.last) >= c.limit()
	if over || c.lives(now) {
		held = c.release()
	}
	if over {
		c.words = nil
	}
	return held
}

// hold looks for a stack in what is new and the line that was begun before: the whole, each time, would take too long.
func (c *crash) hold(b []byte) {
	const begun = 32
	from := max(0, len(c.words)-begun)
	c.words = append(c.words, b...)
	c.trace = c.trace || traceLine.Match(c.words[from:])
}

// release returns what is held, to be passed on.
func (c *crash) release() []byte {
	if !c.held {
		return nil
	}
	held := c.words
	c.held, c.words = false, bytes.Clone(held[:min(len(held), causeLimit)])
	return held
}

// give returns what is held, at the end of a cell or of an engine that was not ended by the runtime.
func (c *crash) give() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.release()
}

// due is when to ask quiet; false where there is nothing to see to.
func (c *crash) due() (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at = c.last
	if c.held && !c.trace {
		at = c.begun
	}
	return at.Add(c.limit()), c.words != nil
}

// cause returns what may have been the last words of the runtime.
func (c *crash) cause() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.words
}

// byRuntime reports whether exit is how Go's runtime ends a process that it gives up: with status 2 (see runtime/panic.go), as an engine
// does that has exceeded its memory limit, or by the signal that it met. No program meets SIGKILL.
func byRuntime(exit error) bool {
	var status *exec.ExitError
	if !errors.As(exit, &status) {
		return false
	}
	w, ok := status.Sys().(syscall.WaitStatus)
	return ok && (w.Exited() && w.ExitStatus() == 2 || w.Signaled() && w.Signal() != syscall.SIGKILL)
}

// death tells, after the process has ended, how it ended, as the error of each cell that ran.
func (p *process) death() *cell.Error {
	p.wait()
	return p.cause()
}

// findCause looks, once, for what ended the process.
func (p *process) findCause() *cell.Error {
	trace := ""
	if byRuntime(p.exit) {
		trace = string(p.pipes[2].crash.cause())
		if trace == "" {
			trace = string(p.pipes[1].crash.cause())
		}
	}
	cause := deathCause(p.exit, trace)
	if p.cut && trace == "" {
		cause = "its connection to the kernel is gone: code of a cell has closed file descriptors that it had not opened"
	}
	if p.replaced.Load() { // a cell that began meanwhile
		cause = "its engine was replaced, as another cell has asked"
	}
	value := cause + "; all variables are lost, a fresh engine runs the next cell"
	e := &cell.Error{Name: "engine died", Value: value, Traceback: []string{"engine died: " + value}}
	if overflows(trace) {
		_, calls := recursion.Describe(recursion.FromReport(trace))
		e.Traceback = append(e.Traceback, calls...)
	} else if trace = readable(trace); trace != "" {
		e.Traceback = append(e.Traceback, firstLines(trace, 30))
	}
	return e
}

// readable leaves out of a trace what no writer of a cell can use: the runtime's own stack, which comes first in a fatal
// error, and where memory has run out, the interpreter's functions that came upon it.
func readable(trace string) string {
	head, rest, ok := strings.Cut(trace, "\n\nruntime stack:\n")
	if !ok {
		return trace
	}
	if strings.Contains(head, "out of memory") {
		return head
	}
	if _, goroutines, ok := strings.Cut(rest, "\n\n"); ok {
		return head + "\n\n" + goroutines
	}
	return head
}

// overflows reports whether trace is the report of a goroutine whose stack was full.
func overflows(trace string) bool {
	return strings.Contains(trace, "stack exceeds") || strings.Contains(trace, "stack overflow")
}

// memoryFlag is how the cause ends that an engine gives when it has passed the limit that it was started with.
const memoryFlag = "(--memory)"

// deathCause names, from the exit and the runtime's last words, what ended an engine, and what to do about it.
func deathCause(exit error, trace string) string {
	switch {
	case overflows(trace):
		text, _ := recursion.Describe(recursion.FromReport(trace))
		return "stack overflow: " + text
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
		return "the cell ended the process (exit status 0, by syscall.Exit, C code or a package as it was loaded)"
	case !errors.As(exit, &status):
		return exit.Error()
	}
	if w, ok := status.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return signalCause(w.Signal())
	}
	return fmt.Sprintf("the cell ended the process with exit status %d (by syscall.Exit, C code or a package as it was loaded)", status.ExitCode())
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
