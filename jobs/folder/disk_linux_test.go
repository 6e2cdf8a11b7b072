package folder_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"cancha/jobs/folder"
	"cancha/jobs/worker"
)

// TestNoRoom: a folder that is full, or that nobody may write to, is named, and the file; that may be mended, so the job is tried again.
// Only root may mount a small disk.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	mount := func(flags uintptr) error { return syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=64k") }
	if err := mount(0); err != nil {
		t.Skip("needs to mount a small disk:", err)
	}
	defer func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }()
	f, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, step := range []struct {
		what, want string
		do         func() error
	}{
		{"full", "there is no room for a/out in the worker's folder " + dir + ": no space",
			func() error { return f.Write("a", "a/out", bytes.Repeat([]byte("x"), 100<<10)) }},
		{"with room", "", func() error { return f.Write("a", "a/out", []byte("x")) }},
		{"read-only", " in its folder " + dir + ": read-only", func() error {
			if err := mount(syscall.MS_REMOUNT | syscall.MS_RDONLY); err != nil {
				return err
			}
			return f.MayWrite("b")
		}},
	} {
		err := step.do()
		if (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) || worker.IsFinal(err) {
			t.Errorf("%s: got %v, want %s", step.what, err, step.want)
		}
	}
}
