//go:build !unix

package lastwill

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
