package main

import (
	"fmt"
	"syscall"
)

// disk is a file system in memory, of a trial alone, which is full when the trial wants it. Only root may have one. One that is left
// behind, by a trial that was killed itself, is taken away with umount.
type disk struct{ at string }

// wide is how large a disk is that is not full.
const wide = 8 << 30

func newDisk(at string) (*disk, error) {
	d := &disk{at}
	return d, d.mount(0, wide)
}

func (d *disk) mount(flags uintptr, size int64) error {
	if err := syscall.Mount("tmpfs", d.at, "tmpfs", flags, fmt.Sprintf("size=%d", size)); err != nil {
		return fmt.Errorf("a disk of %d bytes at %s: %w", size, d.at, err)
	}
	return nil
}

// leave leaves so many bytes free.
func (d *disk) leave(bytes int64) (err error) {
	for range 100 { // it cannot be made smaller than what somebody has written meanwhile
		var s syscall.Statfs_t
		if err := syscall.Statfs(d.at, &s); err != nil {
			return err
		}
		if err = d.mount(syscall.MS_REMOUNT, int64(s.Blocks-s.Bfree)*s.Bsize+max(bytes, s.Bsize)); err == nil {
			return nil
		}
	}
	return err
}

// widen makes room.
func (d *disk) widen() error { return d.mount(syscall.MS_REMOUNT, wide) }

func (d *disk) close() error { return syscall.Unmount(d.at, syscall.MNT_DETACH) }
