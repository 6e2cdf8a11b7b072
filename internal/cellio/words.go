package cellio

import (
	"os"
	"syscall"
	"unsafe"
)

// words gets what the runtime writes to stderr.
var words struct {
	file *os.File // stays open as long as somebody knows it
	fd   uintptr
}

// DivertRuntime sends to f what Go's runtime itself writes to stderr, above all the report of a crash. A runtime that gives up has stopped
// all goroutines, including any that would read a pipe in this process, so another process has to read f.
func DivertRuntime(f *os.File) {
	words.file, words.fd = f, f.Fd()
	overrideWrite = writeForRuntime
}

// overrideWrite is the runtime's hook for its own writes. The runtime keeps its name and signature for those who link to it.
//
//go:linkname overrideWrite runtime.overrideWrite
var overrideWrite func(fd uintptr, p unsafe.Pointer, n int32) int32

// writeForRuntime writes as the runtime does, which may call it on any stack and in a signal's handler. It returns how many bytes it has
// written, or the negative number of the error. A cell may have closed descriptors that are not its own: then stderr has to do.
//
//go:nosplit
//go:norace
func writeForRuntime(fd uintptr, p unsafe.Pointer, n int32) int32 {
	const stderr = 2
	if fd == stderr {
		if written, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, words.fd, uintptr(p), uintptr(n)); errno == 0 {
			return int32(written)
		}
	}
	written, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(p), uintptr(n))
	if errno != 0 {
		return -int32(errno)
	}
	return int32(written)
}
