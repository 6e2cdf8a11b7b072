package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/queue"
)

// TestLongPath: a folder may have a path that is longer than the system takes for a socket.
func TestLongPath(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder := filepath.Join(t.TempDir(), strings.Repeat("a folder of Ñandú ", 10))
	b, err := Open(folder, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for range 2 { // the second one finds the socket left behind
		s, err := Serve(b, Socket(folder), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Serve(b, Socket(folder), ""); err == nil {
			t.Error("the socket of a living server was taken over")
		}
		r, err := Dial(t.Context(), s.Address(), "")
		if err == nil {
			_, err = r.Declare(t.Context(), queue.Spec{Name: "q"})
		}
		if err != nil {
			t.Fatal(err)
		}
		s.made = nil // as a kill leaves it
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestSocketElsewhere: an address that was relative leads to the same socket when the process goes to another folder.
func TestSocketElsewhere(t *testing.T) {
	short, err := os.MkdirTemp("", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	t.Chdir(short)
	b, err := Open("jobs", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := Serve(b, "unix:jobs/socket", "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Dial(t.Context(), "unix:jobs/socket", "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	t.Chdir(t.TempDir())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(short, "jobs", "socket")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if s, err = Serve(b, s.Address(), ""); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := r.Declare(ctx, queue.Spec{Name: "q"}); err != nil {
		t.Errorf("connecting again: %v", err)
	}
}

// TestReplacedFolder: a server whose folder was replaced leaves the socket there to the one that has made it, and its broker confirms nothing more.
func TestReplacedFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "jobs")
	begin := func() (*Broker, *Server) {
		b, err := Open(folder, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Serve(b, Socket(folder), "")
		if err == nil {
			_, err = b.Declare(t.Context(), queue.Spec{Name: "q"})
		}
		if err != nil {
			t.Fatal(err)
		}
		return b, s
	}
	old, oldServer := begin()
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	b, s := begin()
	var err error
	for from := time.Now(); err == nil && time.Since(from) < 10*time.Second; { // it looks from time to time
		err = old.Publish(t.Context(), "q", queue.Message{})
	}
	if !errors.Is(err, disk.ErrLost) {
		t.Errorf("publish: got %v, want ErrLost", err)
	}
	if err := errors.Join(oldServer.Close(), old.Close()); err != nil {
		t.Error(err)
	}
	r, err := Dial(t.Context(), s.Address(), "")
	if err != nil {
		t.Fatalf("the one that is there now: %v", err)
	}
	if err := errors.Join(r.Publish(t.Context(), "q", queue.Message{}), r.Close(), s.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}
