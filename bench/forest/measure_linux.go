package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// measure runs f and returns what it took. The most resident memory counts from when f begins.
func measure(f func() error) (s step, err error) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return s, fmt.Errorf("begin to measure memory: %w", err)
	}
	if s.Before, err = memory("VmRSS"); err != nil {
		return s, err
	}
	cpu, err := processor()
	if err != nil {
		return s, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return s, err
	}
	s.Seconds = time.Since(began).Seconds()
	after, err := processor()
	if err != nil {
		return s, err
	}
	s.CPUSeconds = after - cpu
	s.Peak, err = memory("VmHWM")
	return s, err
}

// processor returns the processor seconds of this process, user and system.
func processor() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, nil
}

// memory returns a line of /proc/self/status, in bytes: VmRSS is what is resident now, VmHWM the most.
func memory(field string) (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if words := bytes.Fields(lines.Bytes()); len(words) == 3 && string(words[0]) == field+":" {
			kilobytes, err := strconv.ParseInt(string(words[1]), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", field)
}
