package stack

import "testing"

// TestUsed: each call of a function with a frame of a known size takes that much more, wherever the stack has been moved to.
func TestUsed(t *testing.T) {
	const frame, depth = 1 << 10, 10_000
	var down func(n int) uintptr
	down = func(n int) uintptr {
		var room [frame]byte
		if n == 0 {
			return Used() + uintptr(room[0])
		}
		return down(n-1) + uintptr(room[n%frame])
	}
	used := make(chan uintptr)
	go func() { used <- Used() }()
	first := <-used
	go func() { used <- down(depth) }()
	last := <-used
	if first == 0 || first > 4<<10 || last < frame*depth || last > 2*frame*depth {
		t.Errorf("got %d bytes, and %d after %d calls of %d each", first, last, depth, frame)
	}
}
