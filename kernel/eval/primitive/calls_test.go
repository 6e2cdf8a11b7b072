package primitive

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"cancha/internal/cellio"
	"cancha/internal/stack"
)

// TestCallsAreCounted: what ends a guarded function does not matter to the count, and what begins while it is excluded waits.
func TestCallsAreCounted(t *testing.T) {
	m := New(Config{})
	isIdle := func() bool {
		release, ok := m.Exclude()
		if ok {
			release()
		}
		return ok
	}
	for name, f := range map[string]func(){
		"returns": func() {},
		"panics":  func() { panic("told to nobody") },
		"goexit":  func() { runtime.Goexit() },
	} {
		guarded := m.Guard(func() {
			if isIdle() {
				t.Errorf("%s: guarded: not counted", name)
			}
			f()
		}).(func())
		compiled := func() { m.Called(); defer m.Caught(); f() }
		for _, call := range []func(){guarded, compiled} {
			var over sync.WaitGroup
			over.Go(call)
			over.Wait()
			if !isIdle() {
				t.Fatalf("%s: counted for ever", name)
			}
		}
	}

	release, ok := m.Exclude()
	if !ok {
		t.Fatal("busy")
	}
	excluded := true // guarded by the exclusion, as the race detector sees it
	var over sync.WaitGroup
	for range 4 {
		over.Go(func() {
			m.Called()
			defer m.Caught()
			if excluded {
				t.Error("ran while excluded")
			}
		})
	}
	runtime.Gosched()
	excluded = false
	release()
	over.Wait()
	if !isIdle() {
		t.Error("counted for ever")
	}
}

func BenchmarkCounted(b *testing.B) {
	var c calls
	for b.Loop() {
		c.enter()
		c.leave()
	}
}

func BenchmarkCountedParallel(b *testing.B) {
	var c calls
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.enter()
			c.leave()
		}
	})
}

func BenchmarkGuard(b *testing.B) {
	f := New(Config{}).Guard(func(i, j int) bool { return i < j }).(func(i, j int) bool)
	for b.Loop() {
		f(1, 2)
	}
}

// A panic in a function that a library has called is told to the library where it waits for it.
func TestFaultIsCaught(t *testing.T) {
	m := New(Config{})
	guarded := m.Guard(func() int { panic("ouch") }).(func() int)
	compiled := func() (n int) {
		m.Called()
		defer m.Caught()
		panic("ouch")
	}
	for name, call := range map[string]func() int{"guarded": guarded, "compiled": compiled} {
		caught := cellio.CatchFaults(stack.Goroutine())
		if n, text := call(), caught(); n != 0 || !strings.HasPrefix(text, "panic in goroutine: ouch") {
			t.Errorf("%s: got %d, %q", name, n, text)
		}
	}
}
