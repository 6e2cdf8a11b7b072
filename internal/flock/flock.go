// Package flock locks open files, as flock(2) does: among processes, and for as long as a process lives at most.
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// How a lock is taken: by many at a time, or by one alone.
const (
	Shared    = syscall.LOCK_SH
	Exclusive = syscall.LOCK_EX
)

// Try takes a lock unless another holds it, and tells whether it has it. A lock that the file has already is exchanged, not atomically.
func Try(f *os.File, how int) (held bool, err error) { return lock(f, how|syscall.LOCK_NB) }

// Wait takes a lock once nobody else holds it.
func Wait(f *os.File, how int) error {
	_, err := lock(f, how)
	return err
}

// longestPause is how long WaitContext pauses at most between two tries.
const longestPause = 50 * time.Millisecond

// WaitContext is Wait, until a context ends: then the error has its cause. It tries at least once. Nothing can call a flock(2) back that
// waits, so it tries again and again, and has no place in a line.
func WaitContext(ctx context.Context, f *os.File, how int) error {
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		held, err := Try(f, how)
		if held || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("lock %s, which another holds: %w", f.Name(), context.Cause(ctx))
		}
	}
}

func lock(f *os.File, how int) (held bool, err error) {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		return true, nil
	}
}

// Close releases the lock and closes the file. To close alone is not enough: a program that this process is about to start shares the file
// from its fork to its exec, and would keep the lock until then.
func Close(f *os.File) error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // it was not locked, or the file is closed: Close tells of that
	return f.Close()
}
