package workspace

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock is a workspace's: shared by those who use it, exclusive to who builds or removes it. It ends with the process, and
// with those that have inherited its file.
type lock struct {
	file *os.File
}

// openLock opens a lock's file, making it if it can: a workspace that may only be read can be used.
func openLock(name string) (*lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
		var readOnly error
		if f, readOnly = os.Open(name); readOnly == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &lock{f}, nil
}

// share and seize try to take the lock and report whether they have it; one that is held is exchanged, not atomically.
func (l *lock) share() (bool, error) { return l.try(syscall.LOCK_SH) }
func (l *lock) seize() (bool, error) { return l.try(syscall.LOCK_EX) }

func (l *lock) try(how int) (bool, error) {
	for {
		err := syscall.Flock(int(l.file.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("lock %s: %w", l.file.Name(), err)
		}
		return true, nil
	}
}

// current tells whether the file is still the one of its name: who waited for the lock may have got that of a workspace
// that was removed meanwhile, lock and all.
func (l *lock) current() bool {
	mine, err := l.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(l.file.Name())
	return err == nil && os.SameFile(mine, named)
}

// close lets go.
func (l *lock) close() { _ = l.file.Close() } // nothing was written
