package primitive

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/stack"
)

// interrupted is the panic that stops a goroutine whose cell was interrupted, or that has called os.Exit. Cells cannot recover it.
type interrupted struct {
	exit *cellio.ExitError // nil: by an interrupt
}

func (i interrupted) Error() string {
	if i.exit != nil {
		return i.exit.Error()
	}
	return "interrupted"
}

// Deferred is a function's list of deferred calls, and its panic while they run.
type Deferred struct {
	m         *Machine
	calls     []deferredCall
	returned  bool
	panicking bool
	value     any
	reflected bool // the value is the cell's, though it may look like the interpreter's, see reflects
}

// deferredCall is a call that a function has deferred.
type deferredCall struct {
	call    func()
	library bool // of a library's function: it gives back what was taken, a lock for one, also after os.Exit
}

// Frame runs the body of a function that has deferred calls, then these calls, in Go's order and with Go's rules for panics.
func (m *Machine) Frame(body func(*Deferred)) {
	d := &Deferred{m: m}
	defer d.unwind()
	body(d)
	d.returned = true
}

// Defer adds a call.
func (d *Deferred) Defer(call func()) { d.calls = append(d.calls, deferredCall{call, false}) }

// DeferLibrary adds a call of a library's function.
func (d *Deferred) DeferLibrary(call func()) { d.calls = append(d.calls, deferredCall{call, true}) }

// Recover ends the panic under which the deferred calls run and returns its value: nil without one, for a nil list (the
// function was not called by a defer statement), and while the cell is being interrupted.
func (d *Deferred) Recover() any {
	if d == nil || !d.panicking {
		return nil
	}
	v := d.asGo()
	if stops(v) {
		return nil
	}
	d.forget()
	return d.m.recovered(v)
}

// asGo is the panic's value as Go would have it.
func (d *Deferred) asGo() any {
	if d.reflected {
		return d.value
	}
	return d.m.translate(d.value)
}

// caught begins a panic that was just recovered.
func (d *Deferred) caught(p any) { d.panicking, d.value, d.reflected = true, p, d.m.reflects(p) }

func (d *Deferred) forget() {
	d.panicking, d.value, d.reflected = false, nil, false
	d.m.trace.forget()
}

// RecoverOf is a deferred call of recover itself, in a function that runs as a deferred call of outer: it does nothing while
// that function panics.
func (d *Deferred) RecoverOf(outer *Deferred) {
	if !d.panicking {
		outer.Recover()
	}
}

func (d *Deferred) unwind() {
	if !d.returned {
		if p := recover(); p != nil {
			d.caught(p)
		}
	}
	d.finish()
}

// finish makes the deferred calls and goes on with the panic, if there is one then.
func (d *Deferred) finish() {
	for len(d.calls) > 0 {
		last := len(d.calls) - 1
		c := d.calls[last]
		d.calls = d.calls[:last]
		if c.library || !d.exits() {
			d.run(c.call)
		}
	}
	if d.panicking {
		if d.reflected {
			d.m.reflected.Store(goroutineID(), d.value)
		}
		panic(d.value)
	}
}

// exits tells whether os.Exit was called: the cell's own calls are not made then.
func (d *Deferred) exits() bool {
	i, ok := d.value.(interrupted)
	return ok && d.panicking && i.exit != nil
}

// run makes one deferred call. A panic in it takes the place of the one before, unless cells cannot recover that. Where it ends the
// goroutine, there is no panic any more, and the other calls are made before those of the functions around. After an interrupt,
// checks are off.
func (d *Deferred) run(call func()) {
	if i, ok := d.value.(interrupted); ok && d.panicking && i.exit == nil {
		id := goroutineID()
		if _, nested := d.m.unwinding.LoadOrStore(id, true); !nested {
			defer d.m.unwinding.Delete(id)
		}
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		if p == nil { // runtime.Goexit
			d.forget()
			d.finish()
			return
		}
		if !(d.panicking && stops(d.asGo())) {
			d.caught(p)
		}
	}()
	call()
	returned = true
}

// Throw panics. The value is the cell's own, whatever its type.
func (m *Machine) Throw(v any) { panic(v) }

// Check stops the calling goroutine if its cell has been interrupted, or if its recursion does not seem to end. Lowered code calls it
// at loops while the stop variable is set, compiled code at function entries, too.
func (m *Machine) Check() { m.check("") }

// Enter is Check at the entry of a function of the lowered program, whose name has dots for the lowerer's marks.
func (m *Machine) Enter(function string) { m.check(function) }

func (m *Machine) check(function string) {
	m.measure(function)
	m.staysExited()
	r := cellio.CurrentRun()
	if !m.toStop(r) {
		return
	}
	if s := m.stayed.Load(); s != nil && s.run == r && time.Now().Before(s.until) {
		return
	}
	if _, off := m.unwinding.Load(goroutineID()); off || throwing() {
		return
	}
	if !mayTear() {
		m.stayed.Store(&stay{r, time.Now().Add(patience)})
		return
	}
	m.throw(interrupted{})
}

// done is closed when the calling goroutine's cell is interrupted; nil where that is never.
func (m *Machine) done() <-chan struct{} {
	r := cellio.CurrentRun()
	if m.inBubble() {
		return nil
	}
	if m.toStop(r) {
		if _, off := m.unwinding.Load(goroutineID()); off || throwing() {
			return nil
		}
	}
	return m.untilStop(r)
}

// Sleep is time.Sleep that an interrupt ends.
func (m *Machine) Sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-m.done():
		if mayTear() {
			panic(interrupted{})
		}
		<-t.C
	}
}

// Do runs a cell on the calling goroutine and returns the panic that ended it. Interrupted tells that it was an interrupt;
// trace are the functions of the cells that the panic left, innermost first.
func (m *Machine) Do(run *cellio.Run, f func()) (p any, wasInterrupted bool, trace []Frame) {
	id := m.begin(run)
	defer m.end(run, id)
	defer m.runs(run, id)()
	defer func() {
		if p = recover(); p == nil {
			return
		}
		trace = m.trace.take()
		m.leaves(stack.Goroutine())
		if _, wasInterrupted = p.(interrupted); !wasInterrupted {
			p = m.translated(p)
		}
	}()
	run.Do(f)
	return nil, false, nil
}

// LineOf returns a new place to keep the line that a goroutine is at.
func (m *Machine) LineOf(line int) *int { return &line }

// GoAt is Go for a goroutine that keeps the line of a cell's statements that it is at.
func (m *Machine) GoAt(line *int, f func()) {
	m.Go(func() {
		id := goroutineID()
		m.lines.Store(id, line)
		defer m.lines.Delete(id)
		f()
	})
}

// Line returns where the calling goroutine keeps the line that it is at, nil if it does not, or is the cell's own.
func (m *Machine) Line() *int {
	line, _ := m.lines.Load(goroutineID())
	p, _ := line.(*int)
	return p
}

// Go starts a goroutine whose panic is reported to the cell that started it and ends nothing else.
func (m *Machine) Go(f func()) {
	run := cellio.CurrentRun()
	go func() {
		id := m.begin(run)
		defer m.end(run, id)
		returned := false
		defer func() {
			if p := recover(); p != nil {
				m.report(p)
			} else if !returned {
				m.reportOverflow()
			}
		}()
		f()
		returned = true
	}()
}

// report tells the cell of the calling goroutine that a function of a cell has ended in a panic there.
func (m *Machine) report(p any) {
	trace := m.trace.take()
	m.leaves(stack.Goroutine())
	if _, ok := p.(interrupted); ok {
		return
	}
	text := strings.Join(m.traceback(m.headline(p, " in goroutine"), trace), "\n")
	_, _ = cellio.Stderr.Write([]byte(text + "\n"))
}

// headline is the first line of the traceback of a panic that the calling goroutine has just recovered. Where stands behind its first word.
func (m *Machine) headline(p any, where string) string {
	if text, typ, ok := m.Failure(p); ok {
		return "error" + where + ": " + WithType(text, typ)
	}
	return "panic" + where + ": " + m.PanicText(m.translated(p))
}

// Guard returns a function like fn that starts a goroutine: one of its own that compiled code begins with it. There a panic would end the
// process, so it is reported and the function returns zero values. On a goroutine of a cell panics pass.
func (m *Machine) Guard(fn any) any { return m.counted(fn, m.catch) }

// Counted returns a function like fn that a library may call on a goroutine of its own, whose panics it recovers.
func (m *Machine) Counted(fn any) any { return m.counted(fn, func() {}) }

// counted returns a function like fn, whose calls count as running code of cells; end is deferred there.
func (m *Machine) counted(fn any, end func()) any {
	f := reflect.ValueOf(fn)
	if f.Kind() != reflect.Func || f.IsNil() {
		return fn
	}
	t := f.Type()
	return reflect.MakeFunc(t, func(args []reflect.Value) (out []reflect.Value) {
		m.calls.enter()
		defer m.calls.leave() // after a panic's report, which may call methods of cells
		out = make([]reflect.Value, t.NumOut())
		for i := range out {
			out[i] = reflect.Zero(t.Out(i))
		}
		defer end()
		if t.IsVariadic() {
			return f.CallSlice(args)
		}
		return f.Call(args)
	}).Interface()
}

// PanicText is a panic's value as Go prints it.
func (m *Machine) PanicText(p any) string {
	if err, ok := m.asError(p); ok {
		return m.clean(err.Error())
	}
	if s, ok := p.(fmt.Stringer); ok {
		return s.String()
	}
	if s, ok := p.(string); ok {
		return s
	}
	text := m.Sprint(p)
	v := reflect.ValueOf(m.unwrap(p))
	if !v.IsValid() || v.Type().PkgPath() == "" {
		return text
	}
	if _, ok := m.find(v, "String"); ok {
		return text
	}
	switch k := v.Kind(); { // a declared basic type: main.Celsius(21)
	case k == reflect.String:
		return m.typeName(v.Type()) + `("` + text + `")`
	case k == reflect.Complex64, k == reflect.Complex128: // which have their parentheses
		return m.typeName(v.Type()) + text
	case k >= reflect.Bool && k < reflect.Complex64:
		return m.typeName(v.Type()) + "(" + text + ")"
	}
	return text
}

// begin registers the calling goroutine as one whose panics are caught.
func (m *Machine) begin(run *cellio.Run) (id int64) {
	m.calls.enter()
	id = goroutineID()
	m.running.Store(id, run)
	m.depth.caught.Store(stack.Goroutine(), true)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tasks[run]++
	if run != nil && run.Context().Err() != nil { // the interrupt was there first
		if !m.left[run] {
			m.interrupts[run] = true
		}
		m.updateStop()
	}
	return id
}

// runs tells that a goroutine is the one that began a run, until over is called.
func (m *Machine) runs(run *cellio.Run, id int64) (over func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[run] = id
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.cells, run)
	}
}

// goroutineOf is the goroutine that began a run, 0 where it has ended.
func (m *Machine) goroutineOf(run *cellio.Run) int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.cells[run]
}

// Busy tells whether goroutines of cells are running.
func (m *Machine) Busy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.tasks) > 0
}

func (m *Machine) end(run *cellio.Run, id int64) {
	defer m.calls.leave()
	m.running.Delete(id)
	m.leaves(stack.Goroutine())
	m.forgetFall()
	m.depth.caught.Delete(stack.Goroutine())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tasks[run]--; m.tasks[run] > 0 {
		return
	}
	delete(m.tasks, run)
	delete(m.left, run)
	if m.interrupts[run] {
		delete(m.interrupts, run)
		m.updateStop()
	}
}

// LeaveBehind notes that the cell of a run has ended. Its goroutines may wait for ever, or for as long as a server runs. If the cell was
// interrupted they are asked to stop only now and then (see Look), because asking all the time makes everything that runs ten times slower.
func (m *Machine) LeaveBehind(run *cellio.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.interrupts[run] {
		delete(m.interrupts, run)
		m.left[run] = true
		m.updateStop()
	}
}

// LeftBehind is how many interrupted runs have goroutines left though their cells have ended.
func (m *Machine) LeftBehind() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.left)
}

// Interrupt makes the goroutines of an interrupted run notice. The checks stay on until the last of them has.
func (m *Machine) Interrupt(run *cellio.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tasks[run] > 0 {
		m.interrupts[run] = true
		m.updateStop()
	}
}

// goroutineID is the number in the first line of the calling goroutine's trace. It costs about 1 µs; it is used where a
// goroutine starts, and after an interrupt or a panic.
func goroutineID() int64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	id, _ := strconv.ParseInt(string(number), 10, 64)
	return id
}
