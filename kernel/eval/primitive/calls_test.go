package primitive

import (
	"runtime"
	"sync"
	"testing"
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

// TestPanicsPass: a panic in a function that a library calls reaches the library, with its value. One that a goroutine begins with is
// reported, unless somebody recovers it there who knows more.
func TestPanicsPass(t *testing.T) {
	m := New(Config{})
	boom := func() int { panic("boom") }
	compiled := func(end func()) func() int {
		return func() (n int) {
			m.Called()
			defer end()
			panic("boom")
		}
	}
	tests := []struct {
		name  string
		f     func() int
		ours  bool // the goroutine is one whose panics are recovered
		after any
	}{
		{"interpreted", m.Counted(boom).(func() int), false, "boom"},
		{"compiled", compiled(m.Left), false, "boom"},
		{"interpreted, begins a goroutine", m.Guard(boom).(func() int), false, nil},
		{"compiled, begins a goroutine", compiled(m.Caught), false, nil},
		{"interpreted, on a goroutine of a cell", m.Guard(boom).(func() int), true, "boom"},
		{"compiled, on a goroutine of a cell", compiled(m.Caught), true, "boom"},
	}
	for _, tt := range tests {
		p := func() (p any) {
			if tt.ours {
				defer Host(m).Enter(t.Context())()
			}
			defer func() { p = recover() }()
			tt.f()
			return nil
		}()
		if p != tt.after {
			t.Errorf("%s: the caller recovers %v, want %v", tt.name, p, tt.after)
		}
		release, idle := m.Exclude()
		if !idle {
			t.Fatalf("%s: still counted", tt.name)
		}
		release()
	}
}
