package local

import (
	"errors"
	"net"
	"syscall"
)

// peerOf is the user on the other side of a socket; not known: it is none.
func peerOf(conn net.Conn) (uid int, known bool, err error) {
	unix, is := conn.(*net.UnixConn)
	if !is {
		return 0, false, nil
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var credentials *syscall.Ucred
	failed := raw.Control(func(fd uintptr) {
		credentials, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if failed != nil || err != nil {
		return 0, false, errors.Join(failed, err)
	}
	return int(credentials.Uid), true, nil
}
