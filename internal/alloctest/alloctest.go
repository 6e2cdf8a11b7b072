// Package alloctest measures in tests what input from outside makes a program allocate.
package alloctest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Input is what a reader of input may allocate at once: so many times the bytes that it reads, and Free bytes besides for buffers,
// tables and the like, which it takes for any input.
const (
	Times = 10
	Free  = 64 << 10
)

// Bounded runs read, which reads size bytes from outside, and fails the test where one allocation in it is larger than [Times] the
// size and [Free]. read runs twice where all of them together are more. Other goroutines count too.
func Bounded(t testing.TB, size int, read func()) {
	t.Helper()
	limit := uint64(Times*size + Free)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	if after.TotalAlloc-before.TotalAlloc <= limit {
		return
	}
	if got, where := Largest(read); got > limit {
		t.Errorf("%d bytes allocated at once for an input of %d, want at most %d: %s", got, size, limit, where)
	}
}

// Largest runs f and returns the largest allocation in it, bytes, and the functions that asked for it. It is not for tests in parallel.
func Largest(f func()) (size uint64, where string) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	before := buckets()
	f()
	for at, now := range buckets() {
		objects, bytes := now.AllocObjects-before[at].AllocObjects, now.AllocBytes-before[at].AllocBytes
		if objects <= 0 || uint64(bytes/objects) <= size {
			continue
		}
		if names := callers(at.stack); !strings.Contains(names, "alloctest.buckets:") {
			size, where = uint64(bytes/objects), names
		}
	}
	return size, where
}

// bucket is a place in the program that allocates objects of one size.
type bucket struct {
	stack [32]uintptr
	size  int64
}

// buckets are all allocations up to now: the profile has what was allocated before the last two collections.
func buckets() map[bucket]runtime.MemProfileRecord {
	runtime.GC()
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 1024)
	n, ok := runtime.MemProfile(records, true)
	for !ok {
		records = make([]runtime.MemProfileRecord, 2*n)
		n, ok = runtime.MemProfile(records, true)
	}
	of := make(map[bucket]runtime.MemProfileRecord, n)
	for _, r := range records[:n] {
		if r.AllocObjects > 0 {
			of[bucket{r.Stack0, r.AllocBytes / r.AllocObjects}] = r
		}
	}
	return of
}

// callers names the functions, the innermost first.
func callers(stack [32]uintptr) (names string) {
	frames := runtime.CallersFrames(stack[:slices.Index(append(stack[:], 0), 0)])
	for {
		frame, more := frames.Next()
		names += fmt.Sprintf(" %s:%d", frame.Function, frame.Line)
		if !more {
			return names
		}
	}
}
