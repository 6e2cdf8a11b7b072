//go:build unix && !linux

package stdin

import (
	"os"

	"golang.org/x/sys/unix"
)

// replace makes a descriptor mean what another one does.
func replace(fd, by int) error { return unix.Dup2(fd, by) }

// blocked does not know: this operating system does not tell what a thread waits for.
func blocked() (yes, known bool) { return false, false }

// elsewhere does not know either.
func elsewhere(os.FileInfo) bool { return false }
