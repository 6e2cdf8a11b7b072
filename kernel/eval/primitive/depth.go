package primitive

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"cancha/internal/cellio"
	"cancha/internal/stack"
	"cancha/kernel/recursion"
)

// Go ends the process when a goroutine's stack is full, and no recover prevents it. So somebody who sees that stacks have become
// large (Look) makes goroutines measure their own when they next enter a function of a cell, and one whose stack is nearly full is
// ended: its deferred calls run, and nothing else is lost. A panic would do as well for compiled functions, but takes the square of the
// depth where the interpreter passes it on at each of its functions.

const (
	// noted is how many entries of interpreted functions are noted before the end of a goroutine, which Go's own trace does not name.
	noted = 64
	// named is without how many of them nothing could be said of the recursion.
	named = 16
	// enough are the entries, of several looks, in which a cycle shows itself as a rule.
	enough = 6
	// room is how much more of its stack a goroutine may use for that, and as much again where none is named yet: whoever looked may
	// have begun when it was deeper than that.
	room = 16 << 20
)

// unnamed is said of an interpreted recursion of which no function is known.
const unnamed = "recursion without end: a function of a cell calls itself"

// depths is what a machine knows of stacks.
type depths struct {
	most    uintptr     // how much of its stack a goroutine may use; an eighth of it is deep
	looking atomic.Bool // goroutines are to measure their stacks
	looks   atomic.Int64
	seen    atomic.Bool // one of them was deep since the last look
	caught  sync.Map    // goroutine → true, of those whose ends are reported
	falls   sync.Map    // goroutine → *fall, of those whose stacks are nearly full
}

// fall is a goroutine that is being ended. It is the goroutine's own.
type fall struct {
	entries  []called
	count    int
	cycle    bool      // one look has seen a function twice, and so all that leads from it to itself
	overflow *Overflow // set when it has been ended, and unwinds
}

// called is a call of an interpreted function.
type called struct {
	used     uintptr // of the stack, which tells when it has returned
	function string
	look     int64 // in which it was noted: between two looks calls go by unseen
}

// Overflow is the error of a goroutine that was ended because its recursion had nearly filled its stack.
type Overflow struct {
	Text  string   // what calls itself
	Trace []string // the calls that come again and again, innermost first
}

func (o *Overflow) Error() string { return "stack overflow: " + o.Text }

// Look makes goroutines measure their stacks, until Looked is called or one of them finds that its stack is deep.
func (m *Machine) Look() {
	m.depth.seen.Store(false)
	m.depth.looks.Add(1)
	m.look(true)
}

// Looked ends what Look has begun, and tells whether a goroutine was deep.
func (m *Machine) Looked() (deep bool) {
	m.look(false)
	return m.depth.seen.Load()
}

func (m *Machine) look(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.depth.looking.Store(on)
	m.updateStop()
}

// updateStop sets the lowered program's stop variable. Call it with mu held.
func (m *Machine) updateStop() {
	m.stop(m.depth.looking.Load() || len(m.interrupts) > 0 || m.stopped > 0)
}

// measure ends the calling goroutine if its stack is nearly full. One look is enough to learn that a goroutine is deep: goroutines that
// measure at each call are slower, and compiled ones use twice the stack.
func (m *Machine) measure(function string) {
	if !m.depth.looking.Load() {
		return
	}
	used := stack.Used()
	if used < m.depth.most/8 {
		return
	}
	m.depth.seen.Store(true)
	if used < m.depth.most {
		m.look(false)
		return
	}
	id := stack.Goroutine()
	v, _ := m.depth.falls.LoadOrStore(id, &fall{})
	f := v.(*fall)
	if f.overflow != nil { // a deferred call's
		m.look(false)
		return
	}
	f.enter(called{used, function, m.depth.looks.Load()})
	calls, interpreted, sure := innermost(f.entries, m.trace.Function)
	if interpreted && (f.count < noted && used < m.depth.most+room || len(f.entries) < named && used < m.depth.most+2*room) {
		return
	}
	m.look(false)
	f.overflow = &Overflow{}
	f.overflow.Text, f.overflow.Trace = recursion.Describe(calls)
	if sure = sure || f.cycle || len(f.entries) >= enough; interpreted && (!sure || len(f.overflow.Trace) == 0) { // it was seen too late to learn which
		f.overflow.Text, f.overflow.Trace = unnamed, nil
	}
	if _, caught := m.depth.caught.Load(id); !caught { // a library's goroutine, at whose end nobody asks
		m.reportOverflow()
	}
	runtime.Goexit()
}

// enter notes the entry of an interpreted function, and forgets those that have returned.
func (f *fall) enter(c called) {
	f.count++
	if c.function == "" {
		return
	}
	for n := len(f.entries); n > 0 && f.entries[n-1].used >= c.used; n = len(f.entries) {
		f.entries = f.entries[:n-1]
	}
	for n := len(f.entries); n > 0 && f.entries[n-1].look == c.look && !f.cycle; n-- {
		f.cycle = f.entries[n-1].function == c.function
	}
	f.entries = append(f.entries, c)
}

// printsFunction is what prints values in place of package fmt.
const printsFunction = "primitive.(*printer).value"

// innermost are the latest calls on the calling goroutine's stack, innermost first; interpreted tells that the interpreter is among
// them, whose functions stand in entries, and sure that a cell's function is twice among those that Go itself names.
func innermost(entries []called, known func(lowered string) (Frame, bool)) (calls []recursion.Call, interpreted, sure bool) {
	seen := map[recursion.Call]bool{}
	var pcs [1024]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, runsFunction) {
			interpreted = true
			if n := len(entries); n > 0 && known != nil {
				if own, ok := known(strings.ReplaceAll(entries[n-1].function, ".", "ᐧ")); ok {
					calls = append(calls, recursion.Call{Function: own.Function, Place: own.Place()})
				}
				entries = entries[:n-1]
			}
		} else if strings.HasSuffix(f.Function, printsFunction) {
			calls = append(calls, recursion.Call{Function: "fmt.Print"})
		} else if c, ok := recursion.CallOf(f.Function, fmt.Sprintf("%s:%d", f.File, f.Line)); ok {
			calls = append(calls, c)
			sure = sure || c.Place != "" && seen[c]
			seen[c] = true
		}
		if !more {
			return calls, interpreted, sure
		}
	}
}

// Place is where a frame was, "cell 3:2".
func (f Frame) Place() string {
	if f.Line == 0 {
		return f.Cell
	}
	return fmt.Sprintf("%s:%d", f.Cell, f.Line)
}

// Overflowed returns, at the end of a goroutine, why it was ended, once; nil if it was not.
func (m *Machine) Overflowed() *Overflow {
	v, ok := m.depth.falls.LoadAndDelete(stack.Goroutine())
	if !ok {
		return nil
	}
	return v.(*fall).overflow
}

// forgetFall forgets that the calling goroutine was to be ended, where it came back by itself.
func (m *Machine) forgetFall() {
	id := stack.Goroutine()
	if v, ok := m.depth.falls.Load(id); ok && v.(*fall).overflow == nil {
		m.depth.falls.Delete(id)
	}
}

// reportOverflow tells the cell of the calling goroutine if that was ended because of its depth.
func (m *Machine) reportOverflow() {
	o := m.Overflowed()
	if o == nil {
		return
	}
	lines := append(m.traceback("panic in goroutine: "+o.Error()+"; variables are kept", nil), o.Trace...)
	_, _ = cellio.Stderr.Write([]byte(strings.Join(lines, "\n") + "\n"))
}
