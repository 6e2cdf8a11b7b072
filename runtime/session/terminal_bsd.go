//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package session

import "golang.org/x/sys/unix"

// The requests that read and set a terminal's modes.
const (
	getTerminal = unix.TIOCGETA
	setTerminal = unix.TIOCSETA
)
