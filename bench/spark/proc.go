package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// ticks is how many units of /proc/PID/stat a second has: USER_HZ, 100 on each architecture that Go runs on (proc(5)).
const ticks = 100

// usage is what a process of this machine has used.
type usage struct {
	cpu      float64 // processor seconds, user and system
	resident int64   // the most bytes that it had resident since forget
}

// usageOf reads /proc, which Linux has.
func usageOf(pid string) (u usage, err error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return u, fmt.Errorf("processor time of process %s: %w (this needs Linux)", pid, err)
	}
	// Behind the name, in parentheses, come the fields from the third on: utime and stime are the 14th and 15th.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, err1 := strconv.ParseFloat(string(fields[11]), 64)
	system, err2 := strconv.ParseFloat(string(fields[12]), 64)
	status, err3 := os.ReadFile("/proc/" + pid + "/status")
	if err := errors.Join(err1, err2, err3); err != nil {
		return u, err
	}
	_, peak, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, err := strconv.ParseInt(string(bytes.Fields(peak)[0]), 10, 64)
	return usage{(user + system) / ticks, kib << 10}, err
}

// forget has the most resident memory of a process counted anew (proc(5), clear_refs).
func forget(pid string) error { return os.WriteFile("/proc/"+pid+"/clear_refs", []byte("5"), 0o200) }
