package stdin

import (
	"os"
	"reflect"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// sure is how often a read must have been seen to wait where only os.Stdin itself tells so: a goroutine that has just got its
// line may not have let go of os.Stdin yet.
const sure = 3

// waits tells whether a read waits for input: 0 no, sure yes, 1 perhaps. Who reads has locked os.Stdin, and the pipe is empty;
// where the operating system can tell, a thread of this process is in that read.
func (in *Input) waits() int {
	if !in.reader.taken() || !empty(descriptor) {
		return 0
	}
	switch yes, known := blocked(); {
	case yes:
		return sure
	case known:
		return 0
	}
	return 1
}

// empty tells whether a descriptor has nothing to read.
func empty(fd int32) bool {
	poll := []unix.PollFd{{Fd: fd, Events: unix.POLLIN}}
	_, err := unix.Poll(poll, 0)
	return err == nil && poll[0].Revents == 0
}

// lock is the word in which a file keeps who uses it. An *os.File is read by one goroutine at a time, and its lock is held for the
// whole of a read: looking at it takes a nanosecond (measured), so that one can look often.
type lock struct{ state *uint64 }

// readLocked is the bit that stands for a read in internal/poll's fdMutex.
const readLocked = 1 << 1

// lockOf finds the lock by its name. A future Go may keep it elsewhere; then reads of os.Stdin are seen as others are: see elsewhere.
func lockOf(f *os.File) lock {
	v := reflect.ValueOf(f).Elem()
	for _, name := range []string{"file", "pfd", "fdmu", "state"} {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return lock{}
		}
		if v = v.FieldByName(name); !v.IsValid() {
			return lock{}
		}
	}
	if v.Kind() != reflect.Uint64 || !v.CanAddr() {
		return lock{}
	}
	return lock{(*uint64)(v.Addr().UnsafePointer())}
}

// taken tells whether somebody reads; false where that is not known.
func (l lock) taken() bool {
	return l.state != nil && atomic.LoadUint64(l.state)&readLocked != 0
}
