package folder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cancha/jobs/folder"
	"cancha/jobs/worker"
)

// A job that waits for another process with the folder's lock ends with its context, and is tried again; what nobody holds is had at once.
func TestLockHeld(t *testing.T) {
	f, dir, _ := works(t)
	if err := f.Write("j", "out/a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	other, err := os.OpenFile(filepath.Join(dir, ".cancha", "lock"), os.O_RDWR, 0)
	if err == nil {
		err = syscall.Flock(int(other.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := errors.New("its time is over")
	writes := map[string]func(context.Context, *folder.Folder) error{
		"may write": func(ctx context.Context, f *folder.Folder) error { return f.MayWriteContext(ctx, "out/a") },
		"write": func(ctx context.Context, f *folder.Folder) error {
			return f.WriteContext(ctx, "j", "out/a", []byte("2"))
		},
	}
	for name, write := range writes {
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error)
		go func() { got <- write(ctx, f) }()
		cancel(ended)
		if err := <-got; !errors.Is(err, ended) || worker.IsFinal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if text, err := f.ReadFile("out/a"); err != nil || string(text) != "1" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, write := range writes {
		if err := write(over, f); err != nil {
			t.Errorf("%s: nobody holds the lock: %v", name, err)
		}
	}
}
