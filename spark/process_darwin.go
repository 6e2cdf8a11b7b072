package spark

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// startOf tells when a process began, in seconds since 1970.
func startOf(pid int) (began string, there bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return "", !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
	}
	return fmt.Sprintf("%d.%06d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec), true
}
