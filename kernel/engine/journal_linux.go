package engine

import (
	"os"

	"golang.org/x/sys/unix"

	"cancha/internal/cellio"
)

// journalFile returns a file in memory, which no full disk can keep from being written.
func journalFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("cancha journal", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "journal")
	if err := f.Truncate(cellio.JournalSize); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
