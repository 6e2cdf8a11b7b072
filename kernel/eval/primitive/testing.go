package primitive

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"cancha/internal/cellio"
	"cancha/kernel/eval/native/support"
)

// errGoexit is what package testing says of a test that ends its goroutine by itself.
const errGoexit = "test executed panic(nil) or runtime.Goexit"

// Test runs a function of a test on a goroutine that package testing has started, which would let a panic end the process: here it
// fails the test, with its traceback in the cells, and the other tests go on. After an interrupt no more begin.
func (m *Machine) Test(t support.Tester, f func()) {
	run := cellio.CurrentRun()
	if run != nil && run.Context().Err() != nil {
		t.SkipNow()
	}
	id := m.begin(run)
	defer m.end(run, id)
	returned := false
	defer func() {
		if p := recover(); !returned {
			m.failTest(t, p)
		}
	}()
	f()
	returned = true
}

// Bubble is Test for a function that runs on the clock of a synctest bubble.
func (m *Machine) Bubble(t support.Tester, f func()) {
	m.bubbles.Add(1)
	defer m.bubbles.Add(-1)
	m.Test(t, f)
}

// inBubble tells whether the calling goroutine is in a synctest bubble: its clock goes on only while all of its goroutines wait for
// each other, and not for an interrupt.
func (m *Machine) inBubble() bool {
	if m.bubbles.Load() == 0 {
		return false
	}
	var buf [128]byte
	head, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("\n"))
	return bytes.Contains(head, []byte("synctest bubble"))
}

// failTest fails a test whose function has not returned: p is its panic, nil where the goroutine is ending.
func (m *Machine) failTest(t support.Tester, p any) {
	trace, overflow := m.trace.take(), m.Overflowed()
	_, wasInterrupted := p.(interrupted)
	switch {
	case wasInterrupted:
	case p != nil:
		lines := m.traceback(m.headline(p, ""), trace)
		fmt.Fprintln(t.Output(), strings.Join(lines, "\n"))
	case overflow != nil:
		fmt.Fprintln(t.Output(), strings.Join(append([]string{overflow.Error()}, overflow.Trace...), "\n"))
	case endsAsTold(t):
		return
	default:
		fmt.Fprintln(t.Output(), errGoexit)
	}
	t.FailNow()
}

// endsAsTold tells whether a goroutine ends because FailNow or SkipNow was called: on its test, or on one around it, which package
// testing then tells itself.
func endsAsTold(t support.Tester) bool {
	test := reflect.ValueOf(t).Elem()
	finished := test.FieldByName("finished")
	if !finished.IsValid() { // in another version of the package
		return t.Failed() || t.Skipped()
	}
	for !finished.Bool() {
		parent := test.FieldByName("parent")
		if parent.IsNil() || test.FieldByName("isParallel").IsValid() && test.FieldByName("isParallel").Bool() {
			return false
		}
		test = parent.Elem()
		finished = test.FieldByName("finished")
	}
	return true
}

// Fuzz returns a fuzz test's function, which has parameters of its own behind that for the test, as Test runs it.
func (m *Machine) Fuzz(f any) any {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Func || v.IsNil() || v.Type().NumIn() == 0 || v.Type().NumOut() > 0 || v.Type().IsVariadic() {
		return f // which package testing refuses
	}
	return reflect.MakeFunc(v.Type(), func(args []reflect.Value) []reflect.Value {
		m.Test(args[0].Interface().(support.Tester), func() { v.Call(args) })
		return nil
	}).Interface()
}

// Example returns an example's function in which a panic is printed: it then has another output than it should.
func (m *Machine) Example(f func()) func() {
	return func() {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if _, ok := p.(interrupted); ok {
				panic(p)
			}
			trace := m.trace.take()
			fmt.Fprintln(m.Stdout(), strings.Join(m.traceback(m.headline(p, ""), trace), "\n"))
		}()
		f()
	}
}
