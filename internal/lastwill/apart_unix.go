//go:build unix

package lastwill

import "syscall"

// apart puts a process into a session of its own, where no signal to this process's group or terminal reaches it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
