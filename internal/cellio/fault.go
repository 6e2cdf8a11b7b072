package cellio

import "sync"

// faults are the texts that who calls a function of a cell waits for, by goroutine.
var faults sync.Map // of *string

// CatchFaults has panics of cells' functions that a goroutine, the calling one, calls from now on returned by the function that it returns, which ends that; "" where
// there was none. A library's goroutine calls both: such a function returns zero values after a panic, which are no result.
func CatchFaults(goroutine uintptr) (caught func() string) {
	text := ""
	faults.Store(goroutine, &text)
	return func() string {
		faults.Delete(goroutine)
		return text
	}
}

// Fault tells of a panic on a goroutine, the calling one, and returns whether somebody waits for it there; otherwise it is to be printed.
func Fault(goroutine uintptr, text string) bool {
	to, waits := faults.Load(goroutine)
	if waits {
		*to.(*string) = text
	}
	return waits
}
