package callback

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestDo: however a function ends, Do returns, and says how.
func TestDo(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name string
		f    func() error
		want string
	}{
		{"returns", func() error { return nil }, ""},
		{"an error", func() error { return boom }, "boom"},
		{"a panic", func() error { panic(boom) }, "panic: boom"},
		{"Goexit", func() error { runtime.Goexit(); return nil }, "runtime.Goexit was called"},
		{"caught", func() (err error) { returned := false; defer Catch("map x", &returned, &err); panic(boom) }, "panic: boom"},
		{"caught Goexit", func() (err error) {
			returned := false
			defer Catch("map x", &returned, &err)
			runtime.Goexit()
			return nil
		}, "map x: runtime.Goexit was called"},
		{"Goexit, caught twice", func() (err error) {
			returned := false
			defer Catch("outer", &returned, &err)
			func() { inner := false; defer Catch("map x", &inner, &err); runtime.Goexit() }()
			return nil
		}, "map x: runtime.Goexit was called"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Do(t.Context(), tt.f)
			if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if strings.Contains(tt.want, "boom") && !errors.Is(err, boom) {
				t.Errorf("%v does not wrap the cause", err)
			}
		})
	}
}

// TestCount counts calls from many goroutines.
func TestCount(t *testing.T) {
	var c Count
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 100 {
				c.Begin()
				c.End()
			}
		})
	}
	all.Wait()
	if n, busy := c.Ended(); n != 5000 || busy {
		t.Errorf("%d calls have ended, and one is under way: %v", n, busy)
	}
	c.Begin()
	if n, busy := c.Ended(); n != 5000 || !busy {
		t.Errorf("%d calls have ended, and none is under way", n)
	}
}
