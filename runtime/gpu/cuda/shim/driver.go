//go:build nvidia && linux

package shim

// #cgo linux LDFLAGS: -ldl -lpthread
// #include "shim.h"
// int cuGetErrorName(int, const char **);
// int cuGetErrorString(int, const char **);
import "C"

import "fmt"

// Missing is why there is no driver. Its text says what to do, as far as that is known.
type Missing struct {
	Absent bool   // libcuda cannot be opened
	Lacks  string // a symbol that it must have
	Code   int    // what cuInit returned
	Said   string // by the loader, or the driver
}

func (m *Missing) Error() string {
	switch {
	case m.Absent:
		return "no NVIDIA driver: " + m.Said
	case m.Lacks != "":
		return "the NVIDIA driver is too old: it has no " + m.Lacks
	}
	text := fmt.Sprintf("the NVIDIA driver does not start: error %d", m.Code)
	if m.Said != "" {
		text += ", " + m.Said
	}
	switch m.Code { // what usually mends it
	case 100:
		text += ": no GPU is given to this machine or container"
	case 802:
		text += ": the fabric manager of this machine's GPUs is not running"
	case 803:
		text += ": libcuda and the system's kernel module are of different versions: restart after an update, or use the host's libcuda in a container"
	case 804:
		text += ": libcuda is newer than the system's driver allows for this GPU"
	case 999:
		text += ": the kernel module nvidia_uvm may not be loaded: nvidia-modprobe -u loads it"
	}
	return text
}

// Open opens and starts the driver, once in a process: what came of it stays. The environment variable CANCHA_LIBCUDA names another
// file than libcuda.so.1. The error is a [*Missing].
func Open() error {
	d := C.cancha_open()
	if d.open != 0 {
		return nil
	}
	m := &Missing{Said: C.GoString(&d.why[0])}
	switch d.code {
	case C.CANCHA_ABSENT:
		m.Absent = true
	case C.CANCHA_LACKS:
		m.Lacks, m.Said = m.Said, ""
	default:
		m.Code = int(d.code)
	}
	return m
}

// Emulated tells whether what was opened is the stand-in that runs on the CPU.
func Emulated() bool { return C.cancha_open().emulated != 0 }

// Result is a driver call's error, by its number.
type Result int

// The results that have a meaning of their own to callers.
const (
	OutOfMemory  Result = 2
	NotSupported Result = 801
)

func (r Result) Error() string {
	var name, text *C.char
	if C.cuGetErrorName(C.int(r), &name) != 0 || C.cuGetErrorString(C.int(r), &text) != 0 || name == nil || text == nil {
		return fmt.Sprintf("CUDA error %d", int(r))
	}
	return fmt.Sprintf("%s (%d): %s", C.GoString(name), int(r), C.GoString(text))
}

func result(code C.int) error {
	if code == 0 {
		return nil
	}
	return Result(code)
}
