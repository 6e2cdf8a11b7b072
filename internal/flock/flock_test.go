package flock_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cancha/internal/flock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func try(t *testing.T, f *os.File, how int, want bool) {
	t.Helper()
	if held, err := flock.Try(f, how); held != want || err != nil {
		t.Fatalf("got %v, %v; want %v", held, err, want)
	}
}

// One holds a lock alone, or many share it; what is closed is free, even while a program that is being started has the file.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	try(t, first, flock.Exclusive, true)
	try(t, second, flock.Exclusive, false)
	try(t, second, flock.Shared, false)
	started, err := syscall.Dup(int(first.Fd())) // as between fork and exec
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(started) }()
	if err := flock.Close(first); err != nil {
		t.Fatal(err)
	}
	try(t, second, flock.Exclusive, true)
	try(t, second, flock.Shared, true)
	try(t, open(t, path), flock.Shared, true)
	if err := flock.Close(first); err == nil {
		t.Error("a closed file was closed again without an error")
	}
}
