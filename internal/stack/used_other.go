//go:build !amd64 && !arm64

package stack

// Used returns 0: how much of its stack a goroutine uses is not known on this processor.
func Used() uintptr { return 0 }

// Goroutine returns 0.
func Goroutine() uintptr { return 0 }

// Bounds returns all of memory.
func Bounds() (lo, hi uintptr) { return 0, ^uintptr(0) }
