package fetch_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"cancha/statsbomb/fetch"
)

// TestFullDisk fetches onto a disk that is too small, makes it larger and goes on. Only root may mount one.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	mount := func(flags uintptr, kilobytes int) error {
		return syscall.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%dk", kilobytes))
	}
	if err := mount(0, 64); err != nil {
		t.Skip("needs to mount a small disk:", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	a := newAPI(t)
	c := a.config(dir)
	_, err := fetch.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "the disk is full; make room and run again, what is there stays") {
		t.Fatalf("got %v", err)
	}
	if left := parts(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := mount(syscall.MS_REMOUNT, 4096); err != nil {
		t.Fatal(err)
	}
	r, err := fetch.Run(t.Context(), c)
	if err != nil || r.Skipped == 0 {
		t.Errorf("with room: %+v, %v; want some files to be there already", r, err)
	}
	a.holdsAll(t, dir, 12, false)
}
