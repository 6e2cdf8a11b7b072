//go:build amd64 || arm64

package stack

// Used returns how many bytes of its stack the calling goroutine uses; 0 where that is not known, which is on processors other than
// amd64 and arm64. Stacks move, what is used of them stays.
func Used() uintptr

// Goroutine returns a number that the calling goroutine has to itself, for as long as it lives; 0 where Used returns 0. The number in
// Go's traces has no such end, but asking for it takes as long as walking the whole stack: a second where that is nearly full.
func Goroutine() uintptr
