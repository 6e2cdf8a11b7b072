//go:build amd64 || arm64

package stack

// Used returns how many bytes of its stack the calling goroutine uses, 0 on processors other than amd64 and arm64. A stack may move, but
// the number stays the same.
func Used() uintptr

// Goroutine returns a number that no other goroutine has while the calling one lives; 0 where Used returns 0. The number in Go's traces is
// never used twice, but getting it takes as long as walking the whole stack: a second if that is nearly full.
func Goroutine() uintptr

// Bounds returns where the calling goroutine's stack lies, until it is moved: from lo up to hi, which is not part of it. Where that is
// not known, on processors other than amd64 and arm64, it lies anywhere: from 0 to the end of memory.
func Bounds() (lo, hi uintptr)
