//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuSeconds is how much processor time the process has used.
func cpuSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
