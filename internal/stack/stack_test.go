package stack

import (
	"testing"
	"unsafe"
)

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

var onHeap *[64]byte

// TestBounds: what lies on a goroutine's stack is within its bounds, also after the stack has grown, and what lies on the heap is not.
func TestBounds(t *testing.T) {
	var down func(n int) bool
	down = func(n int) bool {
		var local [64]byte
		local[n%64] = 1
		p := uintptr(unsafe.Pointer(&local))
		lo, hi := Bounds()
		return lo <= p && p < hi && (n == 0 || down(n-1))
	}
	within := make(chan bool)
	for _, depth := range []int{0, 10, 10_000} {
		go func() { within <- down(depth) }()
		if !<-within {
			t.Errorf("depth %d: a local variable is not within the bounds", depth)
		}
	}
	onHeap = new([64]byte)
	if lo, hi := Bounds(); lo > 0 && lo <= uintptr(unsafe.Pointer(onHeap)) && uintptr(unsafe.Pointer(onHeap)) < hi {
		t.Error("the heap is within the bounds")
	}
}
