package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// clocks tells whether there is such a clock here.
const clocks = true

// clock moves the wall clock of this process, and of no other. Go asks the kernel's vDSO for the time, a library that lies in each process: its
// clock_gettime is overwritten by a few instructions that ask the kernel and add an offset. As where somebody sets the clock of a machine, the
// monotonic clock, by which timers run, stays what it is.
type clock struct {
	mem *os.File // of this process: it writes to pages that are read-only
	at  int64    // of the function
}

// moved is clock_gettime with an offset, which lies behind it: so many seconds are added to CLOCK_REALTIME, the clock 0.
var moved = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228 (SYS_clock_gettime)
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jnz to ret
	0x48, 0x8b, 0x0d, 0x0e, 0x00, 0x00, 0x00, // mov rcx, [rip+14]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // ret
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, // the offset, 14 bytes behind the instruction that takes it
}

// newClock takes the clock of this process over, for as long as it lives.
func newClock() (*clock, error) {
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("take the clock over: %w", err)
	}
	c := &clock{mem: mem}
	if c.at, err = find(mem, "__vdso_clock_gettime", len(moved)); err == nil {
		_, err = mem.WriteAt(moved, c.at)
	}
	if err != nil {
		mem.Close()
		return nil, fmt.Errorf("take the clock over: %w", err)
	}
	return c, nil
}

// set moves the clock to so far from the true time.
func (c *clock) set(by time.Duration) error {
	_, err := c.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(by/time.Second)), c.at+int64(len(moved))-8)
	return err
}

// find is where a function of the vDSO lies, which must have some size.
func find(mem io.ReaderAt, name string, size int) (int64, error) {
	from, to, err := vdso()
	if err != nil {
		return 0, err
	}
	library := make([]byte, to-from)
	if _, err := mem.ReadAt(library, from); err != nil {
		return 0, err
	}
	at, err := symbol(bytes.NewReader(library), name, size)
	return from + at, err
}

// vdso is where it lies.
func vdso() (from, to int64, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(line, "[vdso]\n") {
			continue
		}
		first, rest, _ := strings.Cut(line, "-")
		last, _, _ := strings.Cut(rest, " ")
		if from, err = strconv.ParseInt(first, 16, 64); err == nil {
			to, err = strconv.ParseInt(last, 16, 64)
		}
		return from, to, err
	}
	return 0, 0, fmt.Errorf("the process has no vDSO")
}

// symbol is where a function of a library begins, which must have some size.
func symbol(library io.ReaderAt, name string, size int) (int64, error) {
	f, err := elf.NewFile(library)
	if err != nil {
		return 0, err
	}
	all, err := f.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.Name == name && s.Size >= uint64(size) {
			return int64(s.Value), nil
		}
	}
	return 0, fmt.Errorf("the vDSO has no %s of %d bytes", name, size)
}
