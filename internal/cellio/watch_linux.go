package cellio

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// watch tells without a system call whether a pipe has got something to read: the system writes that into a ring of events in our memory
// (io_submit with IOCB_CMD_POLL), before the write to the pipe returns. Asking by a system call takes as long as the rest of a printed
// line (half a microsecond, measured), a look at the ring 1 ns.
type watch struct {
	ring    *eventRing
	request pollRequest
}

// eventRing is the head of struct aio_ring of Linux's fs/aio.c, which libraries read too: they know it by its magic.
type eventRing struct {
	id, nr           uint32
	head, tail       uint32
	magic            uint32
	compat, incompat uint32
	headerLength     uint32
}

// pollRequest is struct iocb of linux/aio_abi.h.
type pollRequest struct {
	data         uint64
	key, rwFlags uint32
	opcode       uint16
	priority     int16
	fd           uint32
	events       uint64
	_, _, _      uint64
	flags, resfd uint32
}

const (
	eventRingMagic = 0xa10a10a1
	pollCommand    = 5 // IOCB_CMD_POLL
	pollIn         = 1
)

// spare are rings that no watch has. They are kept: Linux takes some 50 ms to give one back (io_destroy), and a process has as many as it
// had watches at once.
var spare struct {
	sync.Mutex
	rings []*eventRing
}

// newWatch returns a watch of a pipe; nil where the system has none, as in some containers.
func newWatch(fd int) *watch {
	ring := newRing()
	if ring == nil {
		return nil
	}
	return &watch{ring, pollRequest{opcode: pollCommand, fd: uint32(fd), events: pollIn}}
}

// newRing returns a ring that no other watch has; nil where the system has none, or has another one than we know.
func newRing() (ring *eventRing) {
	spare.Lock()
	defer spare.Unlock()
	if last := len(spare.rings) - 1; last >= 0 {
		ring, spare.rings = spare.rings[last], spare.rings[:last]
		return ring
	}
	const requests = 4
	if _, _, errno := syscall.RawSyscall(syscall.SYS_IO_SETUP, requests, uintptr(unsafe.Pointer(&ring)), 0); errno != 0 {
		return nil
	}
	if ring.magic != eventRingMagic || ring.incompat != 0 {
		_, _, _ = syscall.Syscall(syscall.SYS_IO_DESTROY, uintptr(unsafe.Pointer(ring)), 0, 0) // fails only for what is no ring
		return nil
	}
	return ring
}

// arm begins to watch, and reports whether it could.
func (w *watch) arm() bool {
	atomic.StoreUint32(&w.ring.head, atomic.LoadUint32(&w.ring.tail))
	requests := [1]*pollRequest{&w.request}
	n, _, _ := syscall.RawSyscall(syscall.SYS_IO_SUBMIT, uintptr(unsafe.Pointer(w.ring)), 1, uintptr(unsafe.Pointer(&requests)))
	return n == 1
}

// rang tells whether something has come since the watch was armed.
func (w *watch) rang() bool {
	return atomic.LoadUint32(&w.ring.tail) != atomic.LoadUint32(&w.ring.head)
}

// close ends the watch. A request that waits is taken back, since it would keep the pipe open. Linux rings once more for that, which may be
// when the ring has its next watch: that one then looks into its pipe for nothing. Taking back fails where nothing waits.
func (w *watch) close() {
	if w == nil {
		return
	}
	var event [4]uint64 // struct io_event
	_, _, _ = syscall.RawSyscall(syscall.SYS_IO_CANCEL, uintptr(unsafe.Pointer(w.ring)), uintptr(unsafe.Pointer(&w.request)), uintptr(unsafe.Pointer(&event)))
	spare.Lock()
	defer spare.Unlock()
	spare.rings = append(spare.rings, w.ring)
}
