package eval

import "syscall"

// childProcess makes a process the head of a group of its own, so that an interrupt reaches all of it, which ends with the engine.
func childProcess() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
