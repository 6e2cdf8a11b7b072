package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cancha/jobs/local"
	"cancha/jobs/queue"
)

// TestFullDisk fills a small disk. Only root may mount one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	mount := func(flags uintptr, kilobytes int) error {
		return syscall.Mount("tmpfs", folder, "tmpfs", flags, fmt.Sprintf("size=%dk", kilobytes))
	}
	if err := mount(0, 1024); err != nil {
		t.Skip("needs to mount a small disk:", err)
	}
	defer syscall.Unmount(folder, syscall.MNT_DETACH)
	b, err := local.Open(folder, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := fill(t, b)
	if !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v, want that the disk is full", err)
	}
	if err := mount(syscall.MS_REMOUNT, 8192); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "full", queue.Message{ID: fmt.Sprint(n)}); err != nil {
		t.Errorf("with room: %v", err)
	}
	drain(t, b, n+1)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := opened(t, folder, local.Options{}).Publish(t.Context(), "full", queue.Message{}); err != nil {
		t.Errorf("opened again: %v", err)
	}
}

// TestFullFromTheFirst: a folder on a disk without room can be opened once there is some, and one that has messages at once: else nobody
// could make room.
func TestFullFromTheFirst(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	mount := func(flags uintptr, kilobytes int) error {
		return syscall.Mount("tmpfs", folder, "tmpfs", flags, fmt.Sprintf("size=%dk", kilobytes))
	}
	if err := mount(0, 12); err != nil {
		t.Skip("needs to mount a small disk:", err)
	}
	defer syscall.Unmount(folder, syscall.MNT_DETACH)
	if b, err := local.Open(folder, local.Options{}); !errors.Is(err, queue.ErrFull) {
		t.Fatalf("on a full disk: %v, %v, want ErrFull", b, err)
	}
	if err := mount(syscall.MS_REMOUNT, 1024); err != nil {
		t.Fatal(err)
	}
	b, err := local.Open(folder, local.Options{})
	if err != nil {
		t.Fatalf("with room: %v", err)
	}
	n, _ := fill(t, b)
	if err := errors.Join(b.Close(), os.Truncate(filepath.Join(folder, "lock"), 0), stuff(filepath.Join(folder, "more"))); err != nil {
		t.Fatal(err)
	}
	if b, err = local.Open(folder, local.Options{}); err != nil {
		t.Fatalf("a full disk, with messages: %v", err)
	}
	if err := os.Remove(filepath.Join(folder, "more")); err != nil {
		t.Fatal(err)
	}
	drain(t, b, n)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// stuff makes a file as large as the disk allows.
func stuff(path string) error {
	f, err := os.Create(path)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
