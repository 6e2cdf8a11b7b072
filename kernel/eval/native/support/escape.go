package support

import "unsafe"

// never is false, which the compiler does not know.
var (
	never bool
	//lint:ignore U1000 what is assigned to it lies on the heap
	sink any
)

// Heap returns v. What it points to lies on the heap.
func Heap[T any](v T) T {
	if never {
		sink = v
	}
	return v
}

// OnStack tells whether a value points to the calling goroutine's stack. What lies on the heap never does, so that only the value itself
// is looked at.
//
//go:noinline
func OnStack[T any](m Machine, v T) bool {
	for {
		lo, hi := m.Stack()
		found := pointsInto((*uintptr)(unsafe.Pointer(&v)), unsafe.Sizeof(v), lo, hi)
		if now, _ := m.Stack(); now == lo { // it has not been moved meanwhile
			return found
		}
	}
}

func pointsInto(words *uintptr, size, lo, hi uintptr) bool {
	for _, word := range unsafe.Slice(words, size/unsafe.Sizeof(*words)) {
		if lo <= word && word < hi {
			return true
		}
	}
	return false
}
