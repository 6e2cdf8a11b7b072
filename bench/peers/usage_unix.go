//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// usage is the processor seconds of this process, user and system, and the most memory it had resident, in bytes.
func usage() (seconds float64, resident int64, err error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, err
	}
	unit := int64(1 << 10)
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, int64(u.Maxrss) * unit, nil
}
