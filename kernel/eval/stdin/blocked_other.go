//go:build unix && !linux

package stdin

import "golang.org/x/sys/unix"

// replace makes a descriptor mean what another one does.
func replace(fd, by int) error { return unix.Dup2(fd, by) }

// blocked does not know: this operating system does not tell what a thread waits for.
func blocked(int) (yes, known bool) { return false, false }
